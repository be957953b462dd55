//! AVX2 functions on lists of words: join, filter, divide, number.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::halves::avx2::words::{WORDS, all, lanes, load, pack, prefetch, zeros};
use crate::halves::lines::Words;
use crate::halves::placements::FIRST_CENTRAL;
use crate::halves::plain;
use crate::halves::vectors::{Bucket, Head, ROOM};

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn join<const RANKED: bool>(
    bucket: Bucket<'_>,
    head: &Head,
    shift: bool,
    to: &mut Words,
    ranks: &mut Words,
) {
    let n = bucket.attacks.len();
    debug_assert!(bucket.words.len() == n && bucket.ranks.len() == n);
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
    let central = all(if shift { 0xF << FIRST_CENTRAL } else { 0 });
    let mut end = to.len();
    for at in (0..n).step_by(WORDS) {
        let fits = zeros(_mm256_and_si256(load(bucket.attacks, at), attacks)) & lanes(n - at);
        let tail = load(bucket.words, at);
        let row = _mm256_srli_epi64::<4>(_mm256_and_si256(tail, central));
        let both = _mm256_or_si256(_mm256_or_si256(_mm256_andnot_si256(central, tail), row), word);
        // SAFETY: there is room for all words of the bucket and a vector behind the end.
        end += unsafe {
            debug_assert!(end + WORDS <= to.capacity());
            if RANKED {
                debug_assert!(ahead + end + WORDS <= ranks.capacity());
                let both = _mm256_or_si256(load(bucket.ranks, at), rank);
                pack(both, fits, ranks.as_mut_ptr().add(ahead + end));
            }
            pack(both, fits, to.as_mut_ptr().add(end))
        };
    }
    to.set_len(end);
    if RANKED {
        ranks.set_len(ahead + end);
    }
}

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn filter(words: &[u64], mask: u64, to: &mut Words) {
    to.reserve(words.len() + ROOM);
    let mask = all(mask);
    let mut end = to.len();
    for at in (0..words.len()).step_by(WORDS) {
        prefetch(words, at);
        let word = load(words, at);
        let fits = zeros(_mm256_and_si256(word, mask)) & lanes(words.len() - at);
        debug_assert!(end + WORDS <= to.capacity());
        // SAFETY: there is room for all words and a vector behind the end.
        end += unsafe { pack(word, fits, to.as_mut_ptr().add(end)) };
    }
    to.set_len(end);
}

#[target_feature(enable = "avx2,popcnt")]
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
    // AVX2 compares words as signed numbers, so both sides have the highest bit flipped.
    let sign = all(1 << 63);
    let within = |range: &Range<u64>| {
        let len = range.end.saturating_sub(range.start);
        (all(range.start), _mm256_xor_si256(all(len), sign))
    };
    let ranges = [main, &equal[0], &equal[1]].map(within);
    let (mut end, mut end_equal) = (to.len(), to_equal.len());
    for at in (0..words.len()).step_by(WORDS) {
        prefetch(words, at);
        let word = load(words, at);
        let fits = zeros(_mm256_and_si256(word, mask)) & lanes(words.len() - at);
        let [main, near, far] = ranges.map(|(start, len)| {
            let from = _mm256_xor_si256(_mm256_sub_epi64(word, start), sign);
            let within = _mm256_castsi256_pd(_mm256_cmpgt_epi64(len, from));
            fits & _mm256_movemask_pd(within).cast_unsigned() as usize
        });
        debug_assert!(end + WORDS <= to.capacity() && end_equal + WORDS <= to_equal.capacity());
        // SAFETY: there is room for all words and a vector behind the end, in both lists.
        unsafe {
            end += pack(word, main, to.as_mut_ptr().add(end));
            if near | far != 0 {
                end_equal += pack(word, near | far, to_equal.as_mut_ptr().add(end_equal));
            }
        }
    }
    to.set_len(end);
    to_equal.set_len(end_equal);
}

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn number(ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64) {
    plain::number(ranks, fixed, n_left, keep);
}
