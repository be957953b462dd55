//! The join's vectors with AVX2.
//!
//! The same as [with AVX-512](super::avx512), with these instead of what AVX2 lacks: words are packed by a table of lane
//! numbers for each mask, bits are transposed by collecting the highest bits of bytes, set bits are counted by looking
//! up nibbles (Mula), and numbers of set bits come from a table of those of each byte.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::halves::lines::Line;
use crate::halves::placements::FIRST_CENTRAL;
use crate::halves::vectors::{Bucket, ENTRY, Head, LINES, NO_PLANE, ROOM, Sieve, Sifted, Tables, Vectors};

/// Proof that this processor has the instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The proof, if it has.
    pub(crate) fn detect() -> Option<Self> {
        let can = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        can.then_some(Self(()))
    }
}

/// Calls a function that needs the instructions.
macro_rules! with_vectors {
    ($self:ident, $call:expr) => {{
        let Self(()) = $self;
        // SAFETY: there is an `Avx2` only where `detect` has found the features.
        unsafe { $call }
    }};
}

impl Vectors for Avx2 {
    fn join(self, bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Vec<u64>) {
        with_vectors!(self, join::<false>(bucket, head, shift, to, &mut Vec::new()));
    }

    fn join_ranked(
        self,
        bucket: Bucket<'_>,
        head: &Head,
        shift: bool,
        to: &mut Vec<u64>,
        ranks: &mut Vec<u64>,
    ) {
        with_vectors!(self, join::<true>(bucket, head, shift, to, ranks));
    }

    fn filter(self, words: &[u64], mask: u64, to: &mut Vec<u64>) {
        with_vectors!(self, filter(words, mask, to));
    }

    fn divide(
        self,
        words: &[u64],
        mask: u64,
        main: &Range<u64>,
        equal: &[Range<u64>; 2],
        to: &mut Vec<u64>,
        to_equal: &mut Vec<u64>,
    ) {
        with_vectors!(self, divide(words, mask, main, equal, to, to_equal));
    }

    fn transpose(self, words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize) {
        with_vectors!(self, transpose(words, n_planes, planes, stride));
    }

    fn number(self, ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64) {
        with_vectors!(self, number(ranks, fixed, n_left, keep));
    }

    fn sift(self, sieve: Sieve<'_>, to: &mut Sifted) {
        with_vectors!(self, sift(sieve, to));
    }

    fn count_sifted(self, sieve: Sieve<'_>) -> u64 {
        with_vectors!(self, count_sifted(sieve))
    }

    fn singles(self, planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]) {
        with_vectors!(self, singles(planes, feet, n_lines, to));
    }

    fn pairs(self, first: &[Line], second: &[Line], n_lines: usize, to: &mut [Line]) {
        if n_lines == 1 {
            with_vectors!(self, pairs::<1>(first, second, to));
        } else {
            with_vectors!(self, pairs::<LINES>(first, second, to));
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
            with_vectors!(self, steps::<1>(tables, codes, numbers, top))
        } else {
            with_vectors!(self, steps::<LINES>(tables, codes, numbers, top))
        }
    }
}

/// Words in a vector.
const WORDS: usize = 4;

/// Vectors in a line.
const HALVES: usize = 2;

/// For each mask of words, the numbers of 32-bit lanes that bring the words to the front.
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

/// For each byte, the numbers of its bits that are set.
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

#[inline]
#[target_feature(enable = "avx2")]
fn all(word: u64) -> __m256i {
    _mm256_set1_epi64x(word.cast_signed())
}

/// The lanes of the last words, of which there are `n` left.
fn lanes(n: usize) -> usize {
    if n >= WORDS { 0xF } else { (1 << n) - 1 }
}

/// Reads the words from number `at` on; where there are fewer than four, zeros.
#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[u64], at: usize) -> __m256i {
    let four = |words: &[u64; WORDS]| {
        // SAFETY: four words.
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

/// The lanes that are zero.
#[inline]
#[target_feature(enable = "avx2")]
fn zeros(words: __m256i) -> usize {
    let zero = _mm256_cmpeq_epi64(words, _mm256_setzero_si256());
    _mm256_movemask_pd(_mm256_castsi256_pd(zero)).cast_unsigned() as usize
}

/// Writes the words of the lanes in a mask, and behind them what may be overwritten; returns how many there are.
///
/// # Safety
/// There must be room for four words.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn pack(words: __m256i, mask: usize, to: *mut u64) -> usize {
    let order = &PACKED[mask & 0xF];
    // SAFETY: eight lane numbers, and room for four words.
    unsafe {
        let order = _mm256_loadu_si256(order.as_ptr().cast());
        _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(words, order));
    }
    mask.count_ones() as usize
}

#[target_feature(enable = "avx2,popcnt")]
fn join<const RANKED: bool>(
    bucket: Bucket<'_>,
    head: &Head,
    shift: bool,
    to: &mut Vec<u64>,
    ranks: &mut Vec<u64>,
) {
    let n = bucket.attacks.len();
    debug_assert!(bucket.words.len() == n && bucket.ranks.len() == n);
    to.reserve(n + ROOM);
    if RANKED {
        ranks.reserve(n + ROOM);
    }
    let (attacks, word, rank) = (all(head.attacks), all(head.word), all(head.ranks));
    // A head with a queen in a central column makes the tail's the second: its row moves from the first four bits to
    // the next.
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
                debug_assert!(end + WORDS <= ranks.capacity());
                let both = _mm256_or_si256(load(bucket.ranks, at), rank);
                pack(both, fits, ranks.as_mut_ptr().add(end));
            }
            pack(both, fits, to.as_mut_ptr().add(end))
        };
    }
    // SAFETY: so many words have been written, by this call and those before.
    unsafe {
        to.set_len(end);
        if RANKED {
            ranks.set_len(end);
        }
    }
}

#[target_feature(enable = "avx2,popcnt")]
fn filter(words: &[u64], mask: u64, to: &mut Vec<u64>) {
    to.reserve(words.len() + ROOM);
    let mask = all(mask);
    let mut end = to.len();
    for at in (0..words.len()).step_by(WORDS) {
        let word = load(words, at);
        let fits = zeros(_mm256_and_si256(word, mask)) & lanes(words.len() - at);
        debug_assert!(end + WORDS <= to.capacity());
        // SAFETY: there is room for all words and a vector behind the end.
        end += unsafe { pack(word, fits, to.as_mut_ptr().add(end)) };
    }
    // SAFETY: so many words have been written.
    unsafe { to.set_len(end) };
}

#[target_feature(enable = "avx2,popcnt")]
fn divide(
    words: &[u64],
    mask: u64,
    main: &Range<u64>,
    equal: &[Range<u64>; 2],
    to: &mut Vec<u64>,
    to_equal: &mut Vec<u64>,
) {
    to.reserve(words.len() + ROOM);
    to_equal.reserve(words.len() + ROOM);
    let mask = all(mask);
    // Words are compared with signs: the highest bit is flipped on both sides.
    let sign = all(1 << 63);
    let within = |range: &Range<u64>| {
        let len = range.end.saturating_sub(range.start);
        (all(range.start), _mm256_xor_si256(all(len), sign))
    };
    let ranges = [main, &equal[0], &equal[1]].map(within);
    let (mut end, mut end_equal) = (to.len(), to_equal.len());
    for at in (0..words.len()).step_by(WORDS) {
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
    // SAFETY: so many words have been written.
    unsafe {
        to.set_len(end);
        to_equal.set_len(end_equal);
    }
}

#[target_feature(enable = "avx2")]
fn transpose(words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize) {
    assert!(words.len() <= 512 && n_planes <= 64 && planes.len() > (n_planes.max(1) - 1) * stride);
    let mut padded = [0; 32];
    // The bytes of two words, one of each in turn.
    let order =
        _mm256_broadcastsi128_si256(_mm_set_epi8(15, 7, 14, 6, 13, 5, 12, 4, 11, 3, 10, 2, 9, 1, 8, 0));
    for group in 0..16 {
        let words = words.get(32 * group..).unwrap_or_default();
        if words.is_empty() {
            for plane in 0..n_planes {
                set(&mut planes[plane * stride], group, 0);
            }
            continue;
        }
        let words: &[u64; 32] = if let Some(words) = words.first_chunk() {
            words
        } else {
            padded[..words.len()].copy_from_slice(words);
            &padded
        };
        // Words 2 i and 2 i + 1 of the first and of the second sixteen.
        let four = |i: usize| {
            // SAFETY: two words each, of 32.
            let two = |at: usize| unsafe { _mm_loadu_si128(words[at..at + 2].as_ptr().cast()) };
            _mm256_shuffle_epi8(_mm256_set_m128i(two(16 + 2 * i), two(2 * i)), order)
        };
        let eight = |i: usize| {
            let (a, b) = (four(2 * i), four(2 * i + 1));
            [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)]
        };
        let sixteen = |i: usize| {
            let ([a, b], [c, d]) = (eight(2 * i), eight(2 * i + 1));
            [
                _mm256_unpacklo_epi32(a, c),
                _mm256_unpackhi_epi32(a, c),
                _mm256_unpacklo_epi32(b, d),
                _mm256_unpackhi_epi32(b, d),
            ]
        };
        let (a, b) = (sixteen(0), sixteen(1));
        for byte in 0..n_planes.div_ceil(8) {
            let (a, b) = (a[byte / 2], b[byte / 2]);
            let mut bytes =
                if byte % 2 == 0 { _mm256_unpacklo_epi64(a, b) } else { _mm256_unpackhi_epi64(a, b) };
            for bit in (0..8).rev() {
                let plane = 8 * byte + bit;
                if plane < n_planes {
                    let bits = _mm256_movemask_epi8(bytes).cast_unsigned();
                    set(&mut planes[plane * stride], group, bits);
                }
                bytes = _mm256_add_epi8(bytes, bytes);
            }
        }
    }
}

/// Sets 32 bits of a line.
#[inline]
fn set(line: &mut Line, group: usize, bits: u32) {
    let (word, shift) = (group / 2, 32 * (group % 2));
    line.0[word] = line.0[word] & !(0xFFFF_FFFF << shift) | u64::from(bits) << shift;
}

#[target_feature(enable = "avx2")]
fn number(ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64) {
    let keep = all(keep);
    let times = _mm256_set1_epi16(0x0100 | i16::from(n_left));
    for at in (0..ranks.len()).step_by(WORDS) {
        let mut word = load(ranks, at);
        let from = word;
        for &rank in fixed {
            let greater = _mm256_cmpgt_epi8(from, _mm256_set1_epi8(rank.cast_signed()));
            word = _mm256_add_epi8(word, greater);
        }
        let entry = _mm256_maddubs_epi16(word, times);
        let code =
            _mm256_and_si256(_mm256_slli_epi16::<{ ENTRY.trailing_zeros().cast_signed() }>(entry), keep);
        let mut codes = [0; WORDS];
        // SAFETY: four words.
        unsafe { _mm256_storeu_si256(codes.as_mut_ptr().cast(), code) };
        let n = WORDS.min(ranks.len() - at);
        ranks[at..at + n].copy_from_slice(&codes[..n]);
    }
}

/// What is left of a block: where none of a sieve's planes is set.
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
        // SAFETY: as above.
        unsafe { _mm256_store_si256((&raw mut line).cast::<__m256i>().add(half), left) };
    }
    line
}

#[target_feature(enable = "avx2,popcnt")]
fn sift(sieve: Sieve<'_>, to: &mut Sifted) {
    let n_words = 8 * (sieve.to - sieve.from);
    let Sifted { numbers, bits, before, len } = to;
    assert!(bits.len() > n_words && before.len() > n_words && numbers.len() >= 64 * n_words + ROOM);
    let mut end = 0;
    for block in sieve.from..sieve.to {
        let first = 8 * (block - sieve.from);
        let left = left(&sieve, block);
        bits[first..first + 8].copy_from_slice(&left.0);
        for (word, bits) in (first..).zip(left.0) {
            before[word] = end as u32;
            for (byte, set) in (8 * word..).zip(bits.to_le_bytes()) {
                debug_assert!(end + 8 <= numbers.len());
                // SAFETY: at most 64 of each word so far have passed, and there is room for a vector behind them.
                unsafe {
                    let numbers_of = _mm_loadu_si128(SET_BITS[usize::from(set)].as_ptr().cast());
                    let base = _mm_set1_epi16(((8 * byte) as u16).cast_signed());
                    _mm_storeu_si128(numbers.as_mut_ptr().add(end).cast(), _mm_add_epi16(numbers_of, base));
                }
                end += set.count_ones() as usize;
            }
        }
    }
    bits[n_words] = 0;
    before[n_words] = end as u32;
    *len = end;
}

#[target_feature(enable = "avx2,popcnt")]
fn count_sifted(sieve: Sieve<'_>) -> u64 {
    let blocks = sieve.from..sieve.to;
    blocks
        .map(|block| left(&sieve, block).0.iter().map(|word| u64::from(word.count_ones())).sum::<u64>())
        .sum()
}

#[target_feature(enable = "avx2")]
fn singles(planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]) {
    assert!(n_lines <= LINES && to.len() >= LINES * feet.len());
    assert!(planes.len() >= LINES * (usize::from(NO_PLANE) + 1));
    let ones = _mm256_set1_epi64x(-1);
    for (i, &(a, b)) in feet.iter().enumerate() {
        debug_assert!(a <= NO_PLANE && b <= NO_PLANE);
        for half in 0..HALVES * n_lines {
            // SAFETY: planes have numbers up to `NO_PLANE`, and their lines and those written to are there.
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
fn pairs<const N: usize>(first: &[Line], second: &[Line], to: &mut [Line]) {
    assert!(to.len() * LINES >= first.len() * second.len() && N <= LINES);
    let (n, m) = (first.len() / LINES, second.len() / LINES);
    for a in 0..n {
        for half in 0..HALVES * N {
            // SAFETY: there are `n`, `m` and `n m` entries of `LINES` lines.
            unsafe {
                let one = _mm256_load_si256(first.as_ptr().add(LINES * a).cast::<__m256i>().add(half));
                let to = to.as_mut_ptr().add(LINES * m * a).cast::<__m256i>().add(half);
                for b in 0..m {
                    let other = _mm256_load_si256(second.as_ptr().add(LINES * b).cast::<__m256i>().add(half));
                    _mm256_store_si256(to.add(HALVES * LINES * b), _mm256_and_si256(one, other));
                }
            }
        }
    }
}

/// Steps after which the bytes that count may be full: each adds up to eight.
const FULL: usize = 31;

#[target_feature(enable = "avx2")]
fn steps<const N: usize>(tables: Tables<'_>, codes: &[u64], numbers: &[u16], top: &[Line; LINES]) -> u64 {
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
            // SAFETY: numbers are those of placements with codes, and codes those of entries of the tables.
            unsafe {
                let code = *codes.get_unchecked(usize::from(number));
                let entry = |table: usize| {
                    let at = (code >> (16 * table)) as usize & 0xFFFF;
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
    // SAFETY: four words.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), sum) };
    words.iter().sum()
}
