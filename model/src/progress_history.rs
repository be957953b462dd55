//! How a job has gone so far: how fast it was counted, and how far its parts are.

use std::time::Duration;

use crate::fraction::Fraction;
use crate::speed::Speed;

/// The most rates, and the most groups of parts, that are told at a time.
pub const MOST_OF_COURSE: usize = 4096;

/// How a job has gone so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgressHistory {
    /// What the rates tell of: from when it was first measured to when it was last measured.
    pub span: Duration,
    /// The rate in even parts of that time, the oldest first; `None` where nobody measured it.
    pub rates: Vec<Option<Speed>>,
    /// The rate over the last ten seconds.
    pub now: Option<Speed>,
    /// The parts of the job as they follow each other in its plan; none if its plan is not made, or if its coordinator is
    /// too busy to tell.
    pub groups: Vec<PartGroup>,
}

/// Parts of a plan that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartGroup {
    /// How many there are.
    pub n_parts: u32,
    /// Those of which all is recorded.
    pub n_done: u32,
    /// Those of which something is recorded, but not all.
    pub n_begun: u32,
    /// The recorded share of their estimated work.
    pub fraction: Fraction,
}
