//! What is known of a coordinator, its jobs and its workers.

use std::time::Instant;

use queens_model::{
    Contribution, Event, FleetSpeed, JobId, JobStatus, Name, ProgressHistory, VerdictStatus, WorkerStatus,
};
use queens_proto::client::{Greeting, Problem};

/// What is shown, and so has to be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The job whose course is shown.
    pub(super) job: Option<JobId>,
    /// Into how many rates and groups of parts there is room for that.
    pub(super) n_rates: u32,
    pub(super) n_groups: u32,
    /// Whether the job has the whole screen. Then nobody sees the lists of all jobs and workers.
    pub(super) is_page: bool,
}

/// What comes from the coordinator.
#[derive(Debug)]
pub(crate) enum FromCoordinator {
    Lists(Lists),
    Job(Box<JobNews>),
    /// What else there is: the last of what is asked for at a time.
    News(News),
    /// It can't be reached, and why.
    Away(Problem),
    /// There is no such job, in the coordinator's words.
    Gone(String),
    /// What became of an action: what was done, or why not.
    Done(Result<String, String>),
}

/// All jobs and workers.
#[derive(Debug)]
pub(crate) struct Lists {
    /// As they are served; below, what is over, the latest first.
    pub(super) jobs: Vec<JobStatus>,
    /// By their names.
    pub(super) workers: Vec<WorkerStatus>,
    /// Blocked names.
    pub(super) blocked: Vec<Name>,
    /// The threads of all workers, and their speed.
    pub(super) n_threads: u64,
    pub(super) together: FleetSpeed,
    /// When they came.
    pub(super) at: Instant,
}

impl Lists {
    /// Puts them in order and adds up. O(J log J + W log W).
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
    /// Asked for if the job has the whole screen.
    pub(super) status: Option<JobStatus>,
    pub(super) progress_history: ProgressHistory,
    /// Who has counted it and what was decided about it: asked for now and then.
    pub(super) counters: Option<Counters>,
}

/// Who has counted a job, and what was decided where counts differed.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(super) contributions: Vec<Contribution>,
    pub(super) verdicts: Vec<VerdictStatus>,
}

/// What is asked for whatever is shown.
#[derive(Debug)]
pub(crate) struct News {
    /// The URL of the coordinator that leads.
    pub(super) url: String,
    /// The oldest first.
    pub(super) events: Vec<Event>,
    /// The coordinator itself.
    pub(super) greeting: Greeting,
}

impl News {
    /// Whether whoever looks may only look.
    pub(super) fn is_for_viewer(&self) -> bool {
        self.greeting.role.as_deref() == Some("viewer")
    }
}
