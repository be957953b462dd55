//! The pruning rule: decides which children of a node the search keeps.

use crate::free_rows::{FreeRow, RowState};

/// With at most this many rows left, the rule looks at all rows and all columns.
pub(crate) const SEEN_WHOLE: usize = 5;

/// Returns how many of the `n_left` remaining rows the pruning rule looks at.
pub(crate) const fn n_seen(n_left: usize) -> usize {
    match n_left {
        0..=SEEN_WHOLE => n_left,
        6 => 2,
        _ => 1,
    }
}

/// Returns the free squares of the first of `rows` for a child seen from there, or `None` if the child is dropped.
///
/// `rows` are the free rows below the queen just placed, `columns` those without a cross queen. A child is dropped if
/// one of the [rows that the rule looks at](n_seen) has no free square. If it looks at all rows, a child is also
/// dropped if an unfilled column has no free square. Then no completion can exist (forward checking). Other children
/// are *nodes*.
///
/// Most work lies where three to six rows are left, and there a full look pays: at n = 17 it visits three quarters of
/// the nodes of a rule that looks at the next three rows everywhere. With many rows left hardly any test drops a child:
/// one row is enough.
#[inline(always)]
pub(crate) fn surviving(rows: &[FreeRow], columns: u32, child: RowState) -> Option<u32> {
    // Looks at everything without a branch, as the dropping row or column can't be predicted.
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
