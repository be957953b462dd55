//! What a ledger tells about itself.

use std::time::Duration;

use queens_proto::{JobId, WorkerId};
use queens_solver::BoardSize;

use super::Ledger;
use super::job::{Job, Progress};
use crate::store::Phase;

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Its plan is being made.
    Planning,
    /// It waits for a worker.
    Queued,
    /// Workers are counting it.
    Running,
    /// Every subproblem is recorded: its solutions are the number of the board.
    Done,
    /// Somebody gave it up.
    Cancelled,
}

impl JobState {
    /// The name people and programs see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A job as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStatus {
    /// Its name.
    pub id: JobId,
    /// The size of its board.
    pub n: BoardSize,
    /// Where it stands.
    pub state: JobState,
    /// What is recorded of it.
    pub progress: Progress,
    /// How long it has been counted.
    pub active: Duration,
    /// How long the present workers still take for it, if there are any, by estimated work.
    pub seconds_left: Option<f64>,
    /// Workers that hold leases of it.
    pub n_workers: u32,
    /// Recorded spans that a second count has contradicted.
    pub n_disputed: u64,
    /// When it was submitted, in milliseconds since 1970.
    pub created_ms: u64,
}

impl JobStatus {
    /// The recorded share of the estimated work, 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        match self.state {
            JobState::Done => 1.0,
            _ if self.progress.work == 0 => 0.0,
            _ => self.progress.work_recorded as f64 / self.progress.work as f64,
        }
    }
}

/// A worker as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerStatus {
    /// Its run.
    pub id: WorkerId,
    /// Its name.
    pub name: String,
    /// The version of its program.
    pub build: String,
    /// Its kernel.
    pub kernel: String,
    /// Its counting threads.
    pub n_threads: u32,
    /// Whether its connection is open.
    pub connected: bool,
    /// Time since it was last heard of.
    pub silent: Duration,
    /// What all its threads count together, in estimated nodes per second.
    pub rate: f64,
    /// Leases it holds.
    pub n_leases: usize,
    /// Spans recorded from its reports.
    pub n_recorded: u64,
}

impl Ledger {
    /// All jobs, in the order of submission.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.jobs.values().map(|job| self.job_status(job)).collect()
    }

    /// All workers that are connected or may come back.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStatus> {
        let status = |(&id, member): (&WorkerId, &super::Member)| WorkerStatus {
            id,
            name: member.source.worker.clone(),
            build: member.source.build.clone(),
            kernel: member.source.kernel.clone(),
            n_threads: member.n_threads,
            connected: member.connected,
            silent: self.now.saturating_sub(member.heard),
            rate: member.rate.get() * f64::from(member.n_threads),
            n_leases: member.leases.len(),
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
            n_disputed: job.row.n_disputed,
            created_ms: job.row.created_ms,
        }
    }
}
