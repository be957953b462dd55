//! AVX-512 functions on bit planes and tables: transposition, sieve, tables, steps.

use std::arch::x86_64::*;

use crate::halves::avx512::words::{all, load};
use crate::halves::lines::Line;
use crate::halves::vectors::{ENTRY, LINES, NO_PLANE, ROOM, Sieve, Sifted, Tables};

/// A permutation that collects byte `i` of eight words, from the last word to the first, for each `i` in turn. The
/// bit-matrix product needs this order.
#[expect(clippy::cast_possible_truncation, reason = "less than 64")]
const BYTES: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 64 {
        bytes[i] = (56 - 8 * (i % 8) + i / 8) as u8;
        i += 1;
    }
    bytes
};

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
pub(super) fn transpose(words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize) {
    assert!(words.len() <= 512 && n_planes <= 64 && planes.len() > (n_planes.max(1) - 1) * stride);
    let mut stage = [[Line::NONE; 8]; 8];
    // SAFETY: the array has 64 bytes.
    let bytes = unsafe { _mm512_loadu_epi8(BYTES.as_ptr().cast()) };
    let identity = all(0x8040_2010_0804_0201);
    for (g, words) in words.chunks(64).enumerate() {
        let eight = |k: usize| {
            let words = if 8 * k < words.len() { load(words, 8 * k) } else { _mm512_setzero_si512() };
            _mm512_gf2p8affine_epi64_epi8::<0>(identity, _mm512_permutexvar_epi8(bytes, words))
        };
        let pair = |k: usize| {
            let (a, b) = (eight(2 * k), eight(2 * k + 1));
            [_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)]
        };
        let quad = |k: usize| {
            let ([a, b], [c, d]) = (pair(2 * k), pair(2 * k + 1));
            [
                _mm512_unpacklo_epi16(a, c),
                _mm512_unpackhi_epi16(a, c),
                _mm512_unpacklo_epi16(b, d),
                _mm512_unpackhi_epi16(b, d),
            ]
        };
        let (a, b) = (quad(0), quad(1));
        for q in 0..4 {
            // SAFETY: a line is aligned and has the size of a vector.
            unsafe {
                _mm512_store_si512((&raw mut stage[2 * q][g]).cast(), _mm512_unpacklo_epi32(a[q], b[q]));
                _mm512_store_si512((&raw mut stage[2 * q + 1][g]).cast(), _mm512_unpackhi_epi32(a[q], b[q]));
            }
        }
    }
    for lane in 0..n_planes.div_ceil(16) {
        for (q, stage) in stage.iter().enumerate() {
            // SAFETY: a line has four lanes of 128 bits.
            let part =
                |g: usize| unsafe { _mm_load_si128((&raw const stage[g]).cast::<__m128i>().add(lane)) };
            let four = |first: usize| {
                let a = _mm512_castsi128_si512(part(first));
                let a = _mm512_inserti32x4::<1>(a, part(first + 2));
                let a = _mm512_inserti32x4::<2>(a, part(first + 4));
                _mm512_inserti32x4::<3>(a, part(first + 6))
            };
            let (even, odd) = (four(0), four(1));
            let plane = 16 * lane + 2 * q;
            for (plane, line) in
                [(plane, _mm512_unpacklo_epi64(even, odd)), (plane + 1, _mm512_unpackhi_epi64(even, odd))]
            {
                if plane < n_planes {
                    // SAFETY: the assertion above covers the plane's line, and lines are aligned.
                    unsafe { _mm512_store_si512(planes.as_mut_ptr().add(plane * stride).cast(), line) };
                }
            }
        }
    }
}

/// Checks that all planes of a sieve are in bounds.
fn check(sieve: &Sieve<'_>) {
    assert!(sieve.from <= sieve.to && sieve.to <= sieve.n_blocks && sieve.one.len() >= sieve.to);
    assert!(sieve.zero.iter().all(|&plane| (usize::from(plane) + 1) * sieve.n_blocks <= sieve.planes.len()));
}

/// Returns up to eight planes of a sieve, as pointers to their first lines.
fn pointers(sieve: &Sieve<'_>) -> [*const Line; 8] {
    let last = sieve.zero.len().saturating_sub(1);
    std::array::from_fn(|i| {
        let plane = sieve.zero.get(i.min(last)).map_or(NO_PLANE, |&plane| plane);
        let first = usize::from(plane) * sieve.n_blocks;
        sieve.planes.get(first..).map_or(sieve.planes.as_ptr(), <[Line]>::as_ptr)
    })
}

/// Returns the placements of a block that a sieve leaves: those with no bit in any of the first `K` planes.
///
/// # Safety
/// The pointers must be to planes of more than `block` lines.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn left<const K: usize>(planes: &[*const Line; 8], one: &[Line], block: usize) -> __m512i {
    // SAFETY: see above.
    unsafe {
        let at = |i: usize| _mm512_load_si512(planes[i].add(block).cast());
        let mut x = _mm512_or_si512(at(0), at(1));
        if K > 2 {
            x = _mm512_ternarylogic_epi64::<0xFE>(x, at(2), at(3));
        }
        if K > 4 {
            x = _mm512_ternarylogic_epi64::<0xFE>(x, at(4), at(5));
        }
        if K > 6 {
            x = _mm512_ternarylogic_epi64::<0xFE>(x, at(6), at(7));
        }
        debug_assert!(block < one.len());
        _mm512_andnot_si512(x, _mm512_load_si512(one.as_ptr().add(block).cast()))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(super) fn sift(sieve: Sieve<'_>, to: &mut Sifted) {
    check(&sieve);
    match sieve.zero.len() {
        ..=2 => sift_by::<2>(sieve, to),
        3 | 4 => sift_by::<4>(sieve, to),
        5 | 6 => sift_by::<6>(sieve, to),
        7 | 8 => sift_by::<8>(sieve, to),
        _ => unreachable!("four queens attack eight diagonals"),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn sift_by<const K: usize>(sieve: Sieve<'_>, to: &mut Sifted) {
    assert!(!sieve.zero.is_empty());
    let planes = pointers(&sieve);
    let n_words = 8 * (sieve.to - sieve.from);
    let Sifted { numbers, bits, before, len } = to;
    assert!(bits.len() > n_words && before.len() > n_words && numbers.len() >= 64 * n_words + ROOM);
    let iota: [u8; 64] = std::array::from_fn(|i| i.to_le_bytes()[0]);
    // SAFETY: the array has 64 bytes.
    let iota = unsafe { _mm512_loadu_epi8(iota.as_ptr().cast()) };
    let mut base = _mm512_setzero_si512();
    let step = _mm512_set1_epi16(64);
    let mut end = 0_u32;
    for block in sieve.from..sieve.to {
        let word = 8 * (block - sieve.from);
        // SAFETY: `check` proved that the planes have more than `block` lines, and there are eight words here.
        unsafe {
            let left = left::<K>(&planes, sieve.one, block);
            _mm512_storeu_epi64(bits.as_mut_ptr().add(word).cast(), left);
        }
        for word in word..word + 8 {
            let mask = bits[word];
            before[word] = end;
            let packed = _mm512_maskz_compress_epi8(mask, iota);
            let low = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(packed)), base);
            debug_assert!(end as usize + 64 <= numbers.len());
            // SAFETY: at most 64 of each word so far have passed, and a vector fits behind them.
            unsafe { _mm512_storeu_epi16(numbers.as_mut_ptr().add(end as usize).cast(), low) };
            let n = mask.count_ones();
            if n > 32 {
                let high = _mm512_extracti64x4_epi64::<1>(packed);
                let high = _mm512_add_epi16(_mm512_cvtepu8_epi16(high), base);
                // SAFETY: see above.
                unsafe { _mm512_storeu_epi16(numbers.as_mut_ptr().add(end as usize + 32).cast(), high) };
            }
            end += n;
            base = _mm512_add_epi16(base, step);
        }
    }
    bits[n_words] = 0;
    before[n_words] = end;
    *len = end as usize;
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
pub(super) fn count_sifted(sieve: Sieve<'_>) -> u64 {
    check(&sieve);
    assert!((1..=8).contains(&sieve.zero.len()));
    let planes = pointers(&sieve);
    let mut sum = _mm512_setzero_si512();
    for block in sieve.from..sieve.to {
        // SAFETY: `check` proved that the planes have more than `block` lines.
        let left = unsafe { left::<8>(&planes, sieve.one, block) };
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(left));
    }
    _mm512_reduce_add_epi64(sum).cast_unsigned()
}

#[target_feature(enable = "avx512f")]
pub(super) fn singles(planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]) {
    assert!(n_lines <= LINES && to.len() >= LINES * feet.len());
    assert!(planes.len() >= LINES * (usize::from(NO_PLANE) + 1));
    for (i, &(a, b)) in feet.iter().enumerate() {
        debug_assert!(a <= NO_PLANE && b <= NO_PLANE);
        for line in 0..n_lines {
            // SAFETY: plane numbers are at most `NO_PLANE`, and the lines read and written are in bounds.
            unsafe {
                let at = |plane: u8| {
                    let plane = usize::from(plane.min(NO_PLANE));
                    _mm512_load_si512(planes.as_ptr().add(LINES * plane + line).cast())
                };
                // Truth table 0x03: neither of the two.
                let free = _mm512_ternarylogic_epi64::<0x03>(at(a), at(b), at(b));
                _mm512_store_si512(to.as_mut_ptr().add(LINES * i + line).cast(), free);
            }
        }
    }
}

#[target_feature(enable = "avx512f")]
pub(super) fn pairs<const N: usize>(first: &[Line], second: &[Line], apart: &[u16], to: &mut [Line]) {
    assert!(to.len() * LINES >= first.len() * second.len() && N <= LINES);
    let (n, m) = (first.len() / LINES, second.len() / LINES);
    assert!(apart.len() == n && apart.iter().all(|apart| apart >> m == 0));
    for (a, &apart) in apart.iter().enumerate() {
        // SAFETY: there are `n`, `m` and `n m` entries of `LINES` lines.
        unsafe {
            let at = |lines: &[Line], i: usize| _mm512_load_si512(lines.as_ptr().add(i).cast());
            let one: [__m512i; N] = std::array::from_fn(|line| at(first, LINES * a + line));
            let mut left = apart;
            while left != 0 {
                let b = left.trailing_zeros() as usize;
                left &= left - 1;
                for (line, &one) in one.iter().enumerate() {
                    let both = _mm512_and_si512(one, at(second, LINES * b + line));
                    _mm512_store_si512(to.as_mut_ptr().add(LINES * (m * a + b) + line).cast(), both);
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
pub(super) fn steps<const N: usize>(
    tables: Tables<'_>,
    codes: &[u64],
    numbers: &[u16],
    top: &[Line; LINES],
) -> u64 {
    // SAFETY: lines are aligned.
    let top: [__m512i; N] = std::array::from_fn(|i| unsafe { _mm512_load_si512((&raw const top[i]).cast()) });
    let base = tables.pairs.map(|table| table.as_ptr().cast::<u8>());
    let fit = |number: u16, sums: &mut [__m512i; N]| {
        debug_assert!(usize::from(number) < codes.len());
        // SAFETY: the numbers are those of placements with codes, and the codes those of table entries.
        unsafe {
            let code = *codes.get_unchecked(usize::from(number));
            let entry = |table: usize| {
                let at = (code >> (16 * table) & 0xFFFF) as usize;
                debug_assert!(at + ENTRY <= size_of_val(tables.pairs[table]));
                base[table].add(at)
            };
            let entries = [entry(0), entry(1), entry(2), entry(3)];
            for line in 0..N {
                let at = |table: usize| _mm512_load_si512(entries[table].cast::<__m512i>().add(line));
                let three = _mm512_ternarylogic_epi64::<0x80>(at(0), top[line], at(1));
                let five = _mm512_ternarylogic_epi64::<0x80>(three, at(2), at(3));
                sums[line] = _mm512_add_epi64(sums[line], _mm512_popcnt_epi64(five));
            }
        }
    };
    let mut sums = [[_mm512_setzero_si512(); N]; 2];
    let (twos, rest) = numbers.as_chunks::<2>();
    for two in twos {
        fit(two[0], &mut sums[0]);
        fit(two[1], &mut sums[1]);
    }
    for &number in rest {
        fit(number, &mut sums[0]);
    }
    let sum = sums.as_flattened().iter().fold(_mm512_setzero_si512(), |a, &b| _mm512_add_epi64(a, b));
    _mm512_reduce_add_epi64(sum).cast_unsigned()
}
