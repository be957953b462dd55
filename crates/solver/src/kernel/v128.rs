//! The kernel for vectors of 128 bits, which nearly all processors have: four states at a time, by NEON, by SSE4.1 or
//! by WebAssembly's `simd128`. For other processors it is plain Rust, which only tests use.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_feature = "simd128")]
use std::arch::wasm32::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
#[cfg(not(any(target_arch = "aarch64", target_feature = "simd128", target_arch = "x86_64")))]
use std::array::from_fn;

use super::passes::{self, Lanes, Search, operations};

#[cfg(target_arch = "aarch64")]
type V = uint32x4_t;
#[cfg(target_feature = "simd128")]
type V = v128;
#[cfg(target_arch = "x86_64")]
type V = __m128i;
#[cfg(not(any(target_arch = "aarch64", target_feature = "simd128", target_arch = "x86_64")))]
type V = [u32; 4];

/// A shift to the left, and one to the right.
#[cfg(target_arch = "aarch64")]
type Rows = [int32x4_t; 2];
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
type Rows = u32;
#[cfg(target_arch = "x86_64")]
type Rows = __m128i;

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

impl Lanes for V128 {
    type V = V;
    type Rows = Rows;
    type Order = V;

    const N: usize = 4;

    fn expand<const SEEN: usize>(search: &mut Search<'_, Self>, level: usize) -> Option<()> {
        #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
        #[cfg_attr(target_feature = "simd128", target_feature(enable = "simd128"))]
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.1,ssse3,popcnt"))]
        fn expand<const SEEN: usize>(search: &mut Search<'_, V128>, level: usize) -> Option<()> {
            passes::expand::<V128, SEEN>(search, level)
        }
        // SAFETY: a `V128` exists only where the features were found.
        #[allow(unused_unsafe, reason = "it is safe on some targets")]
        unsafe {
            expand::<SEEN>(search, level)
        }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const u32) -> V {
        // SAFETY: the caller gives four words.
        unsafe {
            #[cfg(target_arch = "aarch64")]
            return vld1q_u32(from);
            #[cfg(target_feature = "simd128")]
            return v128_load(from.cast());
            #[cfg(target_arch = "x86_64")]
            return _mm_loadu_si128(from.cast());
            #[cfg(not(any(target_arch = "aarch64", target_feature = "simd128", target_arch = "x86_64")))]
            return from.cast::<V>().read();
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u32, lanes: V) {
        // SAFETY: the caller gives four words.
        unsafe {
            #[cfg(target_arch = "aarch64")]
            vst1q_u32(to, lanes);
            #[cfg(target_feature = "simd128")]
            v128_store(to.cast(), lanes);
            #[cfg(target_arch = "x86_64")]
            _mm_storeu_si128(to.cast(), lanes);
            #[cfg(not(any(target_arch = "aarch64", target_feature = "simd128", target_arch = "x86_64")))]
            to.cast::<V>().write(lanes);
        }
    }

    #[cfg(target_arch = "aarch64")]
    operations! {
        all(word: u32) -> V = vdupq_n_u32(word);
        rows(rows: u32) -> Rows = [vdupq_n_s32(rows.cast_signed()), vdupq_n_s32(-rows.cast_signed())];
        and(a: V, b: V) -> V = vandq_u32(a, b);
        or(a: V, b: V) -> V = vorrq_u32(a, b);
        xor(a: V, b: V) -> V = veorq_u32(a, b);
        without(a: V, b: V) -> V = vbicq_u32(b, a);
        add(a: V, b: V) -> V = vaddq_u32(a, b);
        min(a: V, b: V) -> V = vminq_u32(a, b);
        equal(a: V, b: V) -> V = vceqq_u32(a, b);
        left(a: V, rows: Rows) -> V = vshlq_u32(a, rows[0]);
        right(a: V, rows: Rows) -> V = vshlq_u32(a, rows[1]);
        mask(a: V) -> u32 = vaddvq_u32(vandq_u32(a, vld1q_u32([1, 2, 4, 8].as_ptr())));
        permute(a: V, order: V) -> V =
            vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(a), vreinterpretq_u8_u32(order)));
    }

    #[cfg(target_feature = "simd128")]
    operations! {
        all(word: u32) -> V = u32x4_splat(word);
        rows(rows: u32) -> Rows = rows;
        and(a: V, b: V) -> V = v128_and(a, b);
        or(a: V, b: V) -> V = v128_or(a, b);
        xor(a: V, b: V) -> V = v128_xor(a, b);
        without(a: V, b: V) -> V = v128_andnot(b, a);
        add(a: V, b: V) -> V = u32x4_add(a, b);
        min(a: V, b: V) -> V = u32x4_min(a, b);
        equal(a: V, b: V) -> V = u32x4_eq(a, b);
        left(a: V, rows: Rows) -> V = u32x4_shl(a, rows);
        right(a: V, rows: Rows) -> V = u32x4_shr(a, rows);
        mask(a: V) -> u32 = u32x4_bitmask(a).into();
        permute(a: V, order: V) -> V = u8x16_swizzle(a, order);
    }

    #[cfg(target_arch = "x86_64")]
    operations! {
        all(word: u32) -> V = _mm_set1_epi32(word.cast_signed());
        rows(rows: u32) -> Rows = _mm_cvtsi32_si128(rows.cast_signed());
        and(a: V, b: V) -> V = _mm_and_si128(a, b);
        or(a: V, b: V) -> V = _mm_or_si128(a, b);
        xor(a: V, b: V) -> V = _mm_xor_si128(a, b);
        without(a: V, b: V) -> V = _mm_andnot_si128(a, b);
        add(a: V, b: V) -> V = _mm_add_epi32(a, b);
        min(a: V, b: V) -> V = _mm_min_epu32(a, b);
        equal(a: V, b: V) -> V = _mm_cmpeq_epi32(a, b);
        left(a: V, rows: Rows) -> V = _mm_sll_epi32(a, rows);
        right(a: V, rows: Rows) -> V = _mm_srl_epi32(a, rows);
        mask(a: V) -> u32 = _mm_movemask_ps(_mm_castsi128_ps(a)).cast_unsigned();
        permute(a: V, order: V) -> V = _mm_shuffle_epi8(a, order);
    }

    #[cfg(not(any(target_arch = "aarch64", target_feature = "simd128", target_arch = "x86_64")))]
    operations! {
        all(word: u32) -> V = [word; 4];
        rows(rows: u32) -> Rows = rows;
        and(a: V, b: V) -> V = from_fn(|i| a[i] & b[i]);
        or(a: V, b: V) -> V = from_fn(|i| a[i] | b[i]);
        xor(a: V, b: V) -> V = from_fn(|i| a[i] ^ b[i]);
        without(a: V, b: V) -> V = from_fn(|i| !a[i] & b[i]);
        add(a: V, b: V) -> V = from_fn(|i| a[i].wrapping_add(b[i]));
        min(a: V, b: V) -> V = from_fn(|i| a[i].min(b[i]));
        equal(a: V, b: V) -> V = from_fn(|i| if a[i] == b[i] { u32::MAX } else { 0 });
        left(a: V, rows: Rows) -> V = a.map(|word| word << (rows % u32::BITS));
        right(a: V, rows: Rows) -> V = a.map(|word| word >> (rows % u32::BITS));
        mask(a: V) -> u32 = (0..4).fold(0, |mask, i| mask | (a[i] & 1) << i);
        permute(a: V, order: V) -> V = from_fn(|i| a[(u32::from_le(order[i]) >> 2) as usize & 3]);
    }

    #[inline(always)]
    fn count(self, mask: u32) -> u32 {
        COUNTS[mask as usize & 0xf].into()
    }

    #[inline(always)]
    fn outside(self, mask: u32) -> V {
        // SAFETY: a table's entry has four words.
        unsafe { self.load((&raw const OUTSIDE[mask as usize & 0xf]).cast()) }
    }
}

/// The number of lanes in each set.
static COUNTS: [u8; 16] = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];

#[repr(align(16))]
#[derive(Clone, Copy)]
struct ByteNumbers([u8; 16]);

/// The bytes of the lanes outside each set of lanes, the lowest first, then zeros.
static OUTSIDE: [ByteNumbers; 16] = {
    let mut table = [ByteNumbers([0; 16]); 16];
    let mut set = 0;
    while set < table.len() {
        let (mut byte, mut n) = (0, 0);
        while byte < 16 {
            if set >> (byte / 4) & 1 == 0 {
                table[set].0[n] = byte;
                n += 1;
            }
            byte += 1;
        }
        set += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_lanes_has_the_bytes_outside_it_in_order() {
        for (set, bytes) in OUTSIDE.iter().enumerate() {
            let outside: Vec<u8> = (0..16).filter(|byte| set >> (byte / 4) & 1 == 0).collect();
            assert_eq!(bytes.0[..outside.len()], outside, "{set:04b}");
            assert_eq!(usize::from(COUNTS[set]), 4 - outside.len() / 4);
        }
    }
}
