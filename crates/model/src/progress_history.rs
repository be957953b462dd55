//! A job's progress over time: its rates so far, and the progress of its parts.

use std::time::Duration;

use crate::fraction::Fraction;
use crate::speed::Speed;

/// The most rates, and the most groups of parts, in one answer.
pub const MOST_HISTORY_POINTS: usize = 4096;

/// A job's progress over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgressHistory {
    /// The time that the rates cover, from the first to the last measurement.
    pub span: Duration,
    /// The mean rates in equal intervals of that time, the oldest first; `None` where nothing was measured.
    pub rates: Vec<Option<Speed>>,
    /// The rate over the last ten seconds.
    pub now: Option<Speed>,
    /// Groups of parts in the plan's order; none if there is no plan yet, or if the coordinator is too busy to answer.
    pub groups: Vec<PartGroup>,
}

/// Consecutive parts of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartGroup {
    /// Number of parts.
    pub n_parts: u32,
    /// Number of completely recorded parts.
    pub n_done: u32,
    /// Number of partially recorded parts.
    pub n_begun: u32,
    /// The recorded share of their estimated work.
    pub fraction: Fraction,
}
