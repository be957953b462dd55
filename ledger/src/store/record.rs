//! Records, and what else is kept of a span.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{LeaseId, Name, Party};
use queens_solver::{Count, Span};

/// A counted span: the smallest piece of evidence for a total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What was counted.
    pub span: Span,
    /// What it counts to; neither number exceeds [`MAX_COUNT`].
    pub count: Count,
    /// How long one thread took.
    pub duration: Duration,
    /// The lease it was counted under.
    pub lease: LeaseId,
    /// Who counted it, and with what.
    pub source: Arc<Source>,
}

/// The largest solutions or nodes of one record: what a signed 64-bit column holds.
pub const MAX_COUNT: u64 = i64::MAX as u64;

/// The longest duration of one record, a century: far below what a signed 64-bit column holds in microseconds.
pub const MAX_DURATION: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// Who counted a span, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The worker's name.
    pub name: Name,
    /// The version of its program.
    pub build: Name,
    /// Its kernel.
    pub kernel: Name,
    /// Who runs it.
    pub party: Party,
}

impl Source {
    /// Whether both are one worker to everybody, whatever its number, program and kernel.
    pub(crate) fn is_same_worker(&self, other: &Self) -> bool {
        self.party == other.party && self.name == other.name
    }
}

/// A further count of a recorded span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondCount {
    /// What was counted: all of a record.
    pub span: Span,
    /// What it counts to; neither number exceeds [`MAX_COUNT`].
    pub count: Count,
    /// How long one thread took.
    pub duration: Duration,
    /// Who counted it, and with what.
    pub source: Arc<Source>,
    /// When it was reported, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What was decided about a span of which there were different counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The span.
    pub span: Span,
    /// Numbers the verdicts on it from 0.
    pub number: u32,
    /// When it was found, in milliseconds since 1970.
    pub at_ms: u64,
    /// What two parties have counted.
    pub count: Count,
    /// One of them.
    pub source: Arc<Source>,
    /// What it was held against, and lost.
    pub lost: Count,
    /// Who had counted that.
    pub lost_source: Arc<Source>,
}
