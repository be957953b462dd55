//! Verdicts on disputed spans as JSON.

use crate::VerdictStatus;
use serde::Serialize;

/// A verdict on a span with different counts: the count that two parties agree on.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Verdict {
    /// The part's number.
    part: u32,
    /// The first subproblem.
    from: String,
    /// The subproblem after the last.
    to: String,
    /// Number of the verdict on this span, from 0.
    number: u32,
    /// Time of the verdict, in milliseconds since 1970.
    at_ms: u64,
    /// The solutions that two parties counted.
    solutions: String,
    /// The work that they counted.
    work: String,
    /// The name of one of the two workers.
    worker: String,
    /// Its kernel.
    kernel: String,
    /// The solutions of the count that lost.
    lost_solutions: String,
    /// The work of the count that lost.
    lost_work: String,
    /// The name of the worker that counted it.
    lost_worker: String,
    /// Its kernel.
    lost_kernel: String,
}

impl From<&VerdictStatus> for Verdict {
    fn from(verdict: &VerdictStatus) -> Self {
        Self {
            part: verdict.span.part(),
            from: verdict.span.from().to_string(),
            to: verdict.span.to().to_string(),
            number: verdict.number,
            at_ms: verdict.at_ms,
            solutions: verdict.count.solutions.to_string(),
            work: verdict.count.work.to_string(),
            worker: verdict.worker.to_string(),
            kernel: verdict.kernel.to_string(),
            lost_solutions: verdict.lost.solutions.to_string(),
            lost_work: verdict.lost.work.to_string(),
            lost_worker: verdict.lost_worker.to_string(),
            lost_kernel: verdict.lost_kernel.to_string(),
        }
    }
}
