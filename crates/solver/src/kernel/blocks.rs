//! Blocked depth-first search, shared by all vector kernels.
//!
//! Each row below the prefix has a small array of states, kept as arrays of words. Expanding a row takes its states,
//! makes their children, and appends those that the pruning rule lets through to the next row's array. A nearly full
//! array is expanded first. So memory stays small and inside the second-level cache, and hundreds of states are always
//! ready to fill vectors. After the last prefix, all rows are expanded once more from the top down.
//!
//! Dead states, without a column to fill, stand behind the end of an array. They have no free square, and neither has a
//! child made of one in its next row, so it is always dropped. They need no special case.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::LocalKey;

use super::level::Level;
use super::portable;
use crate::board::BoardSize;
use crate::free_rows::RowState;
use crate::prefix::Prefixes;
use crate::span::Count;

/// The most rows below a prefix.
const MOST_ROWS: usize = BoardSize::MAX as usize;

/// The vector instructions of a kernel. A value proves that the processor has them.
pub(super) trait Vectors<const WORDS: usize, const UNTRIED: usize>: Copy {
    /// The most states pushed to one array; dead states fit behind them.
    const CAPACITY: usize;

    /// Empties the array of a level into the next level's, and expands that whenever it is full. `None` if stopped.
    fn expand(search: &mut Search<'_, Self, WORDS, UNTRIED>, level: usize) -> Option<()>;
}

/// The states of one row, seen from it, and room behind them.
#[repr(C, align(64))]
pub(super) struct States<const WORDS: usize, const UNTRIED: usize> {
    /// The columns still to be filled.
    pub(super) columns: [u32; WORDS],
    pub(super) rising: [u32; WORDS],
    pub(super) falling: [u32; WORDS],
    /// Untried free squares, in a kernel that keeps them.
    pub(super) untried: [u32; UNTRIED],
    pub(super) len: usize,
}

/// One array of states for each row, kept between calls, as a call may take only some microseconds.
pub(super) type Arrays<const WORDS: usize, const UNTRIED: usize> = RefCell<Vec<States<WORDS, UNTRIED>>>;

/// A count in progress.
pub(super) struct Search<'a, V, const WORDS: usize, const UNTRIED: usize> {
    pub(super) vectors: V,
    /// One level for each searched row: all rows except the last two.
    pub(super) levels: &'a [Level],
    columns: u32,
    /// The states of each of these rows; there are more arrays than rows.
    pub(super) states: &'a mut [States<WORDS, UNTRIED>],
    stop: &'a AtomicBool,
    pub(super) count: Count,
}

/// Makes empty arrays for all rows.
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
    // Two rows are counted in closed form, without a search.
    if rows.len() < 3 {
        return portable::count(prefixes, n_subproblems, stop);
    }
    let mut levels = [Level::default(); MOST_ROWS];
    let levels = &mut levels[..rows.len() - 2];
    for (i, level) in levels.iter_mut().enumerate() {
        *level = Level::new(&rows[i..]);
    }
    let columns = prefixes.free_rows().columns;
    arrays.with_borrow_mut(|states| {
        // A stopped or panicked search leaves states behind, which the next one must not count.
        states.iter_mut().for_each(|states| states.len = 0);
        Search { vectors, levels, columns, states, stop, count: Count::default() }
            .run(prefixes, n_subproblems)
    })
}

impl<V: Vectors<WORDS, UNTRIED>, const WORDS: usize, const UNTRIED: usize> Search<'_, V, WORDS, UNTRIED> {
    /// Counts everything, or returns `None` if stopped.
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
                // A prefix without a free square has no nodes, and would get a child without a queen.
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

    /// Puts `n_dead` dead states behind the last state and returns their start.
    pub(super) fn bury_end(&mut self, n_dead: usize) -> usize {
        let end = self.len..self.len + n_dead;
        self.columns[end.clone()].fill(0);
        if UNTRIED > 0 {
            self.untried[end].fill(0);
        }
        self.len
    }
}
