//! The AVX2 kernel: eight states at a time, in the search of [`blocks`](super::blocks).
//!
//! **Passes.** The states of one vector have different numbers of children. So the kernel works through an array in
//! passes. Each pass gives every state one child, with its queen on the lowest untried square, and keeps the states
//! that have squares left. They move to the front of the same array, over states already read, for the next pass.
//!
//! ```text
//!   pass 1    a b c d e f g h …    →    kept  a d e g …       first children of a to h
//!   pass 2    a d e g …            →    kept  d …             second children of a, d, e, g
//! ```
//!
//! All lanes work except those of one vector at the end of each pass, and no vector waits for its predecessor. (The
//! AVX-512 kernel refills single lanes, which it has instructions for; here that is slower, see `docs/KERNEL.md`.)
//!
//! **Packing lanes.** AVX2 has no compress instruction. A table of lane numbers for each mask permutes the surviving
//! lanes to the front, and one store writes the whole vector. The next store overwrites the words behind them.

use std::arch::x86_64::*;

use super::blocks::{self, Arrays, Vectors};
use super::level::Level;
use crate::pruning::SEEN_WHOLE;

/// Words in a vector.
const LANES: usize = 8;

/// The most states of one row before a vector is appended.
const CAPACITY: usize = 2048;

/// Room behind an array: one vector appended to a full array, and one of dead states.
const ROOM: usize = 2 * LANES;

/// Words of an array.
const WORDS: usize = CAPACITY + ROOM;

/// One word of each state of a row.
type Words = [u32; WORDS];

/// Proof that this processor can run the kernel.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// The states of a row, with their untried free squares if a pass has kept them. At most `CAPACITY + LANES`.
type States = blocks::States<WORDS, WORDS>;
type Search<'a> = blocks::Search<'a, Avx2, WORDS, WORDS>;

thread_local! {
    pub(super) static ARRAYS: Arrays<WORDS, WORDS> = blocks::arrays();
}

impl Avx2 {
    /// Returns the proof if this processor can run the kernel.
    pub(super) fn detect() -> Option<Self> {
        let can = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        can.then_some(Self(()))
    }
}

impl Vectors<WORDS, WORDS> for Avx2 {
    const CAPACITY: usize = CAPACITY;

    fn expand(search: &mut Search<'_>, level: usize) -> Option<()> {
        let Avx2(()) = search.vectors;
        // SAFETY: an `Avx2` exists only where `detect` has found the features.
        unsafe { search.expand_vectors(level) }
    }
}

/// The constants of a level, in every lane.
#[derive(Clone, Copy)]
struct Constants {
    /// The allowed squares of the row and of those that the pruning rule looks at.
    allowed: [__m256i; SEEN_WHOLE + 1],
    /// Rows down to the next free row, and from there to the later rows that the rule looks at.
    down: [__m256i; SEEN_WHOLE],
}

/// Eight states; `columns` are those still to be filled.
#[derive(Clone, Copy)]
struct Lanes {
    columns: __m256i,
    rising: __m256i,
    falling: __m256i,
}

impl Search<'_> {
    /// See [`Vectors::expand`].
    #[target_feature(enable = "avx2,popcnt")]
    fn expand_vectors(&mut self, level: usize) -> Option<()> {
        let Level { n_left, n_seen, .. } = self.levels[level];
        if n_left == 3 {
            self.count_last(level);
            return Some(());
        }
        match n_seen {
            ..=1 => self.expand_seeing::<1>(level),
            2 => self.expand_seeing::<2>(level),
            3 => self.expand_seeing::<3>(level),
            4 => self.expand_seeing::<4>(level),
            _ => self.expand_seeing::<SEEN_WHOLE>(level),
        }
    }

    /// Does the same for a level at which the pruning rule looks at `SEEN` rows.
    #[target_feature(enable = "avx2,popcnt")]
    fn expand_seeing<const SEEN: usize>(&mut self, level: usize) -> Option<()> {
        let constants = Constants::new(&self.levels[level]);
        self.pass::<true, SEEN>(level, &constants)?;
        while self.states[level].len > 0 {
            self.pass::<false, SEEN>(level, &constants)?;
        }
        Some(())
    }

    /// Empties the array of the last searched row: its children have two rows left and are counted.
    #[target_feature(enable = "avx2,popcnt")]
    fn count_last(&mut self, level: usize) {
        let constants = Constants::new(&self.levels[level]);
        self.pass_last::<true>(level, &constants);
        while self.states[level].len > 0 {
            self.pass_last::<false>(level, &constants);
        }
    }

    /// Gives each state of a row's array one child, and keeps the states with squares left. The first pass over an
    /// array starts with all free squares.
    #[target_feature(enable = "avx2,popcnt")]
    fn pass<const FIRST: bool, const SEEN: usize>(
        &mut self,
        level: usize,
        constants: &Constants,
    ) -> Option<()> {
        let len = self.states[level].bury_end(LANES);
        let (mut at, mut kept) = (0, 0);
        loop {
            let (upper, lower) = self.states.split_at_mut(level + 1);
            let (from, to) = (&mut upper[level], &mut lower[0]);
            let mut end = to.len;
            while at < len && end <= CAPACITY {
                let child;
                // SAFETY: `at` is below `len`, and each turn keeps no more states than it takes; a vector fits behind
                // `CAPACITY`.
                unsafe {
                    (child, kept) = from.turn::<FIRST>(at, kept, constants);
                    end = to.append(end, child, child.dropped::<SEEN>(constants));
                }
                at += LANES;
            }
            self.count.work += (end - to.len) as u64;
            to.len = end;
            if at >= len {
                break;
            }
            self.expand(level + 1)?;
        }
        self.states[level].len = kept;
        Some(())
    }

    /// Does the same for the last searched row.
    #[target_feature(enable = "avx2,popcnt")]
    fn pass_last<const FIRST: bool>(&mut self, level: usize, constants: &Constants) {
        let from = &mut self.states[level];
        let len = from.bury_end(LANES);
        let (mut at, mut kept) = (0, 0);
        let (mut work, mut solutions) = (0_u64, 0_u64);
        while at < len {
            let child;
            // SAFETY: `at` is less than `len`, and each turn keeps no more states than it takes.
            (child, kept) = unsafe { from.turn::<FIRST>(at, kept, constants) };
            at += LANES;
            let (survives, completions) = child.complete(constants);
            work += u64::from(survives);
            solutions += u64::from(completions);
        }
        from.len = kept;
        self.count.work += work;
        self.count.solutions += solutions;
    }
}

impl States {
    /// Places a queen for each of the eight states from `at` and goes down to the next row. Stores states with squares
    /// left behind the first `kept`, and returns their new number.
    ///
    /// # Safety
    /// `at` must be less than the length, which is `CAPACITY + LANES` at most, and `kept` at most `at`.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn turn<const FIRST: bool>(
        &mut self,
        at: usize,
        kept: usize,
        constants: &Constants,
    ) -> (Lanes, usize) {
        debug_assert!(kept <= at && at < self.len && self.len <= CAPACITY + LANES);
        // SAFETY: a vector from `at` ends at `CAPACITY + 2 * LANES - 1` at most: within `WORDS`.
        let (states, untried) = unsafe {
            let states = Lanes {
                columns: load(&self.columns, at),
                rising: load(&self.rising, at),
                falling: load(&self.falling, at),
            };
            (states, if FIRST { states.free(constants.allowed[0]) } else { load(&self.untried, at) })
        };
        let rest = _mm256_and_si256(untried, _mm256_add_epi32(untried, _mm256_set1_epi32(-1)));
        let queen = _mm256_xor_si256(untried, rest);
        let done = zeros(rest);
        let order = lanes_outside(done);
        // SAFETY: `kept` is at most `at`, from where a vector was loaded.
        unsafe {
            store(&mut self.columns, kept, states.columns, order);
            store(&mut self.rising, kept, states.rising, order);
            store(&mut self.falling, kept, states.falling, order);
            store(&mut self.untried, kept, rest, order);
        }
        (states.with(queen).down(constants.down[0]), kept + LANES - done.count_ones() as usize)
    }

    /// Stores the lanes that are not in `dropped` from `at`, and returns their end.
    ///
    /// # Safety
    /// `at` must be `CAPACITY` at most.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn append(&mut self, at: usize, child: Lanes, dropped: u32) -> usize {
        debug_assert!(at <= CAPACITY);
        let order = lanes_outside(dropped);
        // SAFETY: a vector from `at` ends at `CAPACITY + LANES` at most: within `WORDS`.
        unsafe {
            store(&mut self.columns, at, child.columns, order);
            store(&mut self.rising, at, child.rising, order);
            store(&mut self.falling, at, child.falling, order);
        }
        at + LANES - dropped.count_ones() as usize
    }
}

impl Constants {
    #[target_feature(enable = "avx2,popcnt")]
    fn new(level: &Level) -> Self {
        let all = |word: u32| _mm256_set1_epi32(word.cast_signed());
        Self {
            allowed: level.allowed.map(all),
            // The `and` tells the compiler that shifts are below 32, so that it emits no guard.
            down: level.down.map(|rows| _mm256_and_si256(all(rows), all(31))),
        }
    }
}

impl Lanes {
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn with(self, queen: __m256i) -> Self {
        Self {
            columns: _mm256_xor_si256(self.columns, queen),
            rising: _mm256_or_si256(self.rising, queen),
            falling: _mm256_or_si256(self.falling, queen),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn down(self, rows: __m256i) -> Self {
        Self {
            columns: self.columns,
            rising: _mm256_sllv_epi32(self.rising, rows),
            falling: _mm256_srlv_epi32(self.falling, rows),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn free(self, allowed: __m256i) -> __m256i {
        let open = _mm256_and_si256(self.columns, allowed);
        _mm256_andnot_si256(_mm256_or_si256(self.rising, self.falling), open)
    }

    /// Returns the lanes that the pruning rule drops (see [`surviving`](crate::pruning::surviving)).
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn dropped<const SEEN: usize>(self, constants: &Constants) -> u32 {
        let mut fewest = self.free(constants.allowed[1]);
        let mut reached = fewest;
        for i in 1..SEEN {
            let free = self.down(constants.down[i]).free(constants.allowed[i + 1]);
            fewest = _mm256_min_epu32(fewest, free);
            reached = _mm256_or_si256(reached, free);
        }
        let empty = _mm256_cmpeq_epi32(fewest, _mm256_setzero_si256());
        // With more rows left than it looks at, the rule looks at one or two.
        if SEEN < 3 {
            return mask_of(empty);
        }
        !mask_of(_mm256_andnot_si256(empty, _mm256_cmpeq_epi32(reached, self.columns))) & 0xff
    }

    /// Returns the number of lanes that the pruning rule lets through with two rows left, and their number of
    /// completions (see `last_two` of the portable kernel).
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn complete(self, constants: &Constants) -> (u32, u32) {
        let both = self.columns;
        let upper = self.free(constants.allowed[1]);
        let lower = self.down(constants.down[1]).free(constants.allowed[2]);
        let empty = _mm256_cmpeq_epi32(_mm256_min_epu32(upper, lower), _mm256_setzero_si256());
        let reached = _mm256_cmpeq_epi32(_mm256_or_si256(upper, lower), both);
        let survives = mask_of(_mm256_andnot_si256(empty, reached));
        let apart = zeros(_mm256_and_si256(both, _mm256_srlv_epi32(both, constants.down[1])));
        let one_way = survives & apart;
        let other_way = one_way & mask_of(_mm256_cmpeq_epi32(_mm256_and_si256(upper, lower), both));
        (survives.count_ones(), one_way.count_ones() + other_way.count_ones())
    }
}

/// Returns the lanes whose word is zero.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn zeros(words: __m256i) -> u32 {
    mask_of(_mm256_cmpeq_epi32(words, _mm256_setzero_si256()))
}

/// Returns the lanes whose highest bit is set.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn mask_of(words: __m256i) -> u32 {
    _mm256_movemask_ps(_mm256_castsi256_ps(words)).cast_unsigned()
}

/// Loads the words of the eight states from `at`.
///
/// # Safety
/// There must be eight words from `at`.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn load(words: &Words, at: usize) -> __m256i {
    debug_assert!(at + LANES <= words.len());
    // SAFETY: the caller keeps the vector in bounds; it need not be aligned.
    unsafe { _mm256_loadu_si256(words.as_ptr().add(at).cast()) }
}

/// Stores the lanes of a vector from `at` in the given order.
///
/// # Safety
/// There must be eight words from `at`.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn store(words: &mut Words, at: usize, lanes: __m256i, order: __m256i) {
    debug_assert!(at + LANES <= words.len());
    let packed = _mm256_permutevar8x32_epi32(lanes, order);
    // SAFETY: the caller keeps the vector in bounds; it need not be aligned.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().add(at).cast(), packed) };
}

/// Returns the numbers of the lanes outside `mask`, a set of the eight lanes, the lowest first.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn lanes_outside(mask: u32) -> __m256i {
    let lanes = &LANES_OUTSIDE[mask as usize & 0xff].0;
    // SAFETY: a table entry has eight words, aligned to a vector.
    unsafe { _mm256_load_si256(lanes.as_ptr().cast()) }
}

#[repr(align(32))]
#[derive(Clone, Copy)]
struct LaneNumbers([u32; LANES]);

/// The lanes outside each set of lanes, the lowest first, then zeros.
static LANES_OUTSIDE: [LaneNumbers; 1 << LANES] = {
    let mut table = [LaneNumbers([0; LANES]); 1 << LANES];
    let mut set = 0;
    while set < table.len() {
        let (mut lane, mut n) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 0 {
                table[set].0[n] = lane;
                n += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_lanes_has_those_outside_it_in_order() {
        for (set, lanes) in LANES_OUTSIDE.iter().enumerate() {
            let outside: Vec<u32> = (0..8).filter(|lane| set >> lane & 1 == 0).collect();
            assert_eq!(lanes.0[..outside.len()], outside, "{set:08b}");
        }
    }
}
