//! Conversions of verdicts on disputed spans.

use queens_model::{Name, VerdictStatus};
use queens_solver::Count;

use super::check::InvalidMessage;
use crate::pb;

impl From<&VerdictStatus> for pb::Verdict {
    fn from(verdict: &VerdictStatus) -> Self {
        Self {
            span: Some(verdict.span.into()),
            number: verdict.number,
            at_ms: verdict.at_ms,
            solutions: verdict.count.solutions,
            nodes: verdict.count.nodes,
            worker: verdict.worker.to_string(),
            kernel: verdict.kernel.to_string(),
            lost_solutions: verdict.lost.solutions,
            lost_nodes: verdict.lost.nodes,
            lost_worker: verdict.lost_worker.to_string(),
            lost_kernel: verdict.lost_kernel.to_string(),
        }
    }
}

impl TryFrom<pb::Verdict> for VerdictStatus {
    type Error = InvalidMessage;

    fn try_from(verdict: pb::Verdict) -> Result<Self, InvalidMessage> {
        Ok(Self {
            span: verdict.span.ok_or(InvalidMessage::Missing("the span of a verdict"))?.try_into()?,
            number: verdict.number,
            at_ms: verdict.at_ms,
            count: Count { solutions: verdict.solutions, nodes: verdict.nodes },
            worker: Name::of_any(&verdict.worker),
            kernel: Name::of_any(&verdict.kernel),
            lost: Count { solutions: verdict.lost_solutions, nodes: verdict.lost_nodes },
            lost_worker: Name::of_any(&verdict.lost_worker),
            lost_kernel: Name::of_any(&verdict.lost_kernel),
        })
    }
}
