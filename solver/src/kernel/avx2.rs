//! The AVX2 kernel: eight states at a time.
//!
//! **Blocked depth-first search.** Each row below the prefix has a small array of states, kept as arrays of words.
//! Expanding a row takes its states, makes their children, and appends those that the pruning rule lets through to the
//! next row's array. When that is nearly full it is expanded first, so memory stays small and inside the second-level
//! cache, while there are always hundreds of states to fill vectors with. When the prefixes are used up, the rows are
//! expanded once more from the top down until nothing is left.
//!
//! **In passes.** The states of one vector have different numbers of children. So an array is worked through in passes:
//! each gives every state one child, its queen on the lowest square not tried yet, and keeps the states that have
//! squares left. They move up to the front of the same array, over states that were read already, and are what the next
//! pass works through.
//!
//! ```text
//!   pass 1    a b c d e f g h …    →    kept  a d e g …       first children of a to h
//!   pass 2    a d e g …            →    kept  d …             second children of a, d, e, g
//! ```
//!
//! All lanes work but for those of one vector at the end of each pass, and no vector waits for the one before it. (The
//! AVX-512 kernel refills lanes one by one, which it has instructions for; here that loses, see `docs/KERNEL.md`.)
//!
//! **Packing lanes.** There is no compress instruction. The lanes that go on are permuted to the front by a table of
//! lane numbers for each mask, and the whole vector is stored: what follows the packed lanes is overwritten by the next
//! store.
//!
//! At the end of the array stand dead states, whose columns are all attacked: they have no free square, and a child
//! made of one has no free square in its next row, so it never gets through. They need no case of their own.

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

/// Room behind an array: one vector that is appended to a full one, and one of dead states.
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
    /// The free squares that were not tried yet; only of states that were kept by a pass.
    untried: Words,
    /// At most `CAPACITY + LANES`.
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
    /// The states of each of these rows; more than are used.
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

    /// Gives each state of a row's array one child and keeps those that have squares left. In the first pass over an
    /// array, that is all free squares.
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

    /// The same for the last row that is searched: its children have two rows left and are counted.
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

    /// Puts a vector of dead states behind the last one and returns where it begins.
    fn bury_end(&mut self) -> usize {
        let end = self.len..self.len + LANES;
        self.columns[end.clone()].fill(u32::MAX);
        self.untried[end].fill(0);
        self.len
    }

    /// Places a queen for each of the eight states from `at` and goes down to the next row. States that have squares
    /// left are stored behind the first `kept`, of which the new number is returned.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn turn<const FIRST: bool>(&mut self, at: usize, kept: usize, level: &Level) -> (Lanes, usize) {
        let states = Lanes {
            columns: load(&self.columns, at),
            rising: load(&self.rising, at),
            falling: load(&self.falling, at),
        };
        let untried = if FIRST { states.free(level.allowed[0]) } else { load(&self.untried, at) };
        let rest = _mm256_and_si256(untried, _mm256_add_epi32(untried, _mm256_set1_epi32(-1)));
        let queen = _mm256_xor_si256(untried, rest);
        let done = zeros(rest);
        let order = lanes_outside(done);
        store(&mut self.columns, kept, states.columns, order);
        store(&mut self.rising, kept, states.rising, order);
        store(&mut self.falling, kept, states.falling, order);
        store(&mut self.untried, kept, rest, order);
        (states.with(queen).down(level.down[0]), kept + LANES - done.count_ones() as usize)
    }

    /// Appends the lanes that are not in `dropped` to an array that has room for a whole vector.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn append(&mut self, at: usize, child: Lanes, dropped: u32) -> usize {
        let order = lanes_outside(dropped);
        store(&mut self.columns, at, child.columns, order);
        store(&mut self.rising, at, child.rising, order);
        store(&mut self.falling, at, child.falling, order);
        at + LANES - dropped.count_ones() as usize
    }
}

impl Level {
    /// Of the first of `rows`.
    #[target_feature(enable = "avx2,popcnt")]
    fn new(rows: &[FreeRow], columns: u32) -> Self {
        let all = |word: u32| _mm256_set1_epi32(word.cast_signed());
        let row =
            |i: usize| rows.get(i).copied().unwrap_or(FreeRow { allowed: u32::MAX, ..FreeRow::default() });
        let step = |i| u32::from(row(i).step);
        Self {
            allowed: [0, 1, 2, 3].map(|i| all(row(i).allowed)),
            down: [step(0), step(1), step(1) + step(2)].map(|rows| {
                // Less than 32, as the compiler should know: it would guard every shift against more.
                _mm256_and_si256(all(rows), all(31))
            }),
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

/// The words of the eight states from `at`.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn load(words: &Words, at: usize) -> __m256i {
    debug_assert!(at + LANES <= words.len());
    // SAFETY: `at` is less than the length of an array, `CAPACITY + LANES` at most, and there are `CAPACITY + 2 * LANES`
    // words.
    unsafe { _mm256_loadu_si256(words.as_ptr().add(at).cast()) }
}

/// Stores the lanes of a vector from `at` in the given order.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn store(words: &mut Words, at: usize, lanes: __m256i, order: __m256i) {
    debug_assert!(at + LANES <= words.len());
    let packed = _mm256_permutevar8x32_epi32(lanes, order);
    // SAFETY: `at` is at most `CAPACITY` where states are appended, and where they are kept it is at most the place they
    // were just loaded from. In both cases a vector has room.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().add(at).cast(), packed) };
}

/// The numbers of the lanes outside `mask`, a set of the eight lanes, the lowest first.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn lanes_outside(mask: u32) -> __m256i {
    let lanes = &LANES_OUTSIDE[mask as usize & 0xff].0;
    // SAFETY: it reads the eight words, which are aligned to a vector.
    unsafe { _mm256_load_si256(lanes.as_ptr().cast()) }
}

#[repr(align(32))]
#[derive(Clone, Copy)]
struct LaneNumbers([u32; LANES]);

/// For each set of lanes, those outside it, the lowest first; then zeros.
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
