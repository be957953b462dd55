//! The AVX-512 kernel: sixteen states at a time.
//!
//! **Blocked depth-first search.** Each row below the prefix has a small array of states, kept as three arrays of words.
//! Expanding a row takes its states, makes their children, and appends those that the pruning rule lets through to the
//! next row's array. When that is nearly full it is expanded first, so memory stays small and inside the second-level
//! cache, while there are always hundreds of states to fill vectors with. When the prefixes are used up, the rows are
//! expanded once more from the top down until nothing is left.
//!
//! **Every lane busy.** The states of one vector have different numbers of children. So the loop never finishes a
//! vector: whenever a lane has used up its free squares, that lane takes the next state of the array. Refilling is a
//! long chain of dependent instructions (test, count, expand, permute), and [`STREAMS`] independent vectors in one loop
//! hide it.
//!
//! ```text
//!   lane     0 1 2 3 4 5 …          free squares used up in lanes 1 and 4:
//!   state    a b c d e f …    →     a q c d r f …       with q, r the next two states of the array
//! ```
//!
//! At the end of the array stand dead states, without a column to fill: they have no free square, and a child made of
//! one has no free square in its next row, so it never gets through. They need no case of their own.
//!
//! **Levels of their own.** How many rows the pruning rule looks at, and whether all steps among them are single, is
//! known for a level, so the loop is compiled for each case: a diagonal goes down a single row by an addition, which
//! costs half a shift.

use std::arch::x86_64::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::level::Level;
use super::portable;
use crate::Count;
use crate::prefix::Prefixes;
use crate::pruning::SEEN_WHOLE;

/// Words in a vector.
const LANES: usize = 16;

/// Vectors that are worked on in turn.
const STREAMS: usize = 2;

/// States of one row at most.
const CAPACITY: usize = 4096;

/// Room behind an array: whole vectors are written at its end, and dead states stand there.
const ROOM: usize = (STREAMS + 1) * LANES;

/// The most rows there can be below a prefix.
const MOST_ROWS: usize = 32;

/// The states of one row, seen from it; `columns` are those still to be filled.
#[repr(C, align(64))]
struct States {
    columns: [u32; CAPACITY + ROOM],
    rising: [u32; CAPACITY + ROOM],
    falling: [u32; CAPACITY + ROOM],
    len: usize,
}

impl States {
    const EMPTY: Self = Self {
        columns: [0; CAPACITY + ROOM],
        rising: [0; CAPACITY + ROOM],
        falling: [0; CAPACITY + ROOM],
        len: 0,
    };
}

thread_local! {
    /// One array of states for each row, kept from call to call: a call may be as short as some microseconds.
    static STATES: RefCell<Vec<States>> = RefCell::new((0..MOST_ROWS).map(|_| States::EMPTY).collect());
}

/// Whether this processor can run the kernel.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt")
}

/// See [`Kernel::count`](super::Kernel::count). Must only be called if the kernel [`is_available`].
pub(super) fn count(prefixes: &mut Prefixes<'_>, n_subproblems: u64, stop: &AtomicBool) -> Option<Count> {
    let rows = prefixes.rows_below();
    // Two rows are counted in closed form, and there is nothing to search.
    if rows.len() < 3 {
        return portable::count(prefixes, n_subproblems, stop);
    }
    STATES.with_borrow_mut(|states| {
        // What a search has left that was stopped, or has panicked, must not be counted by the next one.
        states.iter_mut().for_each(|states| states.len = 0);
        let mut levels = [Level::default(); MOST_ROWS];
        for (i, level) in levels.iter_mut().enumerate().take(rows.len()) {
            *level = Level::new(&rows[i..]);
        }
        let columns = prefixes.free_rows().columns();
        let mut search =
            Search { levels: &levels[..rows.len() - 2], columns, states, stop, count: Count::default() };
        // SAFETY: `Kernel` makes this kernel available only where `is_available` has found the features.
        unsafe { search.run(prefixes, n_subproblems) }
    })
}

struct Search<'a> {
    /// One for each row that is searched: all but the last two.
    levels: &'a [Level],
    /// The columns without a cross queen.
    columns: u32,
    /// The states of each of these rows; more than are used.
    states: &'a mut [States],
    stop: &'a AtomicBool,
    count: Count,
}

/// A vector of states that are being expanded, and the free squares they have left.
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
    /// Counts everything, or returns `None` if it is to stop.
    #[target_feature(enable = "avx512f,popcnt")]
    fn run(&mut self, prefixes: &mut Prefixes<'_>, n_subproblems: u64) -> Option<Count> {
        let mut left = n_subproblems;
        loop {
            let first = &mut self.states[0];
            while left > 0 && first.len < CAPACITY {
                let Some(prefix) = prefixes.next() else {
                    left = 0;
                    break;
                };
                left -= 1;
                // A prefix without a free square has no nodes.
                if prefix.free(self.levels[0].allowed[0]) != 0 {
                    first.columns[first.len] = self.columns & !prefix.columns;
                    first.rising[first.len] = prefix.rising;
                    first.falling[first.len] = prefix.falling;
                    first.len += 1;
                }
            }
            if left == 0 {
                break;
            }
            self.expand(0)?;
        }
        for level in 0..self.levels.len() {
            self.expand(level)?;
        }
        Some(self.count)
    }

    /// Empties the array of a level into that of the next, and that into the one after it whenever it is full.
    #[target_feature(enable = "avx512f,popcnt")]
    fn expand(&mut self, level: usize) -> Option<()> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
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

    /// [`expand`](Self::expand) for a level at which the pruning rule looks at `SEEN` rows.
    #[target_feature(enable = "avx512f,popcnt")]
    fn expand_seeing<const SEEN: usize, const SINGLE_STEPS: bool>(&mut self, level: usize) -> Option<()> {
        let constants = Constants::new(&self.levels[level]);
        let len = self.states[level].bury_end();
        let mut streams = [Stream::dead(); STREAMS];
        let mut at = 0;
        loop {
            let (upper, lower) = self.states.split_at_mut(level + 1);
            let (from, to) = (&upper[level], &mut lower[0]);
            let mut end = to.len;
            // Past the end of the array, what is taken are the dead states there, for which there is room once.
            while end <= CAPACITY - STREAMS * LANES && at < len {
                for stream in &mut streams {
                    at = stream.refill(from, at, &constants);
                    let child = stream.next_child::<SINGLE_STEPS>(&constants);
                    let survives = child.survives::<SEEN, SINGLE_STEPS>(&constants);
                    end = child.append(survives, to, end, &constants);
                }
            }
            while end <= CAPACITY - STREAMS * LANES && streams.iter().any(|stream| stream.is_alive()) {
                for stream in &mut streams {
                    stream.refill(from, len, &constants);
                    let child = stream.next_child::<SINGLE_STEPS>(&constants);
                    let survives = child.survives::<SEEN, SINGLE_STEPS>(&constants);
                    end = child.append(survives, to, end, &constants);
                }
            }
            self.count.nodes += (end - to.len) as u64;
            to.len = end;
            if end <= CAPACITY - STREAMS * LANES {
                break;
            }
            self.expand(level + 1)?;
        }
        self.states[level].len = 0;
        Some(())
    }

    /// Empties the array of the last level that is searched: its children have two rows left and are counted.
    #[target_feature(enable = "avx512f,popcnt")]
    fn expand_last(&mut self, level: usize) {
        let constants = Constants::new(&self.levels[level]);
        let len = self.states[level].bury_end();
        let from = &self.states[level];
        let mut streams = [Stream::dead(); STREAMS];
        let mut at = 0;
        let (mut nodes, mut solutions) = (0_u64, 0_u64);
        while at < len {
            for stream in &mut streams {
                at = stream.refill(from, at, &constants);
                let (survives, completions) = stream.next_child::<false>(&constants).complete(&constants);
                nodes += u64::from(survives);
                solutions += u64::from(completions);
            }
        }
        while streams.iter().any(|stream| stream.is_alive()) {
            for stream in &mut streams {
                stream.refill(from, len, &constants);
                let (survives, completions) = stream.next_child::<false>(&constants).complete(&constants);
                nodes += u64::from(survives);
                solutions += u64::from(completions);
            }
        }
        self.count.nodes += nodes;
        self.count.solutions += solutions;
        self.states[level].len = 0;
    }
}

impl States {
    /// Puts dead states behind the last one and returns where they begin.
    fn bury_end(&mut self) -> usize {
        let end = self.len..self.len + ROOM;
        self.columns[end.clone()].fill(0);
        self.rising[end.clone()].fill(0);
        self.falling[end].fill(0);
        self.len
    }
}

impl Constants {
    #[target_feature(enable = "avx512f,popcnt")]
    fn new(level: &Level) -> Self {
        let all = |word: u32| _mm512_set1_epi32(word.cast_signed());
        Self {
            allowed: level.allowed.map(all),
            // Less than 32, as the compiler should know: it would guard every shift against more.
            down: level.down.map(|rows| _mm512_and_si512(all(rows), all(31))),
            lanes: _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
            minus_one: all(u32::MAX),
        }
    }
}

impl Stream {
    /// No lane has anything to do.
    #[target_feature(enable = "avx512f,popcnt")]
    fn dead() -> Self {
        let none = _mm512_setzero_si512();
        Self { columns: none, rising: none, falling: none, free: none }
    }

    /// Gives each lane that has used up its free squares the next state of `from`, beginning with number `at`, and
    /// returns the number after the last that was given. Past the end of the array, lanes are given dead states.
    #[target_feature(enable = "avx512f,popcnt")]
    fn refill(&mut self, from: &States, at: usize, constants: &Constants) -> usize {
        let used_up = _mm512_testn_epi32_mask(self.free, self.free);
        // The i-th lane that is used up takes the i-th of the next sixteen states.
        let take = |kept: __m512i, words: &[u32; CAPACITY + ROOM]| {
            // SAFETY: `at` is at most the length of the array, and there is room for `ROOM` words behind that.
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

    /// Whether a lane has a free square left.
    #[target_feature(enable = "avx512f,popcnt")]
    fn is_alive(&self) -> bool {
        _mm512_test_epi32_mask(self.free, self.free) != 0
    }

    /// Places a queen on the lowest free square of each lane and goes down to the next row. The child of a lane without
    /// free squares is that of a dead state, see the module.
    #[target_feature(enable = "avx512f,popcnt")]
    fn next_child<const SINGLE_STEP: bool>(&mut self, constants: &Constants) -> Child {
        let rest = _mm512_and_si512(self.free, _mm512_add_epi32(self.free, constants.minus_one));
        // The queen is what `free` has and `rest` has not: `word | (free ^ rest)`, `word & !(free ^ rest)`.
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
    /// The lanes that the pruning rule lets through, see [`surviving`](crate::pruning::surviving).
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

    /// With two rows left: how many lanes the pruning rule lets through, and how many completions they have; see
    /// `last_two` of the portable kernel.
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

    /// Appends the lanes of `mask` to an array that has room for a whole vector.
    #[target_feature(enable = "avx512f,popcnt")]
    fn append(&self, mask: __mmask16, to: &mut States, at: usize, constants: &Constants) -> usize {
        let lanes = _mm512_maskz_compress_epi32(mask, constants.lanes);
        debug_assert!(at <= CAPACITY);
        let put = |words: &mut [u32; CAPACITY + ROOM], lane_words: __m512i| {
            let packed = _mm512_permutexvar_epi32(lanes, lane_words);
            // SAFETY: `at` is at most `CAPACITY`, and there is room for `ROOM` words behind that.
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

/// The squares of a row that are neither on a cross queen's line nor on an attacked diagonal:
/// `allowed & !(rising | falling)`.
#[target_feature(enable = "avx512f,popcnt")]
fn off_diagonals(allowed: __m512i, rising: __m512i, falling: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0b0001_0000>(allowed, rising, falling)
}

/// Rising diagonals seen from further down: `above`, seen from the row above, if that is a single step, or else `from`,
/// seen from `down` rows above.
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
