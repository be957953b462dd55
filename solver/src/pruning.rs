//! The pruning rule: which children of a node a search goes on with.

use crate::free_rows::{FreeRow, RowState};

/// A child with at most this many rows left is looked at as a whole: every row and every column.
pub(crate) const SEEN_WHOLE: usize = 5;

/// How many of the `n_left` rows that are left the pruning rule looks at.
pub(crate) const fn n_seen(n_left: usize) -> usize {
    match n_left {
        0..=SEEN_WHOLE => n_left,
        6 => 2,
        _ => 1,
    }
}

/// The free squares of the first of `rows` for a child seen from there, or `None` if the child is dropped.
///
/// `rows` are the free rows below the queen just placed, `columns` those without a cross queen. A child is dropped if
/// one of the [rows that are looked at](n_seen) has no free square, or if all rows are looked at and a column that is
/// still to be filled has none: then no completion can exist (forward checking). A child that passes is a *node*.
///
/// Most work lies where three to six rows are left, and there a look at everything pays: at n = 17 it visits three
/// quarters of the nodes that a look at the next three rows everywhere does. With many rows left hardly a child is
/// dropped by any test, and one row is enough.
#[inline(always)]
pub(crate) fn surviving(rows: &[FreeRow], columns: u32, child: RowState) -> Option<u32> {
    // All is looked at, without a branch: which row or column stops a child can't be predicted.
    let [first, below @ ..] = rows else { return Some(0) };
    let free = child.free(first.allowed);
    let mut survives = free != 0;
    let (mut reached, mut step) = (free, first.step);
    for row in &below[..n_seen(rows.len()) - 1] {
        let free = child.down(step).free(row.allowed);
        survives &= free != 0;
        reached |= free;
        step += row.step;
    }
    if rows.len() <= SEEN_WHOLE {
        survives &= reached | child.columns == columns | child.columns;
    }
    survives.then_some(free)
}
