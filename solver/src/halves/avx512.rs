//! The join's vectors with AVX-512, as Ice Lake, Zen 4 and later have it.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::halves::lines::Line;
use crate::halves::placements::FIRST_CENTRAL;
use crate::halves::vectors::{
    BUCKET, Bucket, ENTRY, Head, LINES, NO_PLANE, ROOM, Sieve, Sifted, Tables, Vectors,
};

/// Proof that this processor has the instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// The proof, if it has.
    pub(crate) fn detect() -> Option<Self> {
        let can = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        can.then_some(Self(()))
    }
}

/// Calls a function that needs the instructions.
macro_rules! with_vectors {
    ($self:ident, $call:expr) => {{
        let Self(()) = $self;
        // SAFETY: there is an `Avx512` only where `detect` has found the features.
        unsafe { $call }
    }};
}

impl Vectors for Avx512 {
    fn join(self, bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Vec<u64>) {
        let none = &mut Vec::new();
        if shift {
            with_vectors!(self, join::<false, true>(bucket, head, to, none));
        } else {
            with_vectors!(self, join::<false, false>(bucket, head, to, none));
        }
    }

    fn join_ranked(
        self,
        bucket: Bucket<'_>,
        head: &Head,
        shift: bool,
        to: &mut Vec<u64>,
        ranks: &mut Vec<u64>,
    ) {
        if shift {
            with_vectors!(self, join::<true, true>(bucket, head, to, ranks));
        } else {
            with_vectors!(self, join::<true, false>(bucket, head, to, ranks));
        }
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
const WORDS: usize = 8;

#[target_feature(enable = "avx512f")]
fn all(word: u64) -> __m512i {
    _mm512_set1_epi64(word.cast_signed())
}

/// The lanes of the last words, of which there are `n` left.
fn lanes(n: usize) -> __mmask8 {
    if n >= WORDS { u8::MAX } else { (1 << n) - 1 }
}

/// Reads the words from number `at` on; where there are fewer than eight, zeros.
#[target_feature(enable = "avx512f")]
fn load(words: &[u64], at: usize) -> __m512i {
    debug_assert!(at < words.len());
    // SAFETY: lanes past the end are not read.
    unsafe { _mm512_maskz_loadu_epi64(lanes(words.len() - at), words.as_ptr().add(at).cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
fn join<const RANKED: bool, const SHIFT: bool>(
    bucket: Bucket<'_>,
    head: &Head,
    to: &mut Vec<u64>,
    ranks: &mut Vec<u64>,
) {
    let n = bucket.attacks.len();
    assert!(n.is_multiple_of(BUCKET) && bucket.words.len() == n && bucket.ranks.len() == n);
    to.reserve(n + ROOM);
    if RANKED {
        ranks.reserve(n + ROOM);
    }
    let (attacks, word, rank) = (all(head.attacks), all(head.word), all(head.ranks));
    // A head with a queen in a central column makes the tail's the second: its row moves from the first four bits to
    // the next.
    let central = all(0xF << FIRST_CENTRAL);
    let mut end = to.len();
    for at in (0..n).step_by(BUCKET) {
        // SAFETY: the bucket has a multiple of a vector's words; and there is room for all of them and a vector behind
        // the end.
        unsafe {
            let load = |words: &[u64]| _mm512_loadu_epi64(words.as_ptr().add(at).cast());
            let fits = _mm512_testn_epi64_mask(load(bucket.attacks), attacks);
            let mut tail = load(bucket.words);
            if SHIFT {
                let row = _mm512_srli_epi64::<4>(_mm512_and_si512(tail, central));
                // Neither has other bits there.
                tail = _mm512_or_si512(_mm512_andnot_si512(central, tail), row);
            }
            debug_assert!(end + WORDS <= to.capacity());
            let both = _mm512_maskz_compress_epi64(fits, _mm512_or_si512(tail, word));
            _mm512_storeu_epi64(to.as_mut_ptr().add(end).cast(), both);
            if RANKED {
                debug_assert!(end + WORDS <= ranks.capacity());
                let both = _mm512_maskz_compress_epi64(fits, _mm512_or_si512(load(bucket.ranks), rank));
                _mm512_storeu_epi64(ranks.as_mut_ptr().add(end).cast(), both);
            }
            end += fits.count_ones() as usize;
        }
    }
    // SAFETY: so many words have been written, by this call and those before.
    unsafe {
        to.set_len(end);
        if RANKED {
            ranks.set_len(end);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
fn filter(words: &[u64], mask: u64, to: &mut Vec<u64>) {
    to.reserve(words.len() + ROOM);
    let mask = all(mask);
    let mut end = to.len();
    let mut at = 0;
    // SAFETY: there is room for all words and two vectors behind the end; and whole vectors are read only where there
    // are so many words left.
    unsafe {
        let room = to.as_mut_ptr();
        while at + 2 * WORDS <= words.len() {
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
        to.set_len(end);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
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
    let within = |range: &Range<u64>| (all(range.start), all(range.end.saturating_sub(range.start)));
    let ranges = [main, &equal[0], &equal[1]].map(within);
    let (mut end, mut end_equal) = (to.len(), to_equal.len());
    for at in (0..words.len()).step_by(WORDS) {
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
    // SAFETY: so many words have been written.
    unsafe {
        to.set_len(end);
        to_equal.set_len(end_equal);
    }
}

/// For a vector of words: byte `7 - k` of word `w` comes to byte `8 b + k` for its number `b`... the order in which the
/// bit matrix product transposes eight words' bytes.
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
fn transpose(words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize) {
    assert!(words.len() <= 512 && n_planes <= 64 && planes.len() > (n_planes.max(1) - 1) * stride);
    let mut stage = [[Line::NONE; 8]; 8];
    // SAFETY: 64 bytes.
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
                    // SAFETY: the plane has a line, as was asserted; lines are aligned.
                    unsafe { _mm512_store_si512(planes.as_mut_ptr().add(plane * stride).cast(), line) };
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn number(ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64) {
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

/// Checks that all planes of a sieve are there.
fn check(sieve: &Sieve<'_>) {
    assert!(sieve.from <= sieve.to && sieve.to <= sieve.n_blocks && sieve.one.len() >= sieve.to);
    assert!(sieve.zero.iter().all(|&plane| (usize::from(plane) + 1) * sieve.n_blocks <= sieve.planes.len()));
}

/// Up to eight planes of a sieve, as pointers to their first lines.
fn pointers(sieve: &Sieve<'_>) -> [*const Line; 8] {
    let last = sieve.zero.len().saturating_sub(1);
    std::array::from_fn(|i| {
        let plane = sieve.zero.get(i.min(last)).map_or(NO_PLANE, |&plane| plane);
        let first = usize::from(plane) * sieve.n_blocks;
        sieve.planes.get(first..).map_or(sieve.planes.as_ptr(), <[Line]>::as_ptr)
    })
}

/// What is left of a block: where none of the first `K` planes is set.
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
fn sift(sieve: Sieve<'_>, to: &mut Sifted) {
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
    // SAFETY: 64 bytes.
    let iota = unsafe { _mm512_loadu_epi8(iota.as_ptr().cast()) };
    let mut base = _mm512_setzero_si512();
    let step = _mm512_set1_epi16(64);
    let mut end = 0_usize;
    for block in sieve.from..sieve.to {
        let word = 8 * (block - sieve.from);
        // SAFETY: the planes have more than `block` lines, as was checked, and there are eight words here.
        unsafe {
            let left = left::<K>(&planes, sieve.one, block);
            _mm512_storeu_epi64(bits.as_mut_ptr().add(word).cast(), left);
        }
        for word in word..word + 8 {
            let mask = bits[word];
            before[word] = end as u32;
            let packed = _mm512_maskz_compress_epi8(mask, iota);
            let low = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(packed)), base);
            debug_assert!(end + 64 <= numbers.len());
            // SAFETY: at most 64 of each word so far have passed, and there is room for a vector behind them.
            unsafe { _mm512_storeu_epi16(numbers.as_mut_ptr().add(end).cast(), low) };
            let n = mask.count_ones() as usize;
            if n > 32 {
                let high = _mm512_extracti64x4_epi64::<1>(packed);
                let high = _mm512_add_epi16(_mm512_cvtepu8_epi16(high), base);
                // SAFETY: as above.
                unsafe { _mm512_storeu_epi16(numbers.as_mut_ptr().add(end + 32).cast(), high) };
            }
            end += n;
            base = _mm512_add_epi16(base, step);
        }
    }
    bits[n_words] = 0;
    before[n_words] = end as u32;
    *len = end;
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn count_sifted(sieve: Sieve<'_>) -> u64 {
    check(&sieve);
    assert!((1..=8).contains(&sieve.zero.len()));
    let planes = pointers(&sieve);
    let mut sum = _mm512_setzero_si512();
    for block in sieve.from..sieve.to {
        // SAFETY: the planes have more than `block` lines, as was checked.
        let left = unsafe { left::<8>(&planes, sieve.one, block) };
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(left));
    }
    _mm512_reduce_add_epi64(sum).cast_unsigned()
}

#[target_feature(enable = "avx512f")]
fn singles(planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]) {
    assert!(n_lines <= LINES && to.len() >= LINES * feet.len());
    assert!(planes.len() >= LINES * (usize::from(NO_PLANE) + 1));
    for (i, &(a, b)) in feet.iter().enumerate() {
        debug_assert!(a <= NO_PLANE && b <= NO_PLANE);
        for line in 0..n_lines {
            // SAFETY: planes have numbers up to `NO_PLANE`, and their lines and those written to are there.
            unsafe {
                let at = |plane: u8| {
                    let plane = usize::from(plane.min(NO_PLANE));
                    _mm512_load_si512(planes.as_ptr().add(LINES * plane + line).cast())
                };
                // Neither.
                let free = _mm512_ternarylogic_epi64::<0x03>(at(a), at(b), at(b));
                _mm512_store_si512(to.as_mut_ptr().add(LINES * i + line).cast(), free);
            }
        }
    }
}

#[target_feature(enable = "avx512f")]
fn pairs<const N: usize>(first: &[Line], second: &[Line], to: &mut [Line]) {
    assert!(to.len() * LINES >= first.len() * second.len() && N <= LINES);
    let (n, m) = (first.len() / LINES, second.len() / LINES);
    for a in 0..n {
        for line in 0..N {
            // SAFETY: there are `n`, `m` and `n m` entries of `LINES` lines.
            unsafe {
                let one = _mm512_load_si512(first.as_ptr().add(LINES * a + line).cast());
                let to = to.as_mut_ptr().add(LINES * m * a + line);
                for b in 0..m {
                    let other = _mm512_load_si512(second.as_ptr().add(LINES * b + line).cast());
                    _mm512_store_si512(to.add(LINES * b).cast(), _mm512_and_si512(one, other));
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn steps<const N: usize>(tables: Tables<'_>, codes: &[u64], numbers: &[u16], top: &[Line; LINES]) -> u64 {
    // SAFETY: lines are aligned.
    let top: [__m512i; N] = std::array::from_fn(|i| unsafe { _mm512_load_si512((&raw const top[i]).cast()) });
    let base = tables.pairs.map(|table| table.as_ptr().cast::<u8>());
    let fit = |number: u16, sums: &mut [__m512i; N]| {
        debug_assert!(usize::from(number) < codes.len());
        // SAFETY: numbers are those of placements with codes, and codes those of entries of the tables.
        unsafe {
            let code = *codes.get_unchecked(usize::from(number));
            let entry = |table: usize| {
                let at = (code >> (16 * table)) as usize & 0xFFFF;
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
