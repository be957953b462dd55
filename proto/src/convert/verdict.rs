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
            work: verdict.count.work,
            worker: verdict.worker.to_string(),
            kernel: verdict.kernel.to_string(),
            lost_solutions: verdict.lost.solutions,
            lost_work: verdict.lost.work,
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
            count: Count { solutions: verdict.solutions, work: verdict.work },
            worker: Name::of_any(&verdict.worker),
            kernel: Name::of_any(&verdict.kernel),
            lost: Count { solutions: verdict.lost_solutions, work: verdict.lost_work },
            lost_worker: Name::of_any(&verdict.lost_worker),
            lost_kernel: Name::of_any(&verdict.lost_kernel),
        })
    }
}
