//! The example kernel of CONTRIBUTING.md. Only these tests use it, and compare it with the portable kernel.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::free_rows::{FreeRow, FreeRows, RowState, bits};
use crate::prefix::Prefixes;
use crate::pruning::surviving;
use crate::{BoardSize, Count, Cross, Kernel};

/// See [`Kernel::count`](super::Kernel::count).
pub(super) fn count(prefixes: &mut Prefixes<'_>, n_subproblems: u64, stop: &AtomicBool) -> Option<Count> {
    let mut search = Search { columns: prefixes.free_rows().columns, stop, count: Count::default() };
    for _ in 0..n_subproblems {
        let Some(prefix) = prefixes.next() else { break };
        search.go_on(prefixes.rows_below(), prefix)?;
    }
    Some(search.count)
}

struct Search<'a> {
    columns: u32,
    stop: &'a AtomicBool,
    count: Count,
}

impl Search<'_> {
    /// Adds what is below a state, or returns `None` if it is to stop.
    fn go_on(&mut self, rows: &[FreeRow], state: RowState) -> Option<()> {
        let [row, below @ ..] = rows else {
            self.count.solutions += 1;
            return Some(());
        };
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        for queen in bits(state.free(row.allowed)) {
            let child = state.with(queen).down(row.step);
            if surviving(below, self.columns, child).is_some() {
                self.count.work += u64::from(below.len() >= 2);
                self.go_on(below, child)?;
            }
        }
        Some(())
    }
}

#[test]
fn the_example_counts_what_the_portable_kernel_does() {
    for n in BoardSize::range(0, 11) {
        for cross in Cross::all(n) {
            let free = FreeRows::new(n, cross.queens());
            for (depth, from, n_subproblems) in [(0, 0, 1), (1, 0, u64::MAX), (2, 3, 5)] {
                let mut walk = Prefixes::new(&free, depth);
                walk.seek(from);
                let never = AtomicBool::new(false);
                let expected = Kernel::Portable.count(&mut walk.clone(), n_subproblems, &never);
                assert_eq!(count(&mut walk, n_subproblems, &never), expected, "{n}, depth {depth}");
            }
        }
    }
}

#[test]
fn the_example_stops() {
    let n = BoardSize::new(20).expect("a board size");
    let free = FreeRows::new(n, Cross::all(n)[0].queens());
    assert_eq!(count(&mut Prefixes::new(&free, 0), u64::MAX, &AtomicBool::new(true)), None);
}
