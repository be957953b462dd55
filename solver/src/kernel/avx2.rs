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
//! At the end of the array stand dead states, without a column to fill: they have no free square, and a child made of
//! one has no free square in its next row, so it never gets through. They need no case of their own.

use std::arch::x86_64::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::level::Level;
use super::portable;
use crate::Count;
use crate::free_rows::{FreeRow, State};
use crate::prefix::Prefixes;
use crate::pruning::{SEEN_WHOLE, n_seen};

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

/// The states of one row, seen from it; `columns` are those still to be filled.
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
        // What a search has left that was stopped, or has panicked, must not be counted by the next one.
        states.iter_mut().for_each(|states| states.len = 0);
        let mut search =
            Search { rows, columns: prefixes.free_rows().columns(), states, stop, count: Count::default() };
        // SAFETY: `Kernel` makes this kernel available only where `is_available` has found the features.
        unsafe { search.run(prefixes, n_subproblems) }
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

/// The constants of a level, in every lane.
#[derive(Clone, Copy)]
struct Constants {
    /// The allowed squares of the row itself and of those that the pruning rule looks at.
    allowed: [__m256i; SEEN_WHOLE + 1],
    /// Rows down to the next free row, and from there to those after it that the rule looks at.
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
                    first.push(State { columns: self.columns & !prefix.columns, ..prefix });
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
        match self.rows.len() - row - 1 {
            2 => {
                self.count_last(row);
                Some(())
            }
            n_below => match n_seen(n_below) {
                ..=1 => self.expand_seeing::<1>(row),
                2 => self.expand_seeing::<2>(row),
                3 => self.expand_seeing::<3>(row),
                4 => self.expand_seeing::<4>(row),
                _ => self.expand_seeing::<SEEN_WHOLE>(row),
            },
        }
    }

    /// [`expand`](Self::expand) for a row at which the pruning rule looks at `SEEN` rows.
    #[target_feature(enable = "avx2,popcnt")]
    fn expand_seeing<const SEEN: usize>(&mut self, row: usize) -> Option<()> {
        let constants = Constants::new(&Level::new(&self.rows[row..]));
        self.pass::<true, SEEN>(row, &constants)?;
        while self.states[row].len > 0 {
            self.pass::<false, SEEN>(row, &constants)?;
        }
        Some(())
    }

    /// Empties the array of the last row that is searched: its children have two rows left and are counted.
    #[target_feature(enable = "avx2,popcnt")]
    fn count_last(&mut self, row: usize) {
        let constants = Constants::new(&Level::new(&self.rows[row..]));
        self.pass_last::<true>(row, &constants);
        while self.states[row].len > 0 {
            self.pass_last::<false>(row, &constants);
        }
    }

    /// Gives each state of a row's array one child and keeps those that have squares left. In the first pass over an
    /// array, that is all free squares.
    #[target_feature(enable = "avx2,popcnt")]
    fn pass<const FIRST: bool, const SEEN: usize>(
        &mut self,
        row: usize,
        constants: &Constants,
    ) -> Option<()> {
        let len = self.states[row].bury_end();
        let (mut at, mut kept) = (0, 0);
        loop {
            let (upper, lower) = self.states.split_at_mut(row + 1);
            let (from, to) = (&mut upper[row], &mut lower[0]);
            let mut end = to.len;
            while at < len && end <= CAPACITY {
                let child;
                (child, kept) = from.turn::<FIRST>(at, kept, constants);
                at += LANES;
                end = to.append(end, child, child.dropped::<SEEN>(constants));
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

    /// The same for the last row that is searched.
    #[target_feature(enable = "avx2,popcnt")]
    fn pass_last<const FIRST: bool>(&mut self, row: usize, constants: &Constants) {
        let from = &mut self.states[row];
        let len = from.bury_end();
        let (mut at, mut kept) = (0, 0);
        let (mut nodes, mut solutions) = (0_u64, 0_u64);
        while at < len {
            let child;
            (child, kept) = from.turn::<FIRST>(at, kept, constants);
            at += LANES;
            let (survives, completions) = child.complete(constants);
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
        self.columns[end.clone()].fill(0);
        self.untried[end].fill(0);
        self.len
    }

    /// Places a queen for each of the eight states from `at` and goes down to the next row. States that have squares
    /// left are stored behind the first `kept`, of which the new number is returned.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn turn<const FIRST: bool>(&mut self, at: usize, kept: usize, constants: &Constants) -> (Lanes, usize) {
        let states = Lanes {
            columns: load(&self.columns, at),
            rising: load(&self.rising, at),
            falling: load(&self.falling, at),
        };
        let untried = if FIRST { states.free(constants.allowed[0]) } else { load(&self.untried, at) };
        let rest = _mm256_and_si256(untried, _mm256_add_epi32(untried, _mm256_set1_epi32(-1)));
        let queen = _mm256_xor_si256(untried, rest);
        let done = zeros(rest);
        let order = lanes_outside(done);
        store(&mut self.columns, kept, states.columns, order);
        store(&mut self.rising, kept, states.rising, order);
        store(&mut self.falling, kept, states.falling, order);
        store(&mut self.untried, kept, rest, order);
        (states.with(queen).down(constants.down[0]), kept + LANES - done.count_ones() as usize)
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

impl Constants {
    #[target_feature(enable = "avx2,popcnt")]
    fn new(level: &Level) -> Self {
        let all = |word: u32| _mm256_set1_epi32(word.cast_signed());
        Self {
            allowed: level.allowed.map(all),
            // Less than 32, as the compiler should know: it would guard every shift against more.
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

    /// The lanes that the pruning rule drops, see [`surviving`](crate::pruning::surviving).
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
        // With more rows left than the rule looks at, two are looked at or one.
        if SEEN < 3 {
            return mask_of(empty);
        }
        !mask_of(_mm256_andnot_si256(empty, _mm256_cmpeq_epi32(reached, self.columns))) & 0xff
    }

    /// With two rows left: how many lanes the pruning rule lets through, and how many completions they have; see
    /// `last_two` of the portable kernel.
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

/// The lanes whose word is zero.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn zeros(words: __m256i) -> u32 {
    mask_of(_mm256_cmpeq_epi32(words, _mm256_setzero_si256()))
}

/// The lanes whose highest bit is set.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn mask_of(words: __m256i) -> u32 {
    _mm256_movemask_ps(_mm256_castsi256_ps(words)).cast_unsigned()
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
