//! Plain functions on bit planes and tables: transposition, sieve, tables, steps.

use crate::halves::lines::Line;
use crate::halves::plain::bits128::{Bits128, QUARTERS};
use crate::halves::vectors::{LINES, NO_PLANE, Sieve, Sifted, Tables};

#[inline(always)]
pub(in crate::halves) fn transpose(words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize) {
    assert!(words.len() <= 512 && n_planes <= 64);
    for group in 0..8 {
        let mut square = [0; 64];
        let words = words.get(64 * group..).unwrap_or_default();
        let n = words.len().min(64);
        if n > 0 {
            square[..n].copy_from_slice(&words[..n]);
            transpose_square(&mut square);
        }
        for (plane, &bits) in square[..n_planes].iter().enumerate() {
            planes[plane * stride].0[group] = bits;
        }
    }
}

/// Transposes a square of bits, by exchanging ever smaller squares in it (Hacker's Delight, 7-3).
#[inline(always)]
fn transpose_square(square: &mut [u64; 64]) {
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
#[inline(always)]
fn left(sieve: &Sieve<'_>, block: usize) -> Line {
    let planes = sieve.zero.iter().map(|&plane| sieve.planes[usize::from(plane) * sieve.n_blocks + block]);
    let attacked = planes.fold(Line::NONE, |attacked, plane| attacked.zip(plane, |a, b| a | b));
    attacked.zip(sieve.one[block], |attacked, one| !attacked & one)
}

#[inline(always)]
pub(super) fn sift(sieve: Sieve<'_>, to: &mut Sifted) {
    let n_words = 8 * (sieve.to - sieve.from);
    let Sifted { numbers, bits, before, len } = to;
    let mut end = 0_usize;
    for block in sieve.from..sieve.to {
        let left = left(&sieve, block);
        for (word, mut left) in (8 * (block - sieve.from)..).zip(left.0) {
            bits[word] = left;
            before[word] = u32::try_from(end).expect("few blocks");
            let first = u16::try_from(64 * word).expect("few blocks");
            while left != 0 {
                numbers[end] = first + u16::from(left.trailing_zeros().to_le_bytes()[0]);
                left &= left - 1;
                end += 1;
            }
        }
    }
    bits[n_words] = 0;
    before[n_words] = u32::try_from(end).expect("few blocks");
    *len = end;
}

#[inline(always)]
pub(super) fn count_sifted(sieve: Sieve<'_>) -> u64 {
    (sieve.from..sieve.to).map(|block| left(&sieve, block).count_ones()).sum()
}

#[inline(always)]
pub(super) fn singles(planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]) {
    assert!(to.len() >= LINES * feet.len());
    let of_plane = |plane: u8| &planes[LINES * usize::from(plane.min(NO_PLANE))..][..n_lines];
    for (&(a, b), to) in feet.iter().zip(to.chunks_exact_mut(LINES)) {
        for ((to, &a), &b) in to.iter_mut().zip(of_plane(a)).zip(of_plane(b)) {
            *to = a.zip(b, |a, b| !(a | b));
        }
    }
}

#[inline(always)]
pub(super) fn pairs<const N: usize>(first: &[Line], second: &[Line], apart: &[u16], to: &mut [Line]) {
    assert!(to.len() * LINES >= first.len() * second.len() && apart.len() == first.len() / LINES);
    let rows = to.chunks_exact_mut(second.len().max(1));
    for ((first, to), &apart) in first.chunks_exact(LINES).zip(rows).zip(apart) {
        let entries = second.chunks_exact(LINES).zip(to.chunks_exact_mut(LINES)).enumerate();
        for (_, (second, to)) in entries.filter(|(k, _)| apart >> k & 1 == 1) {
            for line in 0..N {
                to[line] = first[line].zip(second[line], |a, b| a & b);
            }
        }
    }
}

/// Steps until byte counters may overflow: each adds up to eight.
const FULL: usize = 31;

#[inline(always)]
pub(super) fn steps<const N: usize>(
    tables: Tables<'_>,
    codes: &[u64],
    numbers: &[u16],
    top: &[Line; LINES],
) -> u64 {
    let mut sum = 0;
    for numbers in numbers.chunks(FULL) {
        let mut counts = [[Bits128::zero(); QUARTERS]; N];
        for &number in numbers {
            let code = codes[usize::from(number)];
            let entry = |table: usize| -> &[Line; N] {
                let at = (code >> (16 * table) & 0xFFFF) as usize / size_of::<Line>();
                tables.pairs[table][at..].first_chunk().expect("an entry")
            };
            let entries = [entry(0), entry(1), entry(2), entry(3)];
            for (line, counts) in counts.iter_mut().enumerate() {
                let [a, b, c, d] = entries.map(|entry| Bits128::of_line(&entry[line]));
                let top = Bits128::of_line(&top[line]);
                for (quarter, count) in counts.iter_mut().enumerate() {
                    let first = a[quarter].and(b[quarter]).and(top[quarter]);
                    *count = count.add_ones(first.and(c[quarter].and(d[quarter])));
                }
            }
        }
        sum += counts.as_flattened().iter().map(|count| count.sum()).sum::<u64>();
    }
    sum
}
