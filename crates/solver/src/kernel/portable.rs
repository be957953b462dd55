//! The portable kernel: the specification of all others.
//!
//! It places a queen on each free square of each state of a row. If the pruning rule lets the child through, it is a
//! *node*, and the search goes on there. The last two rows are counted in closed form, without nodes.
//!
//! The states of each row wait in a small array, which is emptied into the next row's when it is full: depth-first in
//! blocks. The order does not change the tree, but the time: every child is written behind the array's end, and the end
//! moves if the child is let through. A recursion would branch on this, and that branch can't be predicted.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::BoardSize;
use crate::free_rows::{FreeRow, RowState, bits};
use crate::prefix::Prefixes;
use crate::pruning::surviving;
use crate::span::Count;

/// The most states of one row.
const CAPACITY: usize = 256;

/// The most children of one state.
const MOST_CHILDREN: usize = BoardSize::MAX as usize;

/// See [`Kernel::count`](super::Kernel::count).
pub(super) fn count(prefixes: &mut Prefixes<'_>, n_subproblems: u64, stop: &AtomicBool) -> Option<Count> {
    let rows = prefixes.rows_below();
    let states = vec![States::EMPTY; rows.len()];
    let columns = prefixes.free_rows().columns;
    let mut search = Search { rows, columns, states, stop, count: Count::default() };
    for _ in 0..n_subproblems {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let Some(prefix) = prefixes.next() else { break };
        match rows {
            [] => search.count.solutions += 1,
            [last] => search.count.solutions += u64::from(prefix.free(last.allowed).count_ones()),
            _ => search.push(prefix)?,
        }
    }
    for row in 0..rows.len().saturating_sub(1) {
        search.expand(row)?;
    }
    Some(search.count)
}

/// States seen from the same row.
#[derive(Clone)]
struct States {
    states: [RowState; CAPACITY],
    len: usize,
}

struct Search<'a> {
    /// The rows below the prefix.
    rows: &'a [FreeRow],
    /// The columns without a cross queen.
    columns: u32,
    /// The states of each row.
    states: Vec<States>,
    stop: &'a AtomicBool,
    count: Count,
}

impl States {
    const EMPTY: Self = Self { states: [RowState::EMPTY; CAPACITY], len: 0 };
}

impl Search<'_> {
    /// Adds a prefix to the states of the first row.
    fn push(&mut self, prefix: RowState) -> Option<()> {
        if self.states[0].len == CAPACITY {
            self.expand(0)?;
        }
        let first = &mut self.states[0];
        first.states[first.len] = prefix;
        first.len += 1;
        Some(())
    }

    /// Empties the array of a row, which has at least one row below it, into the next row's. Expands that whenever it
    /// is full. Returns `None` if stopped.
    fn expand(&mut self, number: usize) -> Option<()> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let (row, below) = self.rows[number..].split_first()?;
        let len = mem::take(&mut self.states[number].len);
        if let [last] = below {
            let mut solutions = 0;
            for &state in &self.states[number].states[..len] {
                solutions += self.last_two(state, state.free(row.allowed), *row, *last);
            }
            self.count.solutions += solutions;
            return Some(());
        }
        let mut at = 0;
        while at < len {
            let (upper, lower) = self.states.split_at_mut(number + 1);
            let (from, to) = (&upper[number].states[..len], &mut lower[0]);
            let mut end = to.len;
            while at < len && end <= CAPACITY - MOST_CHILDREN {
                let state = from[at];
                at += 1;
                for queen in bits(state.free(row.allowed)) {
                    let child = state.with(queen).down(row.step);
                    to.states[end] = child;
                    end += usize::from(surviving(below, self.columns, child).is_some());
                }
            }
            self.count.work += (end - to.len) as u64;
            to.len = end;
            if at < len {
                self.expand(number + 1)?;
            }
        }
        Some(())
    }

    /// Counts the completions of a state with two rows left, in closed form.
    ///
    /// Two columns are free, `both`; `upper` and `lower` are the squares of the two rows in them that no diagonal
    /// attacks. If the two columns are as far apart as the two rows, either way to fill them lies on one diagonal.
    /// Otherwise one way is possible if the rows together reach both columns and each has a square. The other way is
    /// possible too only if each row reaches both.
    #[inline(always)]
    fn last_two(&self, state: RowState, upper: u32, row: FreeRow, last: FreeRow) -> u64 {
        let both = self.columns & !state.columns;
        let lower = state.down(row.step).free(last.allowed);
        let on_one_diagonal = both & (both >> row.step) != 0;
        if upper == 0 || lower == 0 || on_one_diagonal {
            return 0;
        }
        u64::from(upper | lower == both) + u64::from(upper & lower == both)
    }
}
