//! The shape of a join: the numbers of rows for heads, groups, leaves and tables, and the memory of its lists.

use crate::board::BoardSize;

/// The rows that each stage of the join fixes, for a board of `2 m` or `2 m + 1` rows. See the [drawing](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Rows of heads, in both half boards.
    pub(crate) head: u8,
    /// First rows of a list of upper placements, whose queens a sieve uses.
    pub(crate) upper: u8,
    /// First rows of a group of lower placements.
    pub(crate) group: u8,
    /// Lower rows whose queens are fixed in a leaf.
    pub(crate) leaf: u8,
    /// Lower rows whose queens are not looked up in a table.
    pub(crate) run: u8,
    /// Whether all upper placements are kept for other lower queens.
    pub(crate) keeps_upper: bool,
    /// Whether a request for one second lower queen makes all of them, and keeps their lists for other upper queens.
    pub(crate) keeps_lower: bool,
}

impl Shape {
    /// Returns whether a board has a shape. A footprint must leave eight of a word's 64 bits.
    pub(crate) fn is_for(n: BoardSize) -> bool {
        (10..=29).contains(&n.get())
    }

    /// Returns the shape for a board.
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

    /// Makes a shape with these upper, group and leaf rows, and at least `head` rows of heads.
    pub(crate) fn with(
        m: u8,
        (upper, group, leaf, head): (u8, u8, u8, u8),
        keeps_upper: bool,
        keeps_lower: bool,
    ) -> Self {
        debug_assert!((1..=3).contains(&group) && group <= leaf && (group > 1 || upper == 1));
        // Work depends on two lower queens, so the second must not be in a table.
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

/// Returns the memory limit of a thread's lists, in bytes: the measured maximum over the largest sets of columns found
/// (3 MB at n = 20, 18 at 22, 78 at 24, 108 at 26, 68 at 27 and 398 at 28), and some reserve. Absent for boards without
/// a vectored join.
pub(crate) fn most_memory(n: BoardSize) -> Option<usize> {
    const MIB: usize = 1 << 20;
    Some(match n.get() {
        30.. => return None,
        ..=21 => 16 * MIB,
        22..=23 => 48 * MIB,
        24..=25 => 128 * MIB,
        26..=27 => 192 * MIB,
        28..=29 => 512 * MIB,
    })
}
