//! The pruning rule: which children of a node a search goes on with.

use crate::free_rows::{FreeRow, State};

/// The free squares of the first of `rows` for a child seen from there, or `None` if the child is dropped: one of
/// the next three rows has no free square left, so no completion can exist (forward checking).
///
/// `rows` are the free rows below the queen just placed; rows that don't exist can't be empty. A child that passes
/// is a *node*. Looking at one row only visits 1.6 times as many nodes at n = 16, and a test of every column and
/// row saves another fifth at several times the cost.
#[inline(always)]
pub(crate) fn surviving(rows: &[FreeRow], child: State) -> Option<u32> {
    let [first, below @ ..] = rows else { return Some(0) };
    let free = child.free(first.allowed);
    if free == 0 {
        return None;
    }
    if let [second, below @ ..] = below {
        if child.down(first.step).free(second.allowed) == 0 {
            return None;
        }
        if let [third, ..] = below
            && child.down(first.step + second.step).free(third.allowed) == 0
        {
            return None;
        }
    }
    Some(free)
}
