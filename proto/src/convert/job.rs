//! Conversions of a job's status and its contributions.

use std::time::Duration;

use queens_model::{
    Contribution, Fraction, InvalidJobIdentity, JobId, JobIdentity, JobState, JobStatus, Name, Priority,
    Progress, Recounting, TimeLeft,
};
use queens_solver::BoardSize;

use super::check::{InvalidMessage, decimal, malformed, method, millis, some_line};
use super::terms::{terms, told_terms};
use crate::pb;

impl From<JobState> for pb::JobState {
    fn from(state: JobState) -> Self {
        match state {
            JobState::Planning => Self::Planning,
            JobState::Queued => Self::Queued,
            JobState::Running => Self::Running,
            JobState::Paused => Self::Paused,
            JobState::Done => Self::Done,
            JobState::Cancelled => Self::Cancelled,
            JobState::Failed => Self::Failed,
            JobState::Verifying => Self::Verifying,
            JobState::Disputed => Self::Disputed,
            JobState::Damaged => Self::Damaged,
        }
    }
}

fn job_state(state: i32) -> Result<JobState, InvalidMessage> {
    let known = JobState::ALL.into_iter().find(|known| pb::JobState::from(*known) as i32 == state);
    known.ok_or(InvalidMessage::Missing("a job's state"))
}

impl From<JobStatus> for pb::Job {
    fn from(job: JobStatus) -> Self {
        let terms = told_terms(&job.terms, job.second, job.state == JobState::Done);
        Self {
            job: job.id.0,
            n: job.n.get().into(),
            state: pb::JobState::from(job.state).into(),
            solutions: job.progress.solutions.to_string(),
            work: job.progress.work.to_string(),
            subproblems: job.progress.n_subproblems.to_string(),
            recorded: job.progress.n_recorded.to_string(),
            estimated_work: job.progress.estimated_work.to_string(),
            estimated_work_recorded: job.progress.estimated_work_recorded.to_string(),
            active_ms: millis(job.active),
            seconds_left: job.time_left.map(TimeLeft::expected),
            workers: job.n_workers,
            verified: job.n_verified,
            disputed: job.n_disputed,
            recounting: Some(pb::Recounting {
                open: job.recounting.n_open,
                work_left: job.recounting.work_left.to_string(),
                cases: job.recounting.n_cases,
                records: job.recounting.n_records,
                parties: job.recounting.n_parties,
            }),
            created_ms: job.created_ms,
            started_ms: job.started_ms,
            finished_ms: job.finished_ms,
            priority: job.priority.get(),
            failed: job.n_failed,
            given_up: job.n_given_up,
            failure: job.failure.unwrap_or_default(),
            plans_before: job.n_plans_before,
            plan_fraction: job.plan_fraction.map(Fraction::get),
            fundamental: job.fundamental.map(|count| count.to_string()).unwrap_or_default(),
            seconds_left_low: job.time_left.map(TimeLeft::low),
            seconds_left_high: job.time_left.map(TimeLeft::high),
            method: pb::Method::from(job.method).into(),
            waits_for: job.waits_for.unwrap_or_default(),
            terms: Some(terms),
            parts: job.n_parts,
            pass_mismatch: job.pass_mismatch.unwrap_or_default(),
            identity: job.identity.map(|identity| identity.to_string()).unwrap_or_default(),
            other_method: job.other_method.map_or(0, |method| pb::Method::from(method).into()),
        }
    }
}

impl TryFrom<pb::Job> for JobStatus {
    type Error = InvalidMessage;

    fn try_from(job: pb::Job) -> Result<Self, InvalidMessage> {
        let progress = Progress {
            solutions: decimal("the number of solutions", &job.solutions)?,
            work: decimal("the work", &job.work)?,
            n_subproblems: decimal("the number of subproblems", &job.subproblems)?,
            n_recorded: decimal("the number of recorded subproblems", &job.recorded)?,
            estimated_work: decimal("the estimated work", &job.estimated_work)?,
            estimated_work_recorded: decimal("the recorded work", &job.estimated_work_recorded)?,
        };
        let time_left = time_left(job.seconds_left_low, job.seconds_left, job.seconds_left_high)?;
        let (terms, second) = terms(job.terms.ok_or(InvalidMessage::Missing("a job's terms"))?)?;
        Ok(Self {
            id: JobId(job.job),
            identity: identity(&job.identity)?,
            n: BoardSize::try_from(job.n)?,
            method: method(job.method)?,
            state: job_state(job.state)?,
            waits_for: some_line(&job.waits_for),
            progress,
            active: Duration::from_millis(job.active_ms),
            time_left,
            n_workers: job.workers,
            n_verified: job.verified,
            n_disputed: job.disputed,
            recounting: recounting(job.recounting.ok_or(InvalidMessage::Missing("a job's recounting"))?)?,
            created_ms: job.created_ms,
            started_ms: job.started_ms,
            finished_ms: job.finished_ms,
            priority: Priority::try_from(job.priority)?,
            n_failed: job.failed,
            n_given_up: job.given_up,
            failure: some_line(&job.failure),
            n_plans_before: job.plans_before,
            plan_fraction: job.plan_fraction.map(Fraction::try_from).transpose()?,
            fundamental: match job.fundamental.as_str() {
                "" => None,
                count => Some(decimal("the number of fundamental solutions", count)?),
            },
            terms,
            n_parts: job.parts,
            pass_mismatch: some_line(&job.pass_mismatch),
            second,
            other_method: match job.other_method {
                0 => None,
                other => Some(method(other)?),
            },
        })
    }
}

/// Parses a job's identity; `None` if the text is empty.
fn identity(told: &str) -> Result<Option<JobIdentity>, InvalidMessage> {
    if told.is_empty() {
        return Ok(None);
    }
    let identity = told.parse().map(Some);
    identity.map_err(|InvalidJobIdentity| malformed("a job's identity", told, "32 hexadecimal digits"))
}

fn recounting(told: pb::Recounting) -> Result<Recounting, InvalidMessage> {
    Ok(Recounting {
        n_open: told.open,
        work_left: decimal("the work that is to be counted again", &told.work_left)?,
        n_cases: told.cases,
        n_records: told.records,
        n_parties: told.parties,
    })
}

/// Converts the remaining time, which must have all three numbers or none.
fn time_left(
    low: Option<f64>,
    expected: Option<f64>,
    high: Option<f64>,
) -> Result<Option<TimeLeft>, InvalidMessage> {
    match (low, expected, high) {
        (None, None, None) => Ok(None),
        (Some(low), Some(expected), Some(high)) => Ok(Some(TimeLeft::new(low, expected, high)?)),
        _ => Err(InvalidMessage::Missing("a part of the time left")),
    }
}

impl From<&Contribution> for pb::Contribution {
    fn from(contribution: &Contribution) -> Self {
        Self {
            worker: contribution.worker.to_string(),
            kernel: contribution.kernel.to_string(),
            spans: contribution.n_spans,
            work: contribution.work.to_string(),
            time_us: u64::try_from(contribution.time.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

impl TryFrom<pb::Contribution> for Contribution {
    type Error = InvalidMessage;

    fn try_from(contribution: pb::Contribution) -> Result<Self, InvalidMessage> {
        Ok(Self {
            worker: Name::of_any(&contribution.worker),
            kernel: Name::of_any(&contribution.kernel),
            n_spans: contribution.spans,
            work: decimal("the number of nodes", &contribution.work)?,
            time: Duration::from_micros(contribution.time_us),
        })
    }
}
