//! Which rows of a placement are fixed first, and which are looked up in tables.

/// How the placements of both halves are put in order, for a board of `2 m` rows or one more.
///
/// ```text
///   lower half, m = 12        row 1  2 | 3 | 4 | 5 6  7 8  9 10  11 12
///                             group      leaf run  four tables
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// The rows of both halves' heads.
    pub(super) head: u8,
    /// Upper rows whose queens are fixed when lower placements are sifted.
    pub(super) upper: u8,
    /// Lower rows whose queens the placements of a group have in common.
    pub(super) group: u8,
    /// Lower rows whose queens are fixed in a leaf.
    pub(super) leaf: u8,
    /// Lower rows whose queens are not looked up in a table.
    pub(super) run: u8,
}

impl Shape {
    pub(super) fn new(m: u8, upper: u8, group: u8, leaf: u8, head: u8) -> Self {
        let tables = ((m - leaf) / 2).min(4);
        let run = m - 2 * tables;
        Self { head: head.max(run).max(leaf).max(upper), upper, group, leaf, run }
    }
}
