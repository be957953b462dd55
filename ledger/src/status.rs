//! What a ledger tells about itself.

use std::sync::Arc;

use queens_messages::{JobId, JobState, JobStatus, Name, WorkerId, WorkerState, WorkerStatus};
use queens_solver::{Plan, Span};

use crate::job::{Counting, Job};
use crate::ledger::Ledger;
use crate::member::Member;
use crate::pace::TimeLeft;
use crate::store::{Coverage, Phase};

/// What is recorded of one cross of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrossStatus {
    /// The subproblems that are recorded.
    pub n_recorded: u64,
    /// Their solutions, not yet weighted.
    pub solutions: u128,
    /// Their nodes.
    pub nodes: u128,
}

impl Ledger {
    /// All jobs, in the order of submission.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.jobs.iter().map(|job| self.job_status(job)).collect()
    }

    /// How many jobs there are, and how many of them are planned and not over.
    #[must_use]
    pub fn census(&self) -> (usize, usize) {
        (self.jobs.len(), self.jobs.n_active())
    }

    /// How many jobs are planned or counted, or wait for that.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.jobs.n_open()
    }

    /// All workers that are connected or may come back.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStatus> {
        let status = |(id, member): (WorkerId, &Member)| WorkerStatus {
            id,
            name: member.source.worker.clone(),
            build: member.source.build.clone(),
            kernel: member.source.kernel.clone(),
            n_threads: member.n_threads,
            connected: member.connected,
            silent: self.now.saturating_sub(member.heard),
            rate: member.told_speed(),
            n_leases: u32::try_from(member.n_leases()).unwrap_or(u32::MAX),
            n_recorded: member.n_recorded,
            state: worker_state(member),
            failure: member.failures.reason.clone(),
            counting: self.counted_by(member),
        };
        self.fleet.members().map(status).collect()
    }

    /// What the first of a worker's threads is at.
    pub(crate) fn counted_by(&self, member: &Member) -> Option<(JobId, Span)> {
        let lease = self.fleet.lease(*member.running.first()?)?;
        Some((lease.job, lease.spans.first()?))
    }

    /// The name of a worker that is connected or may come back.
    #[must_use]
    pub fn worker_name(&self, worker: WorkerId) -> Option<&Name> {
        self.fleet.member(worker).map(|member| &member.source.worker)
    }

    /// The plan of a job, and what is recorded of each of its crosses, if the plan is made.
    #[must_use]
    pub fn crosses(&self, job: JobId) -> Option<(Arc<Plan>, Vec<CrossStatus>)> {
        let counting = self.jobs.get(job)?.counting.as_ref()?;
        let status = |coverage: &Coverage| CrossStatus {
            n_recorded: coverage.recorded.len(),
            solutions: coverage.solutions,
            nodes: coverage.nodes,
        };
        Some((counting.plan.clone(), counting.coverage.iter().map(status).collect()))
    }

    /// Whether what is left of a job that nobody works on has failed on all who could count it.
    pub(crate) fn has_failed(&self, counting: &Counting) -> bool {
        let failed = &counting.failed;
        if failed.is_empty() {
            return false;
        }
        if !counting.free.is_empty() {
            // Those that fail again and again have had their chance.
            return self.fleet.useful().is_empty() && !self.fleet.able().is_empty();
        }
        // A span that may be tried has failed on two workers at most, so that this looks at three.
        let can = self.fleet.useful().iter().any(|&worker| failed.to_try(worker).is_some());
        !failed.are_there_to_try() || (!can && !self.fleet.able().is_empty())
    }

    pub(crate) fn job_status(&self, job: &Job) -> JobStatus {
        let n_workers = self.fleet.n_holders(job.entry.id);
        let state = match job.entry.phase {
            Phase::Planning | Phase::Active if job.entry.paused => JobState::Paused,
            Phase::Planning => JobState::Planning,
            Phase::Active if n_workers == 0 && job.counting.as_ref().is_some_and(|c| self.has_failed(c)) => {
                JobState::Failed
            }
            Phase::Active if n_workers == 0 => JobState::Queued,
            Phase::Active => JobState::Running,
            Phase::Done => JobState::Done,
            Phase::Cancelled => JobState::Cancelled,
        };
        let failed = job.counting.as_ref().map(|counting| &counting.failed);
        let time_left = match state {
            JobState::Done => Some(TimeLeft::default()),
            JobState::Running => job.pace.time_left(),
            _ => None,
        };
        JobStatus {
            progress: job.progress(),
            active: job.active(self.now),
            seconds_left: time_left.map(|left| left.expected),
            seconds_left_low: time_left.map(|left| left.low),
            seconds_left_high: time_left.map(|left| left.high),
            n_workers: u32::try_from(n_workers).unwrap_or(u32::MAX),
            n_verified: job.entry.n_verified,
            n_disputed: job.entry.n_disputed,
            created_ms: job.entry.created_ms,
            started_ms: job.entry.started_ms,
            finished_ms: job.entry.finished_ms,
            priority: job.entry.priority,
            n_failed: failed.map_or(0, |failed| failed.len() as u64),
            n_given_up: failed.map_or(0, |failed| failed.n_given_up() as u64),
            failure: failed.and_then(|failed| failed.reason.clone()),
            ..JobStatus::new(job.entry.id, job.entry.n, state)
        }
    }
}

fn worker_state(member: &Member) -> WorkerState {
    if member.draining {
        WorkerState::Draining
    } else if member.blocked {
        WorkerState::Blocked
    } else if member.failures.are_too_many() {
        WorkerState::Failing
    } else if member.stuck {
        WorkerState::Stuck
    } else {
        WorkerState::Ready
    }
}
