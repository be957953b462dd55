//! How things stood a moment ago, for everybody who wants to know.

use std::collections::BTreeMap;
use std::sync::Arc;

use queens_ledger::CrossStatus;
use queens_model::{Event, JobId, JobStatus, Name, WorkerStatus};
use queens_solver::Plan;
use tokio::time::Instant;

/// A coordinator's state as of a moment ago.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// All jobs, in the order of submission.
    pub jobs: Vec<JobStatus>,
    /// All workers that are connected or may come back, as of the last second.
    pub workers: Arc<Vec<WorkerStatus>>,
    /// Names of workers that get no leases, whether or not there are any.
    pub blocked: Vec<Name>,
    /// Why reports are not acknowledged at present, if they are not.
    pub store_error: Option<String>,
    /// Why the coordinator has ended by itself, if it has: what is stored is damaged, and what to do.
    pub damage: Option<String>,
    /// The last events, the oldest first.
    pub events: Arc<[Arc<Event>]>,
    /// The jobs that somebody [looks at](crate::Handle::details).
    pub details: BTreeMap<JobId, Arc<Details>>,
}

/// What is too much to be told of every job all the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// The job's plan.
    pub plan: Arc<Plan>,
    /// What is recorded of each of its crosses.
    pub crosses: Vec<CrossStatus>,
    /// As of when.
    pub(crate) made: Instant,
}

impl Snapshot {
    /// The job with this id.
    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&JobStatus> {
        let at = self.jobs.binary_search_by_key(&id, |job| job.id).ok()?;
        self.jobs.get(at)
    }
}
