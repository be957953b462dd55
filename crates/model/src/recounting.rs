//! The progress of a job's recounts, and their verdicts.

use queens_solver::{Count, Span};

use crate::name::Name;

/// The progress of a job's recounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recounting {
    /// Records to recount, drawn or in doubt, on which no two names agree yet. More may be drawn.
    pub n_open: u64,
    /// The expected remaining work of all recounts, in nodes.
    pub work_left: u128,
    /// Records with different counts.
    pub n_cases: u64,
    /// The job's records that were examined since the coordinator started.
    pub n_records: u64,
    /// The connected parties that can count the job.
    pub n_parties: u64,
}

/// A verdict on a span with different counts: the count that two names agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictStatus {
    /// The span.
    pub span: Span,
    /// Number of the verdict on this span, from 0.
    pub number: u32,
    /// Time of the verdict, in milliseconds since 1970.
    pub at_ms: u64,
    /// The count of the two names.
    pub count: Count,
    /// One of the two names.
    pub worker: Name,
    /// Its kernel.
    pub kernel: Name,
    /// The count that lost.
    pub lost: Count,
    /// The name that counted it.
    pub lost_worker: Name,
    /// Its kernel.
    pub lost_kernel: Name,
}
