//! What others read of a ledger.

use std::sync::Arc;

use queens_model::{JobId, JobIdentity, JobStatus, LeaseId, Name, WorkerId, WorkerStatus};
use queens_solver::{BoardSize, Method, Pass, Plan};

use crate::jobs::job::Job;
use crate::ledger::Ledger;
use crate::schedule::confirmers::awaits_parties;
use crate::status::{self, PartStatus};
use crate::store::Source;
use crate::workers::worker::Worker;

/// Jobs.
impl Ledger {
    /// Returns all jobs, in the order of submission.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.jobs.iter().map(|job| status::job_status(self, job)).collect()
    }

    /// Returns the identity of a job, which its leases carry.
    #[must_use]
    pub fn identity(&self, job: JobId) -> Option<JobIdentity> {
        self.jobs.get(job).map(Job::identity)
    }

    /// Returns the number of jobs, and of active ones.
    #[must_use]
    pub fn census(&self) -> (usize, usize) {
        (self.jobs.len(), self.jobs.n_active())
    }

    /// Returns the number of jobs that are being planned or counted, or wait for that.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.jobs.n_open()
    }

    /// Whether a job may still progress by itself.
    #[must_use]
    pub fn is_open(&self, job: JobId) -> bool {
        self.jobs.get(job).is_some_and(Job::is_open)
    }

    /// Returns the job with this identity, if it is there.
    #[must_use]
    pub fn job_of(&self, identity: JobIdentity) -> Option<JobId> {
        self.jobs.identified(identity).map(Job::id)
    }

    /// Returns the counting method of a job.
    #[must_use]
    pub fn method(&self, job: JobId) -> Option<Method> {
        Some(self.jobs.get(job)?.method())
    }

    /// Returns the values that determine a job's plan: board size, method and pass.
    #[must_use]
    pub fn board(&self, job: JobId) -> Option<(BoardSize, Method, Pass)> {
        let job = self.jobs.get(job)?;
        Some((job.entry().n, job.method(), self.jobs.pass(job)))
    }

    /// Returns the plan of a job and the coverage of each part, once the plan is made.
    #[must_use]
    pub fn parts(&self, job: JobId) -> Option<(Arc<Plan>, Vec<PartStatus>)> {
        status::parts(self, job)
    }
}

/// Workers.
impl Ledger {
    /// Returns the names of workers that get no leases, by operators' blocks or by lost disputes of their parties.
    pub fn blocked(&self) -> impl Iterator<Item = &Name> {
        self.workers.blocked().into_iter()
    }

    /// Returns all workers that are connected or may come back.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStatus> {
        let status = |(id, worker)| status::worker_status(self, id, worker);
        self.workers.iter().map(status).collect()
    }

    /// Returns who a worker is that is connected or may come back.
    pub(crate) fn source(&self, worker: WorkerId) -> Option<&Arc<Source>> {
        self.workers.get(worker).map(Worker::source)
    }

    /// Whether there are workers. Without any, nothing happens by itself, so that no ticks are needed.
    #[must_use]
    pub fn has_workers(&self) -> bool {
        self.workers.len() > 0
    }

    /// Whether a search for records to recount goes on, or draws wait for parties to come back.
    #[must_use]
    pub fn is_drawing(&self) -> bool {
        let mut to_draw_for = self.jobs.to_draw_for(usize::MAX);
        self.jobs.first_to_draw().is_some() || to_draw_for.any(|job| awaits_parties(self, job))
    }

    /// Whether anything is being counted.
    #[must_use]
    pub fn has_leases(&self) -> bool {
        !self.leases.is_empty()
    }

    /// Whether a worker holds this lease.
    #[must_use]
    pub fn is_held(&self, lease: LeaseId) -> bool {
        self.leases.get(lease).is_some()
    }
}
