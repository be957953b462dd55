//! The ledger: decides which spans are recorded, who holds the others, and which are leased next.
//!
//! It is a pure state machine. Events come in as method calls with the time as a [`Duration`] since some start; the
//! resulting actions come out as [`Effects`]. It does no I/O and reads no clock, so that tests can play any history.
//!
//! Invariants:
//! - Each span is added to a total exactly once.
//! - An acknowledged report is durable: its acknowledgement is in the same [`Effects`] as its writes, and the caller
//!   makes the writes durable first.
//! - Leases are hints about who works on which spans. Losing all of them repeats work, but never changes a count.

use std::sync::Arc;

use queens_model::{JobId, JobIdentity, JobStatus, LeaseId, Name, WorkerId, WorkerStatus};
use queens_solver::{BoardSize, Method, Pass, Plan};

use crate::effects::Effects;
use crate::jobs::job::Job;
use crate::pace::Paces;
use crate::report_interval_rule::Reporting;
use crate::schedule::confirmers::awaits_parties;
use crate::state::State;
use crate::status::{self, PartStatus};
use crate::store::Source;
use crate::workers::worker::Worker;

/// The state of all jobs, workers and leases of one coordinator. Each module of `handlers` has the methods that change
/// one kind of thing.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) state: State,
    pub(crate) paces: Paces,
}

/// Jobs.
impl Ledger {
    /// Sets the rule for how often workers report.
    pub fn set_reporting(&mut self, reporting: Reporting) {
        self.state.workers.set_reporting(reporting);
    }

    /// Sets the wall-clock time, in milliseconds since 1970. It decides nothing, and is only kept with jobs and counts.
    pub fn tell_date(&mut self, date_ms: u64) {
        self.state.date_ms = Some(date_ms);
    }

    /// Returns all jobs, in the order of submission.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.state.jobs().iter().map(|job| status::job_status(&self.state, &self.paces, job)).collect()
    }

    /// Returns the identity of a job, which its leases carry.
    #[must_use]
    pub fn identity(&self, job: JobId) -> Option<JobIdentity> {
        self.state.jobs().get(job).map(Job::identity)
    }

    /// Returns the number of jobs, and of active ones.
    #[must_use]
    pub fn census(&self) -> (usize, usize) {
        (self.state.jobs().len(), self.state.jobs().n_active())
    }

    /// Returns the number of jobs that are being planned or counted, or wait for that.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.state.jobs().n_open()
    }

    /// Whether a job may still progress by itself.
    #[must_use]
    pub fn is_open(&self, job: JobId) -> bool {
        self.state.jobs().get(job).is_some_and(Job::is_open)
    }

    /// Returns the job with this identity, if it is there.
    #[must_use]
    pub fn job_of(&self, identity: JobIdentity) -> Option<JobId> {
        self.state.jobs().identified(identity).map(Job::id)
    }

    /// Returns the counting method of a job.
    #[must_use]
    pub fn method(&self, job: JobId) -> Option<Method> {
        self.state.method(job)
    }

    /// Returns the values that determine a job's plan: board size, method and pass.
    #[must_use]
    pub fn board(&self, job: JobId) -> Option<(BoardSize, Method, Pass)> {
        let job = self.state.jobs().get(job)?;
        Some((job.entry().n, job.method(), self.state.jobs().pass(job)))
    }

    /// Returns the plan of a job and the coverage of each part, once the plan is made.
    #[must_use]
    pub fn parts(&self, job: JobId) -> Option<(Arc<Plan>, Vec<PartStatus>)> {
        status::parts(&self.state, job)
    }
}

/// Workers.
impl Ledger {
    /// Returns the names of workers that get no leases, by operators' blocks or by lost disputes of their parties.
    pub fn blocked(&self) -> impl Iterator<Item = &Name> {
        self.state.workers().blocked().into_iter()
    }

    /// Returns all workers that are connected or may come back.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStatus> {
        let status = |(id, worker)| status::worker_status(&self.state, id, worker);
        self.state.workers().iter().map(status).collect()
    }

    /// Returns who a worker is that is connected or may come back.
    pub(crate) fn source(&self, worker: WorkerId) -> Option<&Arc<Source>> {
        self.state.workers().get(worker).map(Worker::source)
    }

    /// Whether there are workers. Without any, nothing happens by itself, so that no ticks are needed.
    #[must_use]
    pub fn has_workers(&self) -> bool {
        self.state.workers().len() > 0
    }

    /// Whether a search for records to recount goes on, or draws wait for parties to come back.
    #[must_use]
    pub fn is_drawing(&self) -> bool {
        let mut to_draw_for = self.state.jobs().to_draw_for();
        self.state.jobs().first_to_draw().is_some() || to_draw_for.any(|job| awaits_parties(&self.state, job))
    }

    /// Whether anything is being counted.
    #[must_use]
    pub fn has_leases(&self) -> bool {
        !self.state.leases().is_empty()
    }

    /// Whether a worker holds this lease.
    #[must_use]
    pub fn is_held(&self, lease: LeaseId) -> bool {
        self.state.leases().get(lease).is_some()
    }
}

/// Effects.
impl Ledger {
    /// Takes the effects since the last call.
    pub fn take_effects(&mut self) -> Effects {
        self.state.effects.take(self.state.now, &mut self.state.jobs)
    }
}
