//! Which rows of a placement are fixed first, and which are looked up in tables.

use crate::board::BoardSize;

/// How the placements of both halves are put in order, for a board of `2 m` rows or one more.
///
/// ```text
///   lower half, m = 12        row 1  2 | 3 | 4 | 5 6  7 8  9 10  11 12
///                             group      leaf run  four tables
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The rows of both halves' heads.
    pub(crate) head: u8,
    /// Upper rows whose queens are fixed when lower placements are sifted.
    pub(crate) upper: u8,
    /// Lower rows whose queens the placements of a group have in common.
    pub(crate) group: u8,
    /// Lower rows whose queens are fixed in a leaf.
    pub(crate) leaf: u8,
    /// Lower rows whose queens are not looked up in a table.
    pub(crate) run: u8,
    /// Whether all upper placements are kept for other lower queens.
    pub(crate) keeps_upper: bool,
    /// Whether the lower placements of all second queens are made at once where one is asked for, and kept for other
    /// upper queens.
    pub(crate) keeps_lower: bool,
}

impl Shape {
    /// Whether there is a shape for a board: words have 64 bits, of which a footprint leaves eight.
    pub(crate) fn is_for(n: BoardSize) -> bool {
        (10..=29).contains(&n.get())
    }

    /// The shape for a board.
    pub(crate) fn of(n: BoardSize) -> Self {
        let m = n.get() / 2;
        let (upper, group, leaf, head) = match m {
            ..=10 => (1, 1, 1, m / 2),
            11 => (1, 2, 2, 5),
            12 => (2, 2, 2, 6),
            13 => (2, 2, 3, 7),
            _ => (3, 3, 4, 8),
        };
        Self::with(m, (upper, group, leaf, head), m <= 12, m <= 13)
    }

    /// A shape with these upper, group and leaf rows, and at least so many rows of heads.
    pub(crate) fn with(
        m: u8,
        (upper, group, leaf, head): (u8, u8, u8, u8),
        keeps_upper: bool,
        keeps_lower: bool,
    ) -> Self {
        debug_assert!((1..=3).contains(&group) && group <= leaf && (group > 1 || upper == 1));
        // Work is told by two lower queens, so the second is none that is looked up.
        let n_tables = ((m - leaf.max(2)) / 2).min(4);
        let run = m - 2 * n_tables;
        Self {
            head: head.max(run).max(leaf),
            upper,
            group,
            leaf,
            run,
            keeps_upper,
            keeps_lower: keeps_lower && group > 1,
        }
    }
}
