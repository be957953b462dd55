//! AVX-512 vectors of eight words.

use std::arch::x86_64::*;

/// Words in a vector.
pub(super) const WORDS: usize = 8;

#[target_feature(enable = "avx512f")]
pub(super) fn all(word: u64) -> __m512i {
    _mm512_set1_epi64(word.cast_signed())
}

/// Returns a mask of the lanes in use, if `n` words are left.
pub(super) fn lanes(n: usize) -> __mmask8 {
    if n >= WORDS { u8::MAX } else { (1 << n) - 1 }
}

/// Reads eight words from index `at` on, with zeros past the end.
#[target_feature(enable = "avx512f")]
pub(super) fn load(words: &[u64], at: usize) -> __m512i {
    debug_assert!(at < words.len());
    // SAFETY: lanes past the end are not read.
    unsafe { _mm512_maskz_loadu_epi64(lanes(words.len() - at), words.as_ptr().add(at).cast()) }
}

/// Asks for the words some 1,300 bytes after index `at`, which a loop over a long list reads soon. The processor's own
/// prefetching stops at the end of each page.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn prefetch(words: &[u64], at: usize) {
    _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(at + 160).cast());
}
