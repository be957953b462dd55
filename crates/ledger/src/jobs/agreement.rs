//! Compares the two passes over a board.

use std::fmt;

use crate::jobs::counting::Counting;

/// The number of differing parts that a message names.
const MOST_TOLD: usize = 5;

/// The difference between two complete passes over a board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PassMismatch {
    /// None, or at least one pass is incomplete.
    #[default]
    Nothing,
    /// The solutions of these parts differ.
    Parts(Vec<u32>),
    /// The totals of passes by different methods differ; the parts in question are unknown.
    Total,
}

impl PassMismatch {
    /// Compares two passes. By one method, each part that both have must have equal solutions; by two methods, the
    /// totals must be equal, once both are complete. Looks at all parts.
    pub(crate) fn between(first: &Counting, second: &Counting) -> Self {
        if first.plan().method() != second.plan().method() {
            let is_equal = first.progress().solutions == second.progress().solutions;
            let is_known = first.is_complete() && second.is_complete();
            return if is_equal || !is_known { Self::Nothing } else { Self::Total };
        }
        let pairs = first.coverage.iter().zip(&second.coverage);
        let differs = (0..).zip(pairs).filter(|(_, (first, second))| first.solutions != second.solutions);
        let parts = differs.map(|(part, _)| part);
        let parts: Vec<u32> = parts.filter(|part| first.has_part(*part) && second.has_part(*part)).collect();
        if parts.is_empty() { Self::Nothing } else { Self::Parts(parts) }
    }

    /// Returns the numbers of the parts that differ; of all `n_parts` if those are unknown.
    pub(crate) fn parts(&self, n_parts: usize) -> Vec<u32> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Parts(parts) => parts.clone(),
            Self::Total => (0..).take(n_parts).collect(),
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

impl fmt::Display for PassMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Total => f.write_str("the two passes differ in the number of all solutions"),
            Self::Parts(parts) => {
                let told: Vec<String> = parts.iter().take(MOST_TOLD).map(u32::to_string).collect();
                let noun = if parts.len() == 1 { "part" } else { "parts" };
                write!(f, "the two passes differ in the solutions of {noun} {}", told.join(", "))?;
                match parts.len().saturating_sub(MOST_TOLD) {
                    0 => Ok(()),
                    rest => write!(f, " and {rest} more"),
                }
            }
        }
    }
}
