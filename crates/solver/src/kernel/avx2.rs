//! The AVX2 kernel: eight states at a time.

use std::arch::x86_64::*;

use super::passes::{self, Lanes, Search, operations};

/// Proof that this processor can run the kernel.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    /// Returns the proof if this processor can run the kernel.
    pub(super) fn detect() -> Option<Self> {
        let can = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        can.then_some(Self(()))
    }
}

impl Lanes for Avx2 {
    type V = __m256i;
    type Rows = __m256i;
    type Order = __m256i;

    const N: usize = 8;

    fn expand<const SEEN: usize>(search: &mut Search<'_, Self>, level: usize) -> Option<()> {
        #[target_feature(enable = "avx2,popcnt")]
        fn expand<const SEEN: usize>(search: &mut Search<'_, Avx2>, level: usize) -> Option<()> {
            passes::expand::<Avx2, SEEN>(search, level)
        }
        // SAFETY: an `Avx2` exists only where `detect` has found the features.
        unsafe { expand::<SEEN>(search, level) }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const u32) -> __m256i {
        // SAFETY: the caller gives eight words.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u32, lanes: __m256i) {
        // SAFETY: the caller gives eight words.
        unsafe { _mm256_storeu_si256(to.cast(), lanes) }
    }

    operations! {
        all(word: u32) -> __m256i = _mm256_set1_epi32(word.cast_signed());
        // The `and` tells the compiler that shifts are below 32, so that it emits no guard.
        rows(rows: u32) -> __m256i = _mm256_and_si256(_mm256_set1_epi32(rows.cast_signed()), _mm256_set1_epi32(31));
        and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        or(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        without(a: __m256i, b: __m256i) -> __m256i = _mm256_andnot_si256(a, b);
        add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        min(a: __m256i, b: __m256i) -> __m256i = _mm256_min_epu32(a, b);
        equal(a: __m256i, b: __m256i) -> __m256i = _mm256_cmpeq_epi32(a, b);
        left(a: __m256i, rows: __m256i) -> __m256i = _mm256_sllv_epi32(a, rows);
        right(a: __m256i, rows: __m256i) -> __m256i = _mm256_srlv_epi32(a, rows);
        mask(a: __m256i) -> u32 = _mm256_movemask_ps(_mm256_castsi256_ps(a)).cast_unsigned();
        count(mask: u32) -> u32 = mask.count_ones();
        outside(mask: u32) -> __m256i = _mm256_load_si256((&raw const OUTSIDE[mask as usize & 0xff]).cast());
        permute(a: __m256i, order: __m256i) -> __m256i = _mm256_permutevar8x32_epi32(a, order);
    }
}

#[repr(align(32))]
#[derive(Clone, Copy)]
struct LaneNumbers([u32; 8]);

/// The lanes outside each set of lanes, the lowest first, then zeros.
static OUTSIDE: [LaneNumbers; 256] = {
    let mut table = [LaneNumbers([0; 8]); 256];
    let mut set = 0;
    while set < table.len() {
        let (mut lane, mut n) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 0 {
                table[set].0[n] = lane;
                n += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_lanes_has_those_outside_it_in_order() {
        for (set, lanes) in OUTSIDE.iter().enumerate() {
            let outside: Vec<u32> = (0..8).filter(|lane| set >> lane & 1 == 0).collect();
            assert_eq!(lanes.0[..outside.len()], outside, "{set:08b}");
        }
    }
}
