//! Whether two passes over a board agree.

use std::fmt;

use crate::jobs::counting::Counting;

/// Crosses that people are told of by their numbers.
const MOST_TOLD: usize = 5;

/// In what two complete passes over a board differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PassMismatch {
    /// In nothing, or they are not both complete.
    #[default]
    Nothing,
    /// In the solutions of these crosses.
    Crosses(Vec<u32>),
    /// In the solutions of all together, of passes by different methods: nobody knows where.
    Total,
}

impl PassMismatch {
    /// In what these passes differ, of which both are complete. By one method each cross has as many solutions in both;
    /// by two methods all together have. Looks at all crosses.
    pub(crate) fn between(first: &Counting, second: &Counting) -> Self {
        if first.plan().method() != second.plan().method() {
            let is_equal = first.progress().solutions == second.progress().solutions;
            return if is_equal { Self::Nothing } else { Self::Total };
        }
        let pairs = first.coverage().iter().zip(second.coverage());
        let differs = (0..).zip(pairs).filter(|(_, (first, second))| first.solutions != second.solutions);
        let crosses: Vec<u32> = differs.map(|(cross, _)| cross).collect();
        if crosses.is_empty() { Self::Nothing } else { Self::Crosses(crosses) }
    }

    /// The numbers of the crosses in which they differ or, if nobody knows which those are, of all of so many.
    pub(crate) fn crosses(&self, n_parts: usize) -> Vec<u32> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Crosses(crosses) => crosses.clone(),
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
            Self::Crosses(crosses) => {
                let told: Vec<String> = crosses.iter().take(MOST_TOLD).map(u32::to_string).collect();
                let noun = if crosses.len() == 1 { "cross" } else { "crosses" };
                write!(f, "the two passes differ in the solutions of {noun} {}", told.join(", "))?;
                match crosses.len().saturating_sub(MOST_TOLD) {
                    0 => Ok(()),
                    rest => write!(f, " and {rest} more"),
                }
            }
        }
    }
}
