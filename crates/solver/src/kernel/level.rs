//! Constants of one row of the search, the same for all its states.

use crate::free_rows::FreeRow;
use crate::pruning::{SEEN_WHOLE, n_seen};

/// The row that a vector kernel expands, and the rows below it that the pruning rule looks at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// The number of rows left, this one included.
    pub(super) n_left: usize,
    /// The number of rows below this one that the rule looks at.
    pub(super) n_seen: usize,
    /// Whether this row and those that the rule looks at are adjacent, which only the AVX-512 kernel asks.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "its kernel is missing"))]
    pub(super) single_steps: bool,
    /// The allowed squares of the row and of those that the rule looks at.
    pub(super) allowed: [u32; SEEN_WHOLE + 1],
    /// Rows down to the next free row, and from there to the later rows that the rule looks at.
    pub(super) down: [u32; SEEN_WHOLE],
}

impl Level {
    /// Makes the level of the first of `rows`, the free rows that are left.
    pub(super) fn new(rows: &[FreeRow]) -> Self {
        let [row, below @ ..] = rows else { return Self::default() };
        let n_seen = n_seen(below.len());
        let single_steps = rows.iter().take(n_seen).all(|row| row.step == 1);
        let mut level = Self { n_left: rows.len(), n_seen, single_steps, ..Self::default() };
        level.allowed[0] = row.allowed;
        level.down[0] = row.step.into();
        let mut distance = 0;
        for (i, seen) in below[..n_seen].iter().enumerate() {
            level.allowed[i + 1] = seen.allowed;
            if i > 0 {
                level.down[i] = distance;
            }
            distance += u32::from(seen.step);
        }
        level
    }
}
