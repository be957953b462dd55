//! AVX2 vectors of four words: load, compare, pack.

use std::arch::x86_64::*;

/// Words in a vector.
pub(super) const WORDS: usize = 4;

/// The numbers of the 32-bit lanes that move the words of a mask to the front, for each mask.
static PACKED: [[u32; 8]; 16] = {
    let mut table = [[0; 8]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut word, mut n) = (0, 0);
        while word < 4 {
            if mask >> word & 1 == 1 {
                table[mask][2 * n] = 2 * word;
                table[mask][2 * n + 1] = 2 * word + 1;
                n += 1;
            }
            word += 1;
        }
        mask += 1;
    }
    table
};

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn all(word: u64) -> __m256i {
    _mm256_set1_epi64x(word.cast_signed())
}

/// Returns a mask of the lanes in use, if `n` words are left.
pub(super) fn lanes(n: usize) -> usize {
    if n >= WORDS { 0xF } else { (1 << n) - 1 }
}

/// Reads four words from index `at` on, with zeros past the end.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(words: &[u64], at: usize) -> __m256i {
    let four = |words: &[u64; WORDS]| {
        // SAFETY: the array has four words.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    };
    match words[at..].first_chunk() {
        Some(words) => four(words),
        None => {
            let mut last = [0; WORDS];
            last[..words.len() - at].copy_from_slice(&words[at..]);
            four(&last)
        }
    }
}

/// Returns a mask of the lanes that are zero.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn zeros(words: __m256i) -> usize {
    let zero = _mm256_cmpeq_epi64(words, _mm256_setzero_si256());
    _mm256_movemask_pd(_mm256_castsi256_pd(zero)).cast_unsigned() as usize
}

/// Writes the words of the lanes in a mask, and arbitrary words behind them; returns the number of words in the mask.
///
/// # Safety
/// There must be room for four words.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn pack(words: __m256i, mask: usize, to: *mut u64) -> usize {
    let order = &PACKED[mask & 0xF];
    // SAFETY: an order has eight lane numbers, and there is room for four words.
    unsafe {
        let order = _mm256_loadu_si256(order.as_ptr().cast());
        _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(words, order));
    }
    mask.count_ones() as usize
}

/// Asks for the words some 1,300 bytes after index `at`, which a loop over a long list reads soon. The processor's own
/// prefetching stops at the end of each page.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn prefetch(words: &[u64], at: usize) {
    _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(at + 160).cast());
}
