//! AVX2 functions on bit planes and tables: transposition, sieve, tables, steps.

use std::arch::x86_64::*;

use crate::halves::avx2::words::WORDS;
use crate::halves::lines::Line;
use crate::halves::plain;
use crate::halves::vectors::{ENTRY, LINES, NO_PLANE, ROOM, Sieve, Sifted, Tables};

/// Vectors in a line.
const HALVES: usize = 2;

/// The numbers of the set bits of each byte.
static SET_BITS: [[u16; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut n) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][n] = bit;
                n += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn transpose(words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize) {
    plain::transpose(words, n_planes, planes, stride);
}

/// Returns the placements of a block that a sieve leaves: those with no bit in any of its planes.
#[inline]
#[target_feature(enable = "avx2")]
fn left(sieve: &Sieve<'_>, block: usize) -> Line {
    let mut line = Line::NONE;
    for half in 0..HALVES {
        // SAFETY: a line has two halves.
        let at = |line: &Line| unsafe { _mm256_load_si256((&raw const *line).cast::<__m256i>().add(half)) };
        let mut attacked = _mm256_setzero_si256();
        for &plane in sieve.zero {
            let plane = &sieve.planes[usize::from(plane) * sieve.n_blocks + block];
            attacked = _mm256_or_si256(attacked, at(plane));
        }
        let left = _mm256_andnot_si256(attacked, at(&sieve.one[block]));
        // SAFETY: see above.
        unsafe { _mm256_store_si256((&raw mut line).cast::<__m256i>().add(half), left) };
    }
    line
}

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn sift(sieve: Sieve<'_>, to: &mut Sifted) {
    let n_words = 8 * (sieve.to - sieve.from);
    let Sifted { numbers, bits, before, len } = to;
    assert!(bits.len() > n_words && before.len() > n_words && numbers.len() >= 64 * n_words + ROOM);
    let mut end = 0_u32;
    let mut base = _mm_setzero_si128();
    for block in sieve.from..sieve.to {
        let first = 8 * (block - sieve.from);
        let left = left(&sieve, block);
        bits[first..first + 8].copy_from_slice(&left.0);
        for (word, bits) in (first..).zip(left.0) {
            before[word] = end;
            for set in bits.to_le_bytes() {
                debug_assert!(end as usize + 8 <= numbers.len());
                // SAFETY: at most 64 of each word so far have passed, and a vector fits behind them.
                unsafe {
                    let numbers_of = _mm_loadu_si128(SET_BITS[usize::from(set)].as_ptr().cast());
                    _mm_storeu_si128(
                        numbers.as_mut_ptr().add(end as usize).cast(),
                        _mm_add_epi16(numbers_of, base),
                    );
                }
                base = _mm_add_epi16(base, _mm_set1_epi16(8));
                end += set.count_ones();
            }
        }
    }
    bits[n_words] = 0;
    before[n_words] = end;
    *len = end as usize;
}

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn count_sifted(sieve: Sieve<'_>) -> u64 {
    let blocks = sieve.from..sieve.to;
    blocks
        .map(|block| left(&sieve, block).0.iter().map(|word| u64::from(word.count_ones())).sum::<u64>())
        .sum()
}

#[target_feature(enable = "avx2")]
pub(super) fn singles(planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]) {
    assert!(n_lines <= LINES && to.len() >= LINES * feet.len());
    assert!(planes.len() >= LINES * (usize::from(NO_PLANE) + 1));
    let ones = _mm256_set1_epi64x(-1);
    for (i, &(a, b)) in feet.iter().enumerate() {
        debug_assert!(a <= NO_PLANE && b <= NO_PLANE);
        for half in 0..HALVES * n_lines {
            // SAFETY: plane numbers are at most `NO_PLANE`, and the lines read and written are in bounds.
            unsafe {
                let at = |plane: u8| {
                    let plane = LINES * usize::from(plane.min(NO_PLANE));
                    _mm256_load_si256(planes.as_ptr().add(plane).cast::<__m256i>().add(half))
                };
                let free = _mm256_xor_si256(_mm256_or_si256(at(a), at(b)), ones);
                _mm256_store_si256(to.as_mut_ptr().add(LINES * i).cast::<__m256i>().add(half), free);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn pairs<const N: usize>(first: &[Line], second: &[Line], apart: &[u16], to: &mut [Line]) {
    assert!(to.len() * LINES >= first.len() * second.len() && N <= LINES);
    let (n, m) = (first.len() / LINES, second.len() / LINES);
    assert!(apart.len() == n && apart.iter().all(|apart| apart >> m == 0));
    for (a, &apart) in apart.iter().enumerate() {
        for half in 0..HALVES * N {
            // SAFETY: there are `n`, `m` and `n m` entries of `LINES` lines.
            unsafe {
                let one = _mm256_load_si256(first.as_ptr().add(LINES * a).cast::<__m256i>().add(half));
                let to = to.as_mut_ptr().add(LINES * m * a).cast::<__m256i>().add(half);
                let mut left = apart;
                while left != 0 {
                    let b = left.trailing_zeros() as usize;
                    left &= left - 1;
                    let other = _mm256_load_si256(second.as_ptr().add(LINES * b).cast::<__m256i>().add(half));
                    _mm256_store_si256(to.add(HALVES * LINES * b), _mm256_and_si256(one, other));
                }
            }
        }
    }
}

/// Steps until byte counters may overflow: each step adds up to eight.
const FULL: usize = 31;

#[target_feature(enable = "avx2")]
pub(super) fn steps<const N: usize>(
    tables: Tables<'_>,
    codes: &[u64],
    numbers: &[u16],
    top: &[Line; LINES],
) -> u64 {
    let base = tables.pairs.map(|table| table.as_ptr().cast::<u8>());
    let nibbles = _mm256_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
    );
    let low = _mm256_set1_epi8(0xF);
    let zero = _mm256_setzero_si256();
    let mut sum = zero;
    for numbers in numbers.chunks(FULL) {
        let mut counts = [[zero; HALVES]; N];
        for &number in numbers {
            debug_assert!(usize::from(number) < codes.len());
            // SAFETY: the numbers are those of placements with codes, and the codes those of table entries.
            unsafe {
                let code = *codes.get_unchecked(usize::from(number));
                let entry = |table: usize| {
                    let at = (code >> (16 * table) & 0xFFFF) as usize;
                    debug_assert!(at + ENTRY <= size_of_val(tables.pairs[table]));
                    base[table].add(at).cast::<__m256i>()
                };
                let entries = [entry(0), entry(1), entry(2), entry(3)];
                for (line, counts) in counts.iter_mut().enumerate() {
                    for (half, count) in counts.iter_mut().enumerate() {
                        let at = |table: usize| _mm256_load_si256(entries[table].add(HALVES * line + half));
                        let top = _mm256_load_si256((&raw const top[line]).cast::<__m256i>().add(half));
                        let two = _mm256_and_si256(at(0), at(1));
                        let four = _mm256_and_si256(at(2), at(3));
                        let fit = _mm256_and_si256(_mm256_and_si256(two, four), top);
                        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(fit), low);
                        let of_low = _mm256_shuffle_epi8(nibbles, _mm256_and_si256(fit, low));
                        let both = _mm256_add_epi8(of_low, _mm256_shuffle_epi8(nibbles, high));
                        *count = _mm256_add_epi8(*count, both);
                    }
                }
            }
        }
        for count in counts.as_flattened() {
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(*count, zero));
        }
    }
    let mut words = [0_u64; WORDS];
    // SAFETY: the array has four words.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), sum) };
    words.iter().sum()
}
