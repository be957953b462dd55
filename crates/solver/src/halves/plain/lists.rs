//! Plain functions on lists of words: join, filter, divide, number.

use std::ops::Range;

use crate::halves::lines::Words;
use crate::halves::placements::FIRST_CENTRAL;
use crate::halves::vectors::{Bucket, ENTRY, Head};

#[inline(always)]
pub(super) fn join<const RANKED: bool>(
    bucket: Bucket<'_>,
    head: &Head,
    shift: bool,
    to: &mut Words,
    ranks: &mut Words,
) {
    // The tail's queen is the second central one if the head has one: its row moves from the first four bits to the
    // next.
    let central = if shift { 0xF << FIRST_CENTRAL } else { 0 };
    let n = bucket.attacks.len();
    debug_assert!(bucket.words.len() == n && bucket.ranks.len() == n);
    let (room, mut end) = to.room(n);
    let (room_of_ranks, mut end_of_ranks) = ranks.room(if RANKED { n } else { 0 });
    for ((attacks, tail), rank) in bucket.attacks.iter().zip(bucket.words).zip(bucket.ranks) {
        let fits = usize::from(attacks & head.attacks == 0);
        room[end] = tail & !central | (tail & central) >> 4 | head.word;
        end += fits;
        if RANKED {
            room_of_ranks[end_of_ranks] = rank | head.ranks;
            end_of_ranks += fits;
        }
    }
    to.set_len(end);
    ranks.set_len(end_of_ranks);
}

#[inline(always)]
pub(super) fn filter(words: &[u64], mask: u64, to: &mut Words) {
    let (room, mut end) = to.room(words.len());
    for &word in words {
        room[end] = word;
        end += usize::from(word & mask == 0);
    }
    to.set_len(end);
}

#[inline(always)]
pub(super) fn divide(
    words: &[u64],
    mask: u64,
    main: &Range<u64>,
    equal: &[Range<u64>; 2],
    to: &mut Words,
    to_equal: &mut Words,
) {
    let (room, mut end) = to.room(words.len());
    let (room_equal, mut end_equal) = to_equal.room(words.len());
    for &word in words {
        let fits = word & mask == 0;
        let is_equal = equal.iter().fold(false, |is_equal, range| is_equal | range.contains(&word));
        room[end] = word;
        end += usize::from(fits & main.contains(&word));
        room_equal[end_equal] = word;
        end_equal += usize::from(fits & is_equal);
    }
    to.set_len(end);
    to_equal.set_len(end_equal);
}

#[inline(always)]
pub(in crate::halves) fn number(ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64) {
    // Eight bytes of less than 128, or four numbers of 16 bits, in each word.
    const BYTES: u64 = u64::MAX / 0xFF;
    const LOW_BYTES: u64 = 0x00FF_00FF_00FF_00FF;
    const SHIFT: u32 = ENTRY.trailing_zeros();
    const FITTING: u64 = (u64::MAX / 0xFFFF) * (0xFFFF >> SHIFT);
    for word in ranks {
        let mut left = *word;
        for &rank in fixed {
            // The highest bit of a byte is set if the byte is greater than the rank.
            let greater = (*word | BYTES << 7) - BYTES * (u64::from(rank) + 1);
            left -= greater >> 7 & BYTES;
        }
        let entry = (left & LOW_BYTES) * u64::from(n_left) + (left >> 8 & LOW_BYTES);
        *word = (entry & FITTING) << SHIFT & keep;
    }
}
