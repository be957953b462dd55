//! The join's operations in plain Rust, for processors without vectors that the join knows.
//!
//! They do the same as [AVX-512](super::avx512), a word at a time. Lists are packed without a branch: each word is
//! written behind the end, and the end moves if the word stays. The compiler turns loops over lines into whatever
//! vectors the target has. Only steps have vectors of their own.

use std::ops::Range;

use crate::halves::lines::{Line, Words};
use crate::halves::placements::FIRST_CENTRAL;
use crate::halves::v128::V128;
use crate::halves::vectors::{Bucket, ENTRY, Head, LINES, NO_PLANE, Sieve, Sifted, Tables, Vectors};

/// The operations that every processor has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl Vectors for Plain {
    fn join(self, bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Words) {
        join(bucket, head, shift, to, None);
    }

    fn join_ranked(self, bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Words, ranks: &mut Words) {
        join(bucket, head, shift, to, Some(ranks));
    }

    fn filter(self, words: &[u64], mask: u64, to: &mut Words) {
        let (room, mut end) = to.room(words.len());
        for &word in words {
            room[end] = word;
            end += usize::from(word & mask == 0);
        }
        to.set_len(end);
    }

    fn divide(
        self,
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

    fn transpose(self, words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize) {
        for group in 0..8 {
            let mut square = [0; 64];
            let words = words.get(64 * group..).unwrap_or_default();
            let n = words.len().min(64);
            if n > 0 {
                square[..n].copy_from_slice(&words[..n]);
                transpose(&mut square);
            }
            for (plane, &bits) in square[..n_planes].iter().enumerate() {
                planes[plane * stride].0[group] = bits;
            }
        }
    }

    fn number(self, ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64) {
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

    fn sift(self, sieve: Sieve<'_>, to: &mut Sifted) {
        let n_words = 8 * (sieve.to - sieve.from);
        let Sifted { numbers, bits, before, len } = to;
        let mut end = 0_usize;
        for block in sieve.from..sieve.to {
            let left = left(&sieve, block);
            for (word, mut left) in (8 * (block - sieve.from)..).zip(left.0) {
                bits[word] = left;
                before[word] = u32::try_from(end).unwrap_or(u32::MAX);
                let first = u16::try_from(64 * word).unwrap_or(u16::MAX);
                while left != 0 {
                    numbers[end] = first + u16::from(left.trailing_zeros().to_le_bytes()[0]);
                    left &= left - 1;
                    end += 1;
                }
            }
        }
        bits[n_words] = 0;
        before[n_words] = u32::try_from(end).unwrap_or(u32::MAX);
        *len = end;
    }

    fn count_sifted(self, sieve: Sieve<'_>) -> u64 {
        (sieve.from..sieve.to).map(|block| left(&sieve, block).count_ones()).sum()
    }

    fn singles(self, planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]) {
        let of_plane = |plane: u8| &planes[LINES * usize::from(plane.min(NO_PLANE))..][..n_lines];
        for (&(a, b), to) in feet.iter().zip(to.chunks_exact_mut(LINES)) {
            for ((to, &a), &b) in to.iter_mut().zip(of_plane(a)).zip(of_plane(b)) {
                *to = a.zip(b, |a, b| !(a | b));
            }
        }
    }

    fn pairs(self, first: &[Line], second: &[Line], apart: &[u16], n_lines: usize, to: &mut [Line]) {
        let rows = to.chunks_exact_mut(second.len());
        for ((first, to), &apart) in first.chunks_exact(LINES).zip(rows).zip(apart) {
            let entries = second.chunks_exact(LINES).zip(to.chunks_exact_mut(LINES)).enumerate();
            for (_, (second, to)) in entries.filter(|(k, _)| apart >> k & 1 == 1) {
                for line in 0..n_lines {
                    to[line] = first[line].zip(second[line], |a, b| a & b);
                }
            }
        }
    }

    fn steps(
        self,
        tables: Tables<'_>,
        codes: &[u64],
        numbers: &[u16],
        top: &[Line; LINES],
        n_lines: usize,
    ) -> u64 {
        if n_lines == 1 {
            steps::<1>(tables, codes, numbers, top)
        } else {
            steps::<LINES>(tables, codes, numbers, top)
        }
    }
}

fn join(bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Words, ranks: Option<&mut Words>) {
    // The tail's queen is the second central one if the head has one: its row moves from the first four bits to the
    // next.
    let central = if shift { 0xF << FIRST_CENTRAL } else { 0 };
    let tails = bucket.attacks.iter().zip(bucket.words);
    let placed = tails.map(|(attacks, tail)| {
        let word = tail & !central | (tail & central) >> 4 | head.word;
        (word, attacks & head.attacks == 0)
    });
    let (room, mut end) = to.room(bucket.attacks.len());
    match ranks {
        None => {
            for (word, fits) in placed {
                room[end] = word;
                end += usize::from(fits);
            }
        }
        Some(ranks) => {
            let (room_of_ranks, mut end_of_ranks) = ranks.room(bucket.attacks.len());
            for ((word, fits), rank) in placed.zip(bucket.ranks) {
                room[end] = word;
                end += usize::from(fits);
                room_of_ranks[end_of_ranks] = rank | head.ranks;
                end_of_ranks += usize::from(fits);
            }
            ranks.set_len(end_of_ranks);
        }
    }
    to.set_len(end);
}

/// Transposes a square of bits, by exchanging ever smaller squares in it (Hacker's Delight, 7-3).
fn transpose(square: &mut [u64; 64]) {
    let (mut side, mut mask) = (32, u64::from(u32::MAX));
    while side > 0 {
        for rows in square.chunks_exact_mut(2 * side) {
            let (upper, lower) = rows.split_at_mut(side);
            for (upper, lower) in upper.iter_mut().zip(lower) {
                let exchanged = (*upper >> side ^ *lower) & mask;
                *upper ^= exchanged << side;
                *lower ^= exchanged;
            }
        }
        side /= 2;
        mask ^= mask << side;
    }
}

/// Returns the placements of a block that a sieve leaves: those with no bit in any of its planes.
fn left(sieve: &Sieve<'_>, block: usize) -> Line {
    let planes = sieve.zero.iter().map(|&plane| sieve.planes[usize::from(plane) * sieve.n_blocks + block]);
    let attacked = planes.fold(Line::NONE, |attacked, plane| attacked.zip(plane, |a, b| a | b));
    attacked.zip(sieve.one[block], |attacked, one| !attacked & one)
}

/// Steps until byte counters may overflow: each adds up to eight.
const FULL: usize = 31;

/// Vectors of 128 bits in a line.
const QUARTERS: usize = 4;

fn steps<const N: usize>(tables: Tables<'_>, codes: &[u64], numbers: &[u16], top: &[Line; LINES]) -> u64 {
    let mut sum = 0;
    for numbers in numbers.chunks(FULL) {
        let mut counts = [[V128::zero(); QUARTERS]; N];
        for &number in numbers {
            let code = codes[usize::from(number)];
            let entry = |table: usize| -> &[Line; N] {
                let at = (code >> (16 * table) & 0xFFFF) as usize / size_of::<Line>();
                tables.pairs[table][at..].first_chunk().expect("an entry")
            };
            let entries = [entry(0), entry(1), entry(2), entry(3)];
            for (line, counts) in counts.iter_mut().enumerate() {
                for (quarter, count) in counts.iter_mut().enumerate() {
                    let load = |line: &Line| V128::load(&line.0.as_chunks().0[quarter]);
                    let [a, b, c, d] = entries.map(|entry| load(&entry[line]));
                    *count = count.add_ones(a.and(b).and(c.and(d)).and(load(&top[line])));
                }
            }
        }
        sum += counts.as_flattened().iter().map(|count| count.sum()).sum::<u64>();
    }
    sum
}
