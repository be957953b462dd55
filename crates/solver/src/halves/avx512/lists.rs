//! AVX-512 functions on lists of words: join, filter, divide, number.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::halves::avx512::words::{WORDS, all, lanes, load, prefetch};
use crate::halves::lines::Words;
use crate::halves::placements::FIRST_CENTRAL;
use crate::halves::vectors::{BUCKET, Bucket, ENTRY, Head, ROOM};

#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) fn join<const RANKED: bool>(
    bucket: Bucket<'_>,
    head: &Head,
    shift: bool,
    to: &mut Words,
    ranks: &mut Words,
) {
    if shift {
        join_shifted::<RANKED, true>(bucket, head, to, ranks);
    } else {
        join_shifted::<RANKED, false>(bucket, head, to, ranks);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
fn join_shifted<const RANKED: bool, const SHIFT: bool>(
    bucket: Bucket<'_>,
    head: &Head,
    to: &mut Words,
    ranks: &mut Words,
) {
    let n = bucket.attacks.len();
    assert!(n.is_multiple_of(BUCKET as usize) && bucket.words.len() == n && bucket.ranks.len() == n);
    to.reserve(n + ROOM);
    // Ranks go to a list of their own, which may be longer.
    assert!(!RANKED || ranks.len() >= to.len());
    let ahead = ranks.len().saturating_sub(to.len());
    if RANKED {
        ranks.reserve(n + ROOM);
    }
    let (attacks, word, rank) = (all(head.attacks), all(head.word), all(head.ranks));
    // The tail's queen is the second central one if the head has one: its row moves from the first four bits to the
    // next.
    let central = all(0xF << FIRST_CENTRAL);
    let mut end = to.len();
    for at in (0..n).step_by(BUCKET as usize) {
        // SAFETY: the bucket is a multiple of a vector's words, and all of them and a vector fit behind the end.
        unsafe {
            let load = |words: &[u64]| _mm512_loadu_epi64(words.as_ptr().add(at).cast());
            let fits = _mm512_testn_epi64_mask(load(bucket.attacks), attacks);
            let mut tail = load(bucket.words);
            if SHIFT {
                let row = _mm512_srli_epi64::<4>(_mm512_and_si512(tail, central));
                // The head has no bits there.
                tail = _mm512_or_si512(_mm512_andnot_si512(central, tail), row);
            }
            debug_assert!(end + WORDS <= to.capacity());
            let both = _mm512_maskz_compress_epi64(fits, _mm512_or_si512(tail, word));
            _mm512_storeu_epi64(to.as_mut_ptr().add(end).cast(), both);
            if RANKED {
                debug_assert!(ahead + end + WORDS <= ranks.capacity());
                let both = _mm512_maskz_compress_epi64(fits, _mm512_or_si512(load(bucket.ranks), rank));
                _mm512_storeu_epi64(ranks.as_mut_ptr().add(ahead + end).cast(), both);
            }
            end += fits.count_ones() as usize;
        }
    }
    to.set_len(end);
    if RANKED {
        ranks.set_len(ahead + end);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) fn filter(words: &[u64], mask: u64, to: &mut Words) {
    to.reserve(words.len() + ROOM);
    let mask = all(mask);
    let mut end = to.len();
    let mut at = 0;
    // SAFETY: all words and two vectors fit behind the end. Whole vectors are read only while enough words are left.
    unsafe {
        let room = to.as_mut_ptr();
        while at + 2 * WORDS <= words.len() {
            prefetch(words, at);
            prefetch(words, at + WORDS);
            let first = _mm512_loadu_epi64(words.as_ptr().add(at).cast());
            let second = _mm512_loadu_epi64(words.as_ptr().add(at + WORDS).cast());
            let fit = _mm512_testn_epi64_mask(first, mask);
            let fits = _mm512_testn_epi64_mask(second, mask);
            debug_assert!(end + 2 * WORDS <= to.capacity());
            _mm512_storeu_epi64(room.add(end).cast(), _mm512_maskz_compress_epi64(fit, first));
            end += fit.count_ones() as usize;
            _mm512_storeu_epi64(room.add(end).cast(), _mm512_maskz_compress_epi64(fits, second));
            end += fits.count_ones() as usize;
            at += 2 * WORDS;
        }
        while at < words.len() {
            let word = load(words, at);
            let fits = _mm512_mask_testn_epi64_mask(lanes(words.len() - at), word, mask);
            debug_assert!(end + WORDS <= to.capacity());
            _mm512_storeu_epi64(room.add(end).cast(), _mm512_maskz_compress_epi64(fits, word));
            end += fits.count_ones() as usize;
            at += WORDS;
        }
    }
    to.set_len(end);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) fn divide(
    words: &[u64],
    mask: u64,
    main: &Range<u64>,
    equal: &[Range<u64>; 2],
    to: &mut Words,
    to_equal: &mut Words,
) {
    to.reserve(words.len() + ROOM);
    to_equal.reserve(words.len() + ROOM);
    let mask = all(mask);
    let within = |range: &Range<u64>| (all(range.start), all(range.end.saturating_sub(range.start)));
    let ranges = [main, &equal[0], &equal[1]].map(within);
    let (mut end, mut end_equal) = (to.len(), to_equal.len());
    for at in (0..words.len()).step_by(WORDS) {
        prefetch(words, at);
        let word = load(words, at);
        let fits = _mm512_mask_testn_epi64_mask(lanes(words.len() - at), word, mask);
        let [main, near, far] =
            ranges.map(|(start, len)| _mm512_mask_cmplt_epu64_mask(fits, _mm512_sub_epi64(word, start), len));
        let equal = near | far;
        // SAFETY: there is room for all words and a vector behind the end, in both lists.
        unsafe {
            debug_assert!(end + WORDS <= to.capacity() && end_equal + WORDS <= to_equal.capacity());
            _mm512_storeu_epi64(to.as_mut_ptr().add(end).cast(), _mm512_maskz_compress_epi64(main, word));
            if equal != 0 {
                let word = _mm512_maskz_compress_epi64(equal, word);
                _mm512_storeu_epi64(to_equal.as_mut_ptr().add(end_equal).cast(), word);
            }
        }
        end += main.count_ones() as usize;
        end_equal += equal.count_ones() as usize;
    }
    to.set_len(end);
    to_equal.set_len(end_equal);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn number(ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64) {
    let keep = all(keep);
    let times = _mm512_set1_epi16(0x0100 | i16::from(n_left));
    let one = _mm512_set1_epi8(1);
    for at in (0..ranks.len()).step_by(WORDS) {
        let mut word = load(ranks, at);
        let from = word;
        for &rank in fixed {
            let greater = _mm512_cmpgt_epu8_mask(from, _mm512_set1_epi8(rank.cast_signed()));
            word = _mm512_mask_sub_epi8(word, greater, word, one);
        }
        let entry = _mm512_maddubs_epi16(word, times);
        let code = _mm512_and_si512(_mm512_slli_epi16::<{ ENTRY.trailing_zeros() }>(entry), keep);
        // SAFETY: lanes past the end are not written.
        unsafe {
            _mm512_mask_storeu_epi64(ranks.as_mut_ptr().add(at).cast(), lanes(ranks.len() - at), code);
        }
    }
}
