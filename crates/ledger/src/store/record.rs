//! Records, second counts and verdicts of spans.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{LeaseId, Name, Party};
use queens_solver::{Count, Span};

/// A counted span: the smallest piece of evidence for a total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The span.
    pub span: Span,
    /// Its count; neither number exceeds [`MAX_COUNT`].
    pub count: Count,
    /// How long one thread took.
    pub duration: Duration,
    /// The lease it was counted under.
    pub lease: LeaseId,
    /// The worker that counted it.
    pub source: Arc<Source>,
}

/// The most solutions or nodes of one record: the limit of a signed 64-bit column.
pub const MAX_COUNT: u64 = i64::MAX as u64;

/// The longest duration of one record, a century: far below the limit of a signed 64-bit column in microseconds.
pub const MAX_DURATION: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// A worker with its program, kernel and party, as the source of a count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The worker's name.
    pub name: Name,
    /// The version of its program.
    pub build: Name,
    /// Its kernel.
    pub kernel: Name,
    /// Its party.
    pub party: Party,
}

impl Source {
    /// Returns the source of counts by the coordinator itself, with the version of its program and its kernel.
    #[must_use]
    pub fn coordinator(build: Name, kernel: Name) -> Self {
        Self { name: Name::of_any("coordinator"), build, kernel, party: Party::COORDINATOR }
    }

    /// Whether both have the same party and name, whatever their number, program and kernel.
    pub(crate) fn is_same_worker(&self, other: &Self) -> bool {
        self.party == other.party && self.name == other.name
    }
}

/// A second count of a recorded span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondCount {
    /// The span: all of a record.
    pub span: Span,
    /// Its count; neither number exceeds [`MAX_COUNT`].
    pub count: Count,
    /// How long one thread took.
    pub duration: Duration,
    /// The worker that counted it.
    pub source: Arc<Source>,
    /// When it was reported, in milliseconds since 1970.
    pub at_ms: u64,
}

/// The decision about a span with different counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The span.
    pub span: Span,
    /// The number of the verdict on this span, from 0.
    pub number: u32,
    /// When it was reached, in milliseconds since 1970.
    pub at_ms: u64,
    /// The count on which two parties agree.
    pub count: Count,
    /// One of the workers that made this count.
    pub source: Arc<Source>,
    /// The count that lost.
    pub lost: Count,
    /// The worker that made the count that lost.
    pub lost_source: Arc<Source>,
}

/// Merges two records. Returns `None` if the second does not begin where the first ends, or the sums do not fit.
pub(crate) fn merged(first: &Record, second: &Record) -> Option<Record> {
    let adjacent = first.span.part() == second.span.part() && first.span.to() == second.span.from();
    let count: Count = first.count.checked_add(second.count)?;
    let duration = first.duration.checked_add(second.duration)?;
    if !adjacent || first.source != second.source || !can_be_recorded(count, duration) {
        return None;
    }
    let span = Span::new(first.span.part(), first.span.from(), second.span.to()).ok()?;
    Some(Record { span, count, duration, ..second.clone() })
}

/// Whether a store can hold these numbers. A record that the store refuses would block all further ones.
pub(crate) fn can_be_recorded(count: Count, duration: Duration) -> bool {
    count.solutions <= MAX_COUNT && count.work <= MAX_COUNT && duration <= MAX_DURATION
}
