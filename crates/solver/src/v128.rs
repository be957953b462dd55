//! Proof that this processor has vectors of 128 bits.

/// Proof that this processor has vectors of 128 bits, with the instructions that the kernel and the join need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct V128(());

impl V128 {
    /// Returns the proof if this processor has the instructions: NEON, which all with 64 bits have; `simd128`, if the
    /// program was compiled for it; SSE4.1 with SSSE3, since 2008. Tests also have it in plain Rust.
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        let can = is_x86_feature_detected!("sse4.1")
            && is_x86_feature_detected!("ssse3")
            && is_x86_feature_detected!("popcnt");
        #[cfg(not(target_arch = "x86_64"))]
        let can = cfg!(any(target_arch = "aarch64", target_feature = "simd128", test));
        can.then_some(Self(()))
    }
}
