//! The data of a coordinator, its jobs and its workers.

use std::time::Instant;

use queens_model::{
    Contribution, Event, FleetSpeed, JobId, JobStatus, Name, ProgressHistory, VerdictStatus, WorkerStatus,
};
use queens_proto::client::{Greeting, Problem};

/// The data on the screen, which the poller must request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The job whose progress history is shown.
    pub(super) job: Option<JobId>,
    /// The numbers of rates and groups of parts that fit on the screen.
    pub(super) n_rates: u32,
    pub(super) n_groups: u32,
    /// Whether the job has the whole screen, so that the lists of jobs and workers are hidden.
    pub(super) is_page: bool,
}

/// A message from the coordinator.
#[derive(Debug)]
pub(crate) enum FromCoordinator {
    Lists(Lists),
    Job(Box<JobNews>),
    /// Other data: the last message of each refresh.
    News(News),
    /// The coordinator can't be reached, with the reason.
    Away(Problem),
    /// The job does not exist, in the coordinator's words.
    Gone(String),
    /// The result of an action: its effect, or the reason of its failure.
    Done(Result<String, String>),
}

/// All jobs and workers.
#[derive(Debug)]
pub(crate) struct Lists {
    /// Jobs in the order of service; then those that have ended, the latest first.
    pub(super) jobs: Vec<JobStatus>,
    /// Workers in the order of their names.
    pub(super) workers: Vec<WorkerStatus>,
    pub(super) blocked: Vec<Name>,
    /// The threads of all workers, and their speed.
    pub(super) n_threads: u64,
    pub(super) together: FleetSpeed,
    /// When the lists arrived.
    pub(super) at: Instant,
}

impl Lists {
    /// Sorts the lists and computes the sums. O(J log J + W log W).
    pub(super) fn new(mut jobs: Vec<JobStatus>, mut workers: Vec<WorkerStatus>, blocked: Vec<Name>) -> Self {
        jobs.sort_by_key(|job| match job.state.is_over() {
            false => (false, -job.priority.get(), job.id.0),
            true => (true, 0, u64::MAX - job.id.0),
        });
        workers.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        let n_threads = workers.iter().map(|worker| u64::from(worker.n_threads)).sum();
        let together = FleetSpeed::of(&workers);
        Self { jobs, workers, blocked, n_threads, together, at: Instant::now() }
    }

    pub(super) fn n_entries(&self) -> usize {
        self.jobs.len() + self.workers.len() + self.blocked.len()
    }
}

/// One job, as far as it is shown.
#[derive(Debug)]
pub(crate) struct JobNews {
    pub(super) id: JobId,
    /// Requested if the job has the whole screen.
    pub(super) status: Option<JobStatus>,
    pub(super) progress_history: ProgressHistory,
    /// Its contributors and verdicts, requested every few seconds.
    pub(super) counters: Option<Counters>,
}

/// The contributions to a job, and the verdicts on its disputes.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(super) contributions: Vec<Contribution>,
    pub(super) verdicts: Vec<VerdictStatus>,
}

/// The data requested for every view.
#[derive(Debug)]
pub(crate) struct News {
    /// The URL of the leading coordinator.
    pub(super) url: String,
    /// Events, the oldest first.
    pub(super) events: Vec<Event>,
    /// The coordinator itself.
    pub(super) greeting: Greeting,
}

impl News {
    /// Returns whether the user has only the role of a viewer.
    pub(super) fn is_for_viewer(&self) -> bool {
        self.greeting.role.as_deref() == Some("viewer")
    }
}
