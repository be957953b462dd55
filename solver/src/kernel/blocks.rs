//! Blocked depth-first search: what both vector kernels do alike.
//!
//! Each row below the prefix has a small array of states, kept as arrays of words. Expanding a row takes its states,
//! makes their children, and appends those that the pruning rule lets through to the next row's array. When that is
//! nearly full it is expanded first, so memory stays small and inside the second-level cache, while there are always
//! hundreds of states to fill vectors with. When the prefixes are used up, the rows are expanded once more from the top
//! down until nothing is left.
//!
//! At the end of an array stand dead states, without a column to fill: they have no free square, and a child made of
//! one has no free square in its next row, so it never gets through. They need no case of their own.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::LocalKey;

use super::level::Level;
use super::portable;
use crate::board::BoardSize;
use crate::free_rows::RowState;
use crate::prefix::Prefixes;
use crate::span::Count;

/// The most rows there can be below a prefix.
const MOST_ROWS: usize = BoardSize::MAX as usize;

/// The vector instructions of a kernel. A value proves that the processor has them.
pub(super) trait Vectors<const WORDS: usize, const UNTRIED: usize>: Copy {
    /// States that are pushed to one array at most; there is room for dead ones behind so many.
    const CAPACITY: usize;

    /// Empties the array of a level into that of the next, and that into the one after it whenever it is full. Returns
    /// `None` if it is to stop.
    fn expand(search: &mut Search<'_, Self, WORDS, UNTRIED>, level: usize) -> Option<()>;
}

/// The states of one row, seen from it, and room behind them.
#[repr(C, align(64))]
pub(super) struct States<const WORDS: usize, const UNTRIED: usize> {
    /// Those still to be filled.
    pub(super) columns: [u32; WORDS],
    pub(super) rising: [u32; WORDS],
    pub(super) falling: [u32; WORDS],
    /// Free squares that were not tried yet, in a kernel that keeps them.
    pub(super) untried: [u32; UNTRIED],
    pub(super) len: usize,
}

/// One array of states for each row, kept from call to call: a call may be as short as some microseconds.
pub(super) type Arrays<const WORDS: usize, const UNTRIED: usize> = RefCell<Vec<States<WORDS, UNTRIED>>>;

/// A count that is going on.
pub(super) struct Search<'a, V, const WORDS: usize, const UNTRIED: usize> {
    pub(super) vectors: V,
    /// One for each row that is searched: all but the last two.
    pub(super) levels: &'a [Level],
    /// The columns without a cross queen.
    columns: u32,
    /// The states of each of these rows; more than are used.
    pub(super) states: &'a mut [States<WORDS, UNTRIED>],
    stop: &'a AtomicBool,
    pub(super) count: Count,
}

/// Empty arrays for all rows.
pub(super) fn arrays<const WORDS: usize, const UNTRIED: usize>() -> Arrays<WORDS, UNTRIED> {
    RefCell::new((0..MOST_ROWS).map(|_| States::EMPTY).collect())
}

/// See [`Kernel::count`](super::Kernel::count).
pub(super) fn count<V: Vectors<WORDS, UNTRIED>, const WORDS: usize, const UNTRIED: usize>(
    vectors: V,
    arrays: &'static LocalKey<Arrays<WORDS, UNTRIED>>,
    prefixes: &mut Prefixes<'_>,
    n_subproblems: u64,
    stop: &AtomicBool,
) -> Option<Count> {
    let rows = prefixes.rows_below();
    // Two rows are counted in closed form, and there is nothing to search.
    if rows.len() < 3 {
        return portable::count(prefixes, n_subproblems, stop);
    }
    let mut levels = [Level::default(); MOST_ROWS];
    let levels = &mut levels[..rows.len() - 2];
    for (i, level) in levels.iter_mut().enumerate() {
        *level = Level::new(&rows[i..]);
    }
    let columns = prefixes.free_rows().columns();
    arrays.with_borrow_mut(|states| {
        // A search that was stopped or has panicked leaves states behind, which the next one must not count.
        states.iter_mut().for_each(|states| states.len = 0);
        Search { vectors, levels, columns, states, stop, count: Count::default() }
            .run(prefixes, n_subproblems)
    })
}

impl<V: Vectors<WORDS, UNTRIED>, const WORDS: usize, const UNTRIED: usize> Search<'_, V, WORDS, UNTRIED> {
    /// Counts everything, or returns `None` if it is to stop.
    fn run(mut self, prefixes: &mut Prefixes<'_>, n_subproblems: u64) -> Option<Count> {
        let mut left = n_subproblems;
        loop {
            let first = &mut self.states[0];
            while left > 0 && first.len < V::CAPACITY {
                let Some(prefix) = prefixes.next() else {
                    left = 0;
                    break;
                };
                left -= 1;
                // A prefix without a free square has no nodes; it would get a child without a queen.
                if prefix.free(self.levels[0].allowed[0]) != 0 {
                    first.push(RowState { columns: self.columns & !prefix.columns, ..prefix });
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

    /// See [`Vectors::expand`].
    pub(super) fn expand(&mut self, level: usize) -> Option<()> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        V::expand(self, level)
    }
}

impl<const WORDS: usize, const UNTRIED: usize> States<WORDS, UNTRIED> {
    const EMPTY: Self =
        Self { columns: [0; WORDS], rising: [0; WORDS], falling: [0; WORDS], untried: [0; UNTRIED], len: 0 };

    fn push(&mut self, state: RowState) {
        self.columns[self.len] = state.columns;
        self.rising[self.len] = state.rising;
        self.falling[self.len] = state.falling;
        self.len += 1;
    }

    /// Puts so many dead states behind the last one and returns where they begin.
    pub(super) fn bury_end(&mut self, n_dead: usize) -> usize {
        let end = self.len..self.len + n_dead;
        self.columns[end.clone()].fill(0);
        if UNTRIED > 0 {
            self.untried[end].fill(0);
        }
        self.len
    }
}
