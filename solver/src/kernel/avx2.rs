//! The AVX2 kernel: eight states at a time.

use std::arch::x86_64::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::portable;
use crate::free_rows::{FreeRow, State};
use crate::{Count, Prefixes};

/// Words in a vector.
const LANES: usize = 8;

/// States of one row at most.
const CAPACITY: usize = 2048;

/// Room behind an array: whole vectors are written at its end, and dead states stand there.
const ROOM: usize = 2 * LANES;

/// The most rows there can be below a prefix.
const MOST_ROWS: usize = 32;

/// One word of each state of a row.
type Words = [u32; CAPACITY + ROOM];

/// The states of one row, seen from it.
#[repr(C, align(64))]
struct States {
    columns: Words,
    rising: Words,
    falling: Words,
    /// The free squares that were not tried yet; not known of a state before its first turn.
    untried: Words,
    len: usize,
}

thread_local! {
    /// One array of states for each row, kept from call to call: a call may be as short as some microseconds.
    static STATES: RefCell<Vec<States>> = RefCell::new((0..MOST_ROWS).map(|_| States::EMPTY).collect());
}

/// Whether this processor can run the kernel.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")
}

/// See [`Kernel::count`](super::Kernel::count). Must only be called if the kernel [`is_available`].
pub(super) fn count(prefixes: &mut Prefixes<'_>, n_subproblems: u64, stop: &AtomicBool) -> Option<Count> {
    let rows = prefixes.rows_below();
    // Two rows are counted in closed form, and there is nothing to search.
    if rows.len() < 3 {
        return portable::count(prefixes, n_subproblems, stop);
    }
    STATES.with_borrow_mut(|states| {
        let mut search =
            Search { rows, columns: prefixes.free_rows().columns(), states, stop, count: Count::default() };
        // SAFETY: `Kernel` makes this kernel available only where `is_available` has found the features.
        let finished = unsafe { search.run(prefixes, n_subproblems) };
        if finished.is_none() {
            // What a stopped search leaves must not be counted by the next one.
            states.iter_mut().for_each(|states| states.len = 0);
        }
        finished
    })
}

struct Search<'a> {
    /// The rows below the prefix.
    rows: &'a [FreeRow],
    /// The columns without a cross queen.
    columns: u32,
    /// The states of each row; more than are used.
    states: &'a mut [States],
    stop: &'a AtomicBool,
    count: Count,
}

/// What is the same for all states of a row, in every lane.
#[derive(Clone, Copy)]
struct Level {
    /// The allowed squares of the row itself and of the next three; full rows beyond the last.
    allowed: [__m256i; 4],
    /// Rows down from it to the next free row, and from there to the two rows after it.
    down: [__m256i; 3],
    /// The columns without a cross queen.
    columns: __m256i,
}

/// Eight states.
#[derive(Clone, Copy)]
struct Lanes {
    columns: __m256i,
    rising: __m256i,
    falling: __m256i,
}

impl Search<'_> {
    /// Counts everything, or returns `None` if it is to stop.
    #[target_feature(enable = "avx2,popcnt")]
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
                // A prefix without a free square has no nodes; it would get a child without a queen.
                if prefix.free(self.rows[0].allowed) != 0 {
                    first.push(prefix);
                }
            }
            if left == 0 {
                break;
            }
            self.expand(0)?;
        }
        for level in 0..self.rows.len() - 2 {
            self.expand(level)?;
        }
        Some(self.count)
    }

    /// Empties the array of a row into that of the next, and that into the one after it whenever it is full.
    #[target_feature(enable = "avx2,popcnt")]
    fn expand(&mut self, row: usize) -> Option<()> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let level = Level::new(&self.rows[row..], self.columns);
        if row + 3 == self.rows.len() {
            self.pass_last::<true>(row, &level);
            while self.states[row].len > 0 {
                self.pass_last::<false>(row, &level);
            }
        } else {
            self.pass::<true>(row, &level)?;
            while self.states[row].len > 0 {
                self.pass::<false>(row, &level)?;
            }
        }
        Some(())
    }

    /// One child of each state.
    #[target_feature(enable = "avx2,popcnt")]
    fn pass<const FIRST: bool>(&mut self, row: usize, level: &Level) -> Option<()> {
        let len = self.states[row].bury_end();
        let (mut at, mut kept) = (0, 0);
        loop {
            let (upper, lower) = self.states.split_at_mut(row + 1);
            let (from, to) = (&mut upper[row], &mut lower[0]);
            let mut end = to.len;
            while at < len && end <= CAPACITY {
                let child;
                (child, kept) = from.turn::<FIRST>(at, kept, level);
                at += LANES;
                end = to.append(end, child, child.dropped(level));
            }
            self.count.nodes += (end - to.len) as u64;
            to.len = end;
            if at >= len {
                break;
            }
            self.expand(row + 1)?;
        }
        self.states[row].len = kept;
        Some(())
    }

    #[target_feature(enable = "avx2,popcnt")]
    fn pass_last<const FIRST: bool>(&mut self, row: usize, level: &Level) {
        let from = &mut self.states[row];
        let len = from.bury_end();
        let (mut at, mut kept) = (0, 0);
        let (mut nodes, mut solutions) = (0_u64, 0_u64);
        while at < len {
            let child;
            (child, kept) = from.turn::<FIRST>(at, kept, level);
            at += LANES;
            let (survives, completions) = child.complete(level);
            nodes += u64::from(survives);
            solutions += u64::from(completions);
        }
        from.len = kept;
        self.count.nodes += nodes;
        self.count.solutions += solutions;
    }
}

impl States {
    const EMPTY: Self = Self {
        columns: [0; CAPACITY + ROOM],
        rising: [0; CAPACITY + ROOM],
        falling: [0; CAPACITY + ROOM],
        untried: [0; CAPACITY + ROOM],
        len: 0,
    };

    fn push(&mut self, state: State) {
        self.columns[self.len] = state.columns;
        self.rising[self.len] = state.rising;
        self.falling[self.len] = state.falling;
        self.len += 1;
    }

    /// Puts dead states behind the last one and returns where they begin.
    fn bury_end(&mut self) -> usize {
        let end = self.len..self.len + LANES;
        self.columns[end.clone()].fill(u32::MAX);
        self.untried[end].fill(0);
        self.len
    }

    /// Places a queen for each of the eight states from `at` and keeps those that have squares left, behind
    /// the `kept` first ones.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn turn<const FIRST: bool>(&mut self, at: usize, kept: usize, level: &Level) -> (Lanes, usize) {
        let parent = Lanes {
            columns: load(&self.columns, at),
            rising: load(&self.rising, at),
            falling: load(&self.falling, at),
        };
        let untried = if FIRST { parent.free(level.allowed[0]) } else { load(&self.untried, at) };
        let rest = _mm256_and_si256(untried, _mm256_add_epi32(untried, _mm256_set1_epi32(-1)));
        let queen = _mm256_xor_si256(untried, rest);
        let done = zeros(rest);
        let lanes = lanes_outside(done);
        store(&mut self.columns, kept, parent.columns, lanes);
        store(&mut self.rising, kept, parent.rising, lanes);
        store(&mut self.falling, kept, parent.falling, lanes);
        store(&mut self.untried, kept, rest, lanes);
        (parent.with(queen).down(level.down[0]), kept + LANES - done.count_ones() as usize)
    }

    /// Appends the lanes that are not in `dropped` to an array that has room for a whole vector.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn append(&mut self, at: usize, child: Lanes, dropped: u32) -> usize {
        let lanes = lanes_outside(dropped);
        store(&mut self.columns, at, child.columns, lanes);
        store(&mut self.rising, at, child.rising, lanes);
        store(&mut self.falling, at, child.falling, lanes);
        at + LANES - dropped.count_ones() as usize
    }
}

impl Level {
    #[target_feature(enable = "avx2,popcnt")]
    fn new(rows: &[FreeRow], columns: u32) -> Self {
        let all = |word: u32| _mm256_set1_epi32(word.cast_signed());
        let row =
            |i: usize| rows.get(i).copied().unwrap_or(FreeRow { allowed: u32::MAX, ..FreeRow::default() });
        let step = |i| u32::from(row(i).step);
        Self {
            allowed: [0, 1, 2, 3].map(|i| all(row(i).allowed)),
            down: [step(0), step(1), step(1) + step(2)].map(all),
            columns: all(columns),
        }
    }
}

impl Lanes {
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn with(self, queen: __m256i) -> Self {
        Self {
            columns: _mm256_or_si256(self.columns, queen),
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
        let attacked = _mm256_or_si256(_mm256_or_si256(self.columns, self.rising), self.falling);
        _mm256_andnot_si256(attacked, allowed)
    }

    /// The lanes that the pruning rule drops.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn dropped(self, level: &Level) -> u32 {
        let [_, next, second, third] = level.allowed;
        let fewest = _mm256_min_epu32(self.free(next), self.down(level.down[1]).free(second));
        zeros(_mm256_min_epu32(fewest, self.down(level.down[2]).free(third)))
    }

    /// With two rows left: how many lanes the pruning rule lets through, and how many completions they have; see
    /// `last_two` of the portable kernel.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn complete(self, level: &Level) -> (u32, u32) {
        let upper = self.free(level.allowed[1]);
        let lower = self.down(level.down[1]).free(level.allowed[2]);
        let survives = !zeros(_mm256_min_epu32(upper, lower)) & 0xff;
        let both = _mm256_andnot_si256(self.columns, level.columns);
        let apart = zeros(_mm256_and_si256(both, _mm256_srlv_epi32(both, level.down[1])));
        let open = survives & apart;
        let one_way = open & zeros(_mm256_xor_si256(_mm256_or_si256(upper, lower), both));
        let other_way = open & zeros(_mm256_xor_si256(_mm256_and_si256(upper, lower), both));
        (survives.count_ones(), one_way.count_ones() + other_way.count_ones())
    }
}

/// The lanes whose word is zero.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn zeros(words: __m256i) -> u32 {
    let zero = _mm256_cmpeq_epi32(words, _mm256_setzero_si256());
    _mm256_movemask_ps(_mm256_castsi256_ps(zero)).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn load(words: &Words, at: usize) -> __m256i {
    debug_assert!(at <= CAPACITY + LANES);
    unsafe { _mm256_loadu_si256(words.as_ptr().add(at).cast()) }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn store(words: &mut Words, at: usize, lanes: __m256i, order: __m256i) {
    debug_assert!(at <= CAPACITY + LANES);
    let packed = _mm256_permutevar8x32_epi32(lanes, order);
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().add(at).cast(), packed) };
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn lanes_outside(mask: u32) -> __m256i {
    let lanes = &LANES_OUTSIDE.0[mask as usize & 0xff];
    unsafe { _mm256_load_si256(lanes.as_ptr().cast()) }
}

#[repr(align(64))]
struct LaneTable([[u32; LANES]; 256]);

/// For each set of lanes, those outside it, the lowest first.
static LANES_OUTSIDE: LaneTable = {
    let mut table = [[0; LANES]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut n) = (0, 0);
        while lane < LANES {
            if mask >> lane & 1 == 0 {
                table[mask][n] = lane as u32;
                n += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    LaneTable(table)
};
