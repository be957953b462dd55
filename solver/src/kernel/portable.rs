//! The portable kernel: the specification of all others.
//!
//! Depth-first over the free rows below a prefix: for each free square of a row, place a queen there and go on with
//! the child if the pruning rule lets it through, which makes it one *node*. The last two rows are not searched but
//! counted in closed form, so queens placed there are no nodes.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::free_rows::{FreeRow, State, bits};
use crate::pruning::surviving;
use crate::{Count, Prefixes};

/// The stop flag is read once for each node with this many rows below it: the trees below are small enough for a
/// stop to be quick (some milliseconds) and large enough for the reads to cost nothing.
const ROWS_BELOW_A_STOP_CHECK: usize = 9;

/// See [`Kernel::count`](super::Kernel::count).
pub(super) fn count(prefixes: &mut Prefixes<'_>, n_subproblems: u64, stop: &AtomicBool) -> Option<Count> {
    let rows = prefixes.rows_below();
    let columns = prefixes.free_rows().columns();
    let mut search = Search { columns, stop, count: Count::default() };
    for _ in 0..n_subproblems {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let Some(prefix) = prefixes.next() else { break };
        match rows {
            [] => search.count.solutions += 1,
            [last] => search.count.solutions += u64::from(prefix.free(last.allowed).count_ones()),
            [row, ..] => search.descend(rows, prefix, prefix.free(row.allowed))?,
        }
    }
    Some(search.count)
}

struct Search<'a> {
    /// The columns without a cross queen.
    columns: u32,
    stop: &'a AtomicBool,
    count: Count,
}

impl Search<'_> {
    /// Counts the completions of `state`, seen from the first of `rows`, of which there are at least two;
    /// `free` are the free squares of that row. Returns `None` if it is to stop.
    fn descend(&mut self, rows: &[FreeRow], state: State, free: u32) -> Option<()> {
        let (row, below) = rows.split_first()?;
        if let [last] = below {
            self.count.solutions += self.last_two(state, free, *row, *last);
            return Some(());
        }
        if below.len() == ROWS_BELOW_A_STOP_CHECK && self.stop.load(Ordering::Relaxed) {
            return None;
        }
        for queen in bits(free) {
            let child = state.with(queen).down(row.step);
            if let Some(next_free) = surviving(below, self.columns, child) {
                self.count.nodes += 1;
                self.descend(below, child, next_free)?;
            }
        }
        Some(())
    }

    /// The completions of a state with two rows left, in closed form.
    ///
    /// Two columns are free, `both`; `upper` and `lower` are the squares of the two rows in them that no diagonal
    /// attacks. If the two columns are as far apart as the two rows, either way to fill them lies on one diagonal.
    /// Otherwise the queens can stand one way if the rows together reach both columns and each has a square, and
    /// the other way as well only if each row reaches both.
    #[inline(always)]
    fn last_two(&self, state: State, upper: u32, row: FreeRow, last: FreeRow) -> u64 {
        let both = self.columns & !state.columns;
        let lower = state.down(row.step).free(last.allowed);
        let on_one_diagonal = both & (both >> row.step) != 0;
        if upper == 0 || lower == 0 || on_one_diagonal {
            return 0;
        }
        u64::from(upper | lower == both) + u64::from(upper & lower == both)
    }
}
