//! The operations of a step on 128 bits: by NEON or in plain Rust.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;

use crate::halves::lines::Line;

/// Vectors of 128 bits in a line.
pub(super) const QUARTERS: usize = 4;

/// 128 bits, or a number in each of their bytes.
#[derive(Clone, Copy)]
pub(super) struct Bits128(V);

#[cfg(target_arch = "aarch64")]
type V = uint8x16_t;
#[cfg(not(target_arch = "aarch64"))]
type V = [u64; 2];

// All processors with 64 bits that these targets mean have the instructions.
#[cfg(target_arch = "aarch64")]
#[allow(unused_unsafe, reason = "newer compilers find some of them safe")]
impl Bits128 {
    #[inline(always)]
    pub(super) fn zero() -> Self {
        // SAFETY: every processor of the target has NEON.
        Self(unsafe { vdupq_n_u8(0) })
    }

    #[inline(always)]
    pub(super) fn of_line(line: &Line) -> [Self; QUARTERS] {
        // SAFETY: a line has 64 bytes.
        let uint8x16x4_t(a, b, c, d) = unsafe { vld1q_u8_x4(line.0.as_ptr().cast()) };
        [Self(a), Self(b), Self(c), Self(d)]
    }

    #[inline(always)]
    pub(super) fn and(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        Self(unsafe { vandq_u8(self.0, other.0) })
    }

    /// Adds the number of ones in each byte of the other.
    #[inline(always)]
    pub(super) fn add_ones(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        Self(unsafe { vaddq_u8(self.0, vcntq_u8(other.0)) })
    }

    /// Returns the sum of all bytes.
    #[inline(always)]
    pub(super) fn sum(self) -> u64 {
        // SAFETY: see `zero`.
        unsafe { vaddlvq_u8(self.0) }.into()
    }
}

#[cfg(not(target_arch = "aarch64"))]
impl Bits128 {
    #[inline(always)]
    pub(super) fn zero() -> Self {
        Self([0; 2])
    }

    #[inline(always)]
    pub(super) fn of_line(line: &Line) -> [Self; QUARTERS] {
        let [a, b, c, d, e, f, g, h] = line.0;
        [[a, b], [c, d], [e, f], [g, h]].map(Self)
    }

    #[inline(always)]
    pub(super) fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// Adds the number of ones in each byte of the other.
    #[inline(always)]
    pub(super) fn add_ones(self, other: Self) -> Self {
        self.zip(other, |sums, word| {
            let of_two = word - (word >> 1 & 0x5555_5555_5555_5555);
            let of_four = (of_two & 0x3333_3333_3333_3333) + (of_two >> 2 & 0x3333_3333_3333_3333);
            sums + ((of_four + (of_four >> 4)) & 0x0F0F_0F0F_0F0F_0F0F)
        })
    }

    /// Returns the sum of all bytes.
    #[inline(always)]
    pub(super) fn sum(self) -> u64 {
        self.0.iter().flat_map(|word| word.to_le_bytes()).map(u64::from).sum()
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self([f(self.0[0], other.0[0]), f(self.0[1], other.0[1])])
    }
}
