//! The AVX-512 kernel: sixteen states at a time, in the search of [`blocks`](super::blocks).
//!
//! **Every lane busy.** The states of one vector have different numbers of children. So the loop never finishes a
//! vector: a lane that has used up its free squares takes the next state of the array. Refilling is a long chain of
//! dependent instructions (test, count, expand, permute), and [`STREAMS`] independent vectors in one loop hide it.
//!
//! ```text
//!   lane     0 1 2 3 4 5 …          free squares used up in lanes 1 and 4:
//!   state    a b c d e f …    →     a q c d r f …       with q, r the next two states of the array
//! ```
//!
//! **Specialised levels.** A level fixes how many rows the pruning rule looks at, and whether all steps among them are
//! single. So the loop is compiled for each case: an addition moves a diagonal down a single row, for half a shift.

use std::arch::x86_64::*;

use super::blocks::{self, Arrays, Vectors};
use super::level::Level;
use crate::pruning::SEEN_WHOLE;

/// Words in a vector.
const LANES: usize = 16;

/// Vectors that the loop works on in turn.
const STREAMS: usize = 2;

/// The most states of one row.
const CAPACITY: usize = 4096;

/// Room behind an array for dead states.
const ROOM: usize = (STREAMS + 1) * LANES;

/// Words of an array.
const WORDS: usize = CAPACITY + ROOM;

/// Proof that this processor can run the kernel.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

type States = blocks::States<WORDS, 0>;
type Search<'a> = blocks::Search<'a, Avx512, WORDS, 0>;

thread_local! {
    pub(super) static ARRAYS: Arrays<WORDS, 0> = blocks::arrays();
}

impl Avx512 {
    /// Returns the proof if this processor can run the kernel.
    pub(super) fn detect() -> Option<Self> {
        let can = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt");
        can.then_some(Self(()))
    }
}

impl Vectors<WORDS, 0> for Avx512 {
    const CAPACITY: usize = CAPACITY;

    fn expand(search: &mut Search<'_>, level: usize) -> Option<()> {
        let Avx512(()) = search.vectors;
        // SAFETY: an `Avx512` exists only where `detect` has found the features.
        unsafe { search.expand_vectors(level) }
    }
}

/// A vector of states in expansion, with their remaining free squares.
#[derive(Clone, Copy)]
struct Stream {
    columns: __m512i,
    rising: __m512i,
    falling: __m512i,
    free: __m512i,
}

/// The constants of a level, in every lane.
#[derive(Clone, Copy)]
struct Constants {
    allowed: [__m512i; SEEN_WHOLE + 1],
    down: [__m512i; SEEN_WHOLE],
    /// 0 to 15.
    lanes: __m512i,
    minus_one: __m512i,
}

impl Search<'_> {
    /// See [`Vectors::expand`].
    #[target_feature(enable = "avx512f,popcnt")]
    fn expand_vectors(&mut self, level: usize) -> Option<()> {
        let Level { n_left, n_seen, single_steps, .. } = self.levels[level];
        if n_left == 3 {
            self.expand_last(level);
            return Some(());
        }
        match (n_seen, single_steps) {
            (..=1, false) => self.expand_seeing::<1, false>(level),
            (..=1, true) => self.expand_seeing::<1, true>(level),
            (2, false) => self.expand_seeing::<2, false>(level),
            (2, true) => self.expand_seeing::<2, true>(level),
            (3, false) => self.expand_seeing::<3, false>(level),
            (3, true) => self.expand_seeing::<3, true>(level),
            (4, false) => self.expand_seeing::<4, false>(level),
            (4, true) => self.expand_seeing::<4, true>(level),
            (_, false) => self.expand_seeing::<SEEN_WHOLE, false>(level),
            (_, true) => self.expand_seeing::<SEEN_WHOLE, true>(level),
        }
    }

    /// Does the same for a level at which the pruning rule looks at `SEEN` rows.
    #[target_feature(enable = "avx512f,popcnt")]
    fn expand_seeing<const SEEN: usize, const SINGLE_STEPS: bool>(&mut self, level: usize) -> Option<()> {
        let constants = Constants::new(&self.levels[level]);
        let len = self.states[level].bury_end(ROOM);
        let mut streams = [Stream::dead(); STREAMS];
        let mut at = 0;
        loop {
            let (upper, lower) = self.states.split_at_mut(level + 1);
            let (from, to) = (&upper[level], &mut lower[0]);
            let mut end = to.len;
            // Past the end of the array a stream takes dead states. The array has room for one such overrun.
            while end <= CAPACITY - STREAMS * LANES && at < len {
                for stream in &mut streams {
                    // SAFETY: each earlier stream takes `LANES` states at most, from an `at` below `len`.
                    at = unsafe { stream.refill(from, at, &constants) };
                    let child = stream.next_child::<SINGLE_STEPS>(&constants);
                    let survives = child.survives::<SEEN, SINGLE_STEPS>(&constants);
                    // SAFETY: each stream appends `LANES` children at most, and all of them fit.
                    end = unsafe { child.append(survives, to, end, &constants) };
                }
            }
            while end <= CAPACITY - STREAMS * LANES && streams.iter().any(|stream| stream.is_alive()) {
                for stream in &mut streams {
                    // SAFETY: dead states begin at `len`.
                    unsafe { stream.refill(from, len, &constants) };
                    let child = stream.next_child::<SINGLE_STEPS>(&constants);
                    let survives = child.survives::<SEEN, SINGLE_STEPS>(&constants);
                    // SAFETY: see above.
                    end = unsafe { child.append(survives, to, end, &constants) };
                }
            }
            self.count.work += (end - to.len) as u64;
            to.len = end;
            if end <= CAPACITY - STREAMS * LANES {
                break;
            }
            self.expand(level + 1)?;
        }
        self.states[level].len = 0;
        Some(())
    }

    /// Empties the array of the last searched level: its children have two rows left and are counted.
    #[target_feature(enable = "avx512f,popcnt")]
    fn expand_last(&mut self, level: usize) {
        let constants = Constants::new(&self.levels[level]);
        let len = self.states[level].bury_end(ROOM);
        let from = &self.states[level];
        let mut streams = [Stream::dead(); STREAMS];
        let mut at = 0;
        let (mut work, mut solutions) = (0_u64, 0_u64);
        while at < len {
            for stream in &mut streams {
                // SAFETY: each earlier stream takes `LANES` states at most, from an `at` below `len`.
                at = unsafe { stream.refill(from, at, &constants) };
                let (survives, completions) = stream.next_child::<false>(&constants).complete(&constants);
                work += u64::from(survives);
                solutions += u64::from(completions);
            }
        }
        while streams.iter().any(|stream| stream.is_alive()) {
            for stream in &mut streams {
                // SAFETY: dead states begin at `len`.
                unsafe { stream.refill(from, len, &constants) };
                let (survives, completions) = stream.next_child::<false>(&constants).complete(&constants);
                work += u64::from(survives);
                solutions += u64::from(completions);
            }
        }
        self.count.work += work;
        self.count.solutions += solutions;
        self.states[level].len = 0;
    }
}

impl Constants {
    #[target_feature(enable = "avx512f,popcnt")]
    fn new(level: &Level) -> Self {
        let all = |word: u32| _mm512_set1_epi32(word.cast_signed());
        Self {
            allowed: level.allowed.map(all),
            // The `and` tells the compiler that shifts are below 32, so that it emits no guard.
            down: level.down.map(|rows| _mm512_and_si512(all(rows), all(31))),
            lanes: _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
            minus_one: all(u32::MAX),
        }
    }
}

impl Stream {
    /// Makes a stream where no lane has work.
    #[target_feature(enable = "avx512f,popcnt")]
    fn dead() -> Self {
        let none = _mm512_setzero_si512();
        Self { columns: none, rising: none, falling: none, free: none }
    }

    /// Gives each lane without free squares the next state of `from`, beginning with number `at`. Returns the number
    /// after the last state taken. Past the end of the array, lanes take dead states.
    ///
    /// # Safety
    /// The end of the array must be buried, and `at` be less than its length and `STREAMS - 1` vectors. From there a
    /// whole vector is read, whose last words may stand `STREAMS * LANES - 1` words behind the array.
    #[target_feature(enable = "avx512f,popcnt")]
    unsafe fn refill(&mut self, from: &States, at: usize, constants: &Constants) -> usize {
        debug_assert!(from.len <= CAPACITY && at < from.len + (STREAMS - 1) * LANES);
        let used_up = _mm512_testn_epi32_mask(self.free, self.free);
        // The i-th lane without free squares takes the i-th of the next sixteen states.
        let take = |kept: __m512i, words: &[u32; WORDS]| {
            debug_assert!(at + LANES <= words.len());
            // SAFETY: the vector ends below `CAPACITY + STREAMS * LANES`, and there are `CAPACITY + ROOM` words.
            let next = unsafe { _mm512_loadu_epi32(words.as_ptr().add(at).cast()) };
            _mm512_mask_expand_epi32(kept, used_up, next)
        };
        self.columns = take(self.columns, &from.columns);
        self.rising = take(self.rising, &from.rising);
        self.falling = take(self.falling, &from.falling);
        let open = off_diagonals(constants.allowed[0], self.rising, self.falling);
        self.free = _mm512_mask_and_epi32(self.free, used_up, open, self.columns);
        at + used_up.count_ones() as usize
    }

    /// Returns whether a lane has a free square left.
    #[target_feature(enable = "avx512f,popcnt")]
    fn is_alive(&self) -> bool {
        _mm512_test_epi32_mask(self.free, self.free) != 0
    }

    /// Places a queen on the lowest free square of each lane and goes down to the next row. The child of a lane without
    /// free squares is that of a dead state (see [`blocks`](super::blocks)).
    #[target_feature(enable = "avx512f,popcnt")]
    fn next_child<const SINGLE_STEP: bool>(&mut self, constants: &Constants) -> Child {
        let rest = _mm512_and_si512(self.free, _mm512_add_epi32(self.free, constants.minus_one));
        // The queen is the bit of `free` that `rest` lacks: `word | (free ^ rest)`, `word & !(free ^ rest)`.
        let with_queen = |word| _mm512_ternarylogic_epi32::<0b1111_0110>(word, self.free, rest);
        let (rising, falling) = (with_queen(self.rising), with_queen(self.falling));
        let child = Child {
            columns: _mm512_ternarylogic_epi32::<0b1001_0000>(self.columns, self.free, rest),
            rising: rise::<SINGLE_STEP>(rising, rising, constants.down[0]),
            falling: _mm512_srlv_epi32(falling, constants.down[0]),
        };
        self.free = rest;
        child
    }
}

/// Sixteen children, seen from the row below that of their last queen.
#[derive(Clone, Copy)]
struct Child {
    columns: __m512i,
    rising: __m512i,
    falling: __m512i,
}

impl Child {
    /// Returns the lanes that the pruning rule lets through (see [`surviving`](crate::pruning::surviving)).
    #[target_feature(enable = "avx512f,popcnt")]
    fn survives<const SEEN: usize, const SINGLE_STEPS: bool>(&self, constants: &Constants) -> __mmask16 {
        let columns = self.columns;
        let mut open = [_mm512_setzero_si512(); SEEN_WHOLE];
        let (mut rising, mut falling) = (self.rising, self.falling);
        for (i, open) in open.iter_mut().enumerate().take(SEEN) {
            if i > 0 {
                rising = rise::<SINGLE_STEPS>(rising, self.rising, constants.down[i]);
                falling = _mm512_srlv_epi32(self.falling, constants.down[i]);
            }
            *open = off_diagonals(constants.allowed[i + 1], rising, falling);
        }
        let mut mask = _mm512_test_epi32_mask(open[0], columns);
        for open in &open[1..SEEN] {
            mask = _mm512_mask_test_epi32_mask(mask, *open, columns);
        }
        let missed = match SEEN {
            ..=2 => return mask,
            3 => nor3(open[0], open[1], open[2]),
            4 => nor3(open[0], open[1], _mm512_or_si512(open[2], open[3])),
            _ => nor3(or3(open[0], open[1], open[2]), open[3], open[4]),
        };
        _mm512_mask_testn_epi32_mask(mask, missed, columns)
    }

    /// Returns the number of lanes that the pruning rule lets through with two rows left, and their number of
    /// completions (see `last_two` of the portable kernel).
    #[target_feature(enable = "avx512f,popcnt")]
    fn complete(&self, constants: &Constants) -> (u32, u32) {
        let both = self.columns;
        let upper = off_diagonals(constants.allowed[1], self.rising, self.falling);
        let (rising, falling) = (
            _mm512_sllv_epi32(self.rising, constants.down[1]),
            _mm512_srlv_epi32(self.falling, constants.down[1]),
        );
        let lower = off_diagonals(constants.allowed[2], rising, falling);
        let mask = _mm512_test_epi32_mask(upper, both);
        let mask = _mm512_mask_test_epi32_mask(mask, lower, both);
        let missed = nor3(upper, lower, lower);
        let mask = _mm512_mask_testn_epi32_mask(mask, missed, both);
        let on_one_diagonal = _mm512_srlv_epi32(both, constants.down[1]);
        let one_way = _mm512_mask_testn_epi32_mask(mask, both, on_one_diagonal);
        let other_way = _mm512_mask_testn_epi32_mask(one_way, nand(upper, lower), both);
        (mask.count_ones(), one_way.count_ones() + other_way.count_ones())
    }

    /// Stores the lanes of `mask` from `at`, and returns their end.
    ///
    /// # Safety
    /// `at` must be `CAPACITY - LANES` at most.
    #[target_feature(enable = "avx512f,popcnt")]
    unsafe fn append(&self, mask: __mmask16, to: &mut States, at: usize, constants: &Constants) -> usize {
        let lanes = _mm512_maskz_compress_epi32(mask, constants.lanes);
        debug_assert!(at <= CAPACITY - LANES);
        let put = |words: &mut [u32; WORDS], lane_words: __m512i| {
            debug_assert!(at + LANES <= words.len());
            let packed = _mm512_permutexvar_epi32(lanes, lane_words);
            // SAFETY: a vector from `at` ends at `CAPACITY` at most.
            unsafe { _mm512_storeu_epi32(words.as_mut_ptr().add(at).cast(), packed) };
        };
        put(&mut to.columns, self.columns);
        put(&mut to.rising, self.rising);
        put(&mut to.falling, self.falling);
        at + mask.count_ones() as usize
    }
}

#[target_feature(enable = "avx512f,popcnt")]
fn or3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0b1111_1110>(a, b, c)
}

/// Returns a row's squares on no cross queen's line and no attacked diagonal: `allowed & !(rising | falling)`.
#[target_feature(enable = "avx512f,popcnt")]
fn off_diagonals(allowed: __m512i, rising: __m512i, falling: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0b0001_0000>(allowed, rising, falling)
}

/// Returns rising diagonals seen from further down. A single step shifts `above`, seen from the row above; other steps
/// shift `from`, seen from `down` rows above.
#[target_feature(enable = "avx512f,popcnt")]
fn rise<const SINGLE_STEP: bool>(above: __m512i, from: __m512i, down: __m512i) -> __m512i {
    if SINGLE_STEP { _mm512_add_epi32(above, above) } else { _mm512_sllv_epi32(from, down) }
}

/// `!(a | b | c)`
#[target_feature(enable = "avx512f,popcnt")]
fn nor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0b0000_0001>(a, b, c)
}

/// `!(a & b)`
#[target_feature(enable = "avx512f,popcnt")]
fn nand(a: __m512i, b: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0b0011_1111>(a, b, b)
}
