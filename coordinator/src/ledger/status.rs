//! What a ledger tells about itself.

use queens_proto::{JobState, JobStatus, WorkerId, WorkerStatus};

use super::Ledger;
use super::job::Job;
use super::session::Member;
use crate::store::Phase;

impl Ledger {
    /// All jobs, in the order of submission.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.jobs.values().map(|job| self.job_status(job)).collect()
    }

    /// All workers that are connected or may come back.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStatus> {
        let status = |(&id, member): (&WorkerId, &Member)| WorkerStatus {
            id,
            name: member.source.worker.clone(),
            build: member.source.build.clone(),
            kernel: member.source.kernel.clone(),
            n_threads: member.n_threads,
            connected: member.connected,
            silent: self.now.saturating_sub(member.heard),
            rate: member.rate.get() * f64::from(member.n_threads),
            n_leases: u32::try_from(member.leases.len()).unwrap_or(u32::MAX),
            n_recorded: member.n_recorded,
        };
        self.workers.iter().map(status).collect()
    }

    fn job_status(&self, job: &Job) -> JobStatus {
        let progress = job.counting.as_ref().map(|counting| counting.progress).unwrap_or_default();
        let n_workers = job.leases_by_worker.len();
        let state = match job.row.phase {
            Phase::Planning => JobState::Planning,
            Phase::Active if n_workers == 0 => JobState::Queued,
            Phase::Active => JobState::Running,
            Phase::Done => JobState::Done,
            Phase::Cancelled => JobState::Cancelled,
        };
        let work_left = progress.work - progress.work_recorded;
        let seconds_left = match state {
            JobState::Done => Some(0.0),
            JobState::Running => self.power.seconds(work_left),
            _ => None,
        };
        JobStatus {
            id: job.row.id,
            n: job.row.n,
            state,
            progress,
            active: job.row.active,
            seconds_left,
            n_workers: u32::try_from(n_workers).unwrap_or(u32::MAX),
            n_verified: job.row.n_verified,
            n_disputed: job.row.n_disputed,
            created_ms: job.row.created_ms,
        }
    }
}
