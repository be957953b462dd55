//! What was decided about spans.

use crate::VerdictStatus;
use serde::Serialize;

/// A span of which there were different counts, and on which two parties have agreed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Verdict {
    /// The cross.
    cross: u32,
    /// The first subproblem.
    from: String,
    /// The one after the last.
    to: String,
    /// Numbers the verdicts on the span from 0.
    number: u32,
    /// When it was found, in milliseconds since 1970.
    at_ms: u64,
    /// What two parties have counted.
    solutions: String,
    /// Its work.
    nodes: String,
    /// One of the two.
    worker: String,
    /// Its kernel.
    kernel: String,
    /// What it was held against, and lost.
    lost_solutions: String,
    /// Its work.
    lost_nodes: String,
    /// Who had counted that.
    lost_worker: String,
    /// Its kernel.
    lost_kernel: String,
}

impl From<&VerdictStatus> for Verdict {
    fn from(verdict: &VerdictStatus) -> Self {
        Self {
            cross: verdict.span.cross(),
            from: verdict.span.from().to_string(),
            to: verdict.span.to().to_string(),
            number: verdict.number,
            at_ms: verdict.at_ms,
            solutions: verdict.count.solutions.to_string(),
            nodes: verdict.count.nodes.to_string(),
            worker: verdict.worker.to_string(),
            kernel: verdict.kernel.to_string(),
            lost_solutions: verdict.lost.solutions.to_string(),
            lost_nodes: verdict.lost.nodes.to_string(),
            lost_worker: verdict.lost_worker.to_string(),
            lost_kernel: verdict.lost_kernel.to_string(),
        }
    }
}
