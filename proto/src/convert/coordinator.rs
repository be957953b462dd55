//! Conversions of what a coordinator tells operators of itself: its status, events, audit entries and verdicts.

use std::time::Duration;

use queens_model::{AuditEntry, CoordinatorStatus, Event, EventKind, JobId, Name, VerdictStatus};
use queens_solver::Count;

use super::check::{InvalidMessage, millis, one_line, some_line};
use crate::pb;

/// The most refusals in a coordinator's status.
const MOST_REFUSALS: usize = 16;

impl From<CoordinatorStatus> for pb::Coordinator {
    fn from(coordinator: CoordinatorStatus) -> Self {
        Self {
            version: coordinator.version.to_string(),
            uptime_ms: millis(coordinator.uptime),
            store: coordinator.store.to_string(),
            store_error: coordinator.store_error.unwrap_or_default(),
            refuses: coordinator.refuses,
            slowest_step_us: u64::try_from(coordinator.slowest_step.as_micros()).unwrap_or(u64::MAX),
            // The handler of the call sets these two.
            now_ms: 0,
            role: String::new(),
        }
    }
}

impl From<pb::Coordinator> for CoordinatorStatus {
    fn from(coordinator: pb::Coordinator) -> Self {
        Self {
            version: Name::of_any(&coordinator.version),
            uptime: Duration::from_millis(coordinator.uptime_ms),
            store: Name::of_any(&coordinator.store),
            store_error: some_line(&coordinator.store_error),
            refuses: coordinator
                .refuses
                .iter()
                .take(MOST_REFUSALS)
                .map(|refusal| one_line(refusal))
                .collect(),
            slowest_step: Duration::from_micros(coordinator.slowest_step_us),
        }
    }
}

impl From<EventKind> for pb::EventKind {
    fn from(kind: EventKind) -> Self {
        match kind {
            EventKind::Job => Self::Job,
            EventKind::Lease => Self::Lease,
            EventKind::Failure => Self::Failure,
            EventKind::Store => Self::Store,
            EventKind::Worker => Self::Worker,
        }
    }
}

impl From<&Event> for pb::Event {
    fn from(event: &Event) -> Self {
        Self {
            number: event.number,
            at_ms: event.at_ms,
            kind: pb::EventKind::from(event.kind).into(),
            job: event.job.map_or(0, |job| job.0),
            text: event.text.clone(),
        }
    }
}

impl TryFrom<pb::Event> for Event {
    type Error = InvalidMessage;

    fn try_from(event: pb::Event) -> Result<Self, InvalidMessage> {
        let kind = EventKind::ALL.into_iter().find(|known| pb::EventKind::from(*known) as i32 == event.kind);
        let kind = kind.ok_or(InvalidMessage::Missing("an event's kind"))?;
        let job = (event.job != 0).then_some(JobId(event.job));
        Ok(Self { number: event.number, at_ms: event.at_ms, kind, job, text: one_line(&event.text) })
    }
}

impl From<AuditEntry> for pb::AuditEntry {
    fn from(audit_entry: AuditEntry) -> Self {
        let AuditEntry { number, at_ms, who, party, role, peer, what, outcome } = audit_entry;
        let party = party.map(|party| party.to_string()).unwrap_or_default();
        Self { number, at_ms, who, role, peer, what, outcome, party }
    }
}

impl From<pb::AuditEntry> for AuditEntry {
    fn from(audit_entry: pb::AuditEntry) -> Self {
        let pb::AuditEntry { number, at_ms, who, role, peer, what, outcome, party } = audit_entry;
        let party = party.parse().ok();
        let [who, role, peer, what, outcome] = [who, role, peer, what, outcome].map(|text| one_line(&text));
        Self { number, at_ms, who, party, role, peer, what, outcome }
    }
}

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
