//! The rows that each stage on a card fixes, and the sizes that follow.

/// The rows of each stage for half boards of `m` rows. The kernels are compiled for `m` and `leaf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Rows of a half board.
    pub(crate) m: u32,
    /// Rows of a head.
    pub(crate) head: u32,
    /// Lower rows that a leaf fixes.
    pub(crate) leaf: u32,
}

/// Warps of a block that joins.
pub(crate) const WARPS: u32 = 8;

impl Shape {
    /// Returns the shape for boards of size `n`; `None` if cards do not count them.
    pub(crate) const fn of(n: u8) -> Option<Self> {
        let m = n as u32 / 2;
        let (head, leaf) = match m {
            6..=10 => (m / 2, 2),
            11 => (5, 2),
            12 => (6, 2),
            13 => (8, 3),
            14 => (8, 4),
            _ => return None,
        };
        Some(Self { m, head, leaf })
    }

    /// Returns the number of prefixes of `rows` rows: one digit of base m for each.
    pub(crate) const fn n_prefixes(self, rows: u32) -> u64 {
        (self.m as u64).pow(rows)
    }

    /// Returns the bytes of shared memory of a block of `warps` warps that joins. The kernel's source has the same sum.
    pub(crate) const fn shared_bytes(self, warps: u32) -> u32 {
        let r = self.m - self.leaf;
        let n_tables = if r / 2 < 4 { r / 2 } else { 4 };
        let has_singles = r > 2 * n_tables;
        let tables = n_tables * (r * (r - 1) + 1);
        let region = if tables > 65 { tables } else { 65 };
        let buffer = 136 * (if has_singles { 3 } else { 2 }) / 2;
        4 * (r * r * 32 + region * 32 + warps * buffer + r * r + 8)
    }
}
