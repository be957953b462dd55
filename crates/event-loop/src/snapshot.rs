//! Snapshots: the recent state of a coordinator, for all readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use queens_ledger::PartStatus;
use queens_model::{Event, JobId, JobStatus, Name, WorkerStatus};
use queens_solver::Plan;
use tokio::time::Instant;

/// The state of a coordinator a moment ago.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// All jobs, in the order of submission.
    pub jobs: Vec<JobStatus>,
    /// All workers that are connected or may come back, at most a second old.
    pub workers: Arc<Vec<WorkerStatus>>,
    /// The blocked names of workers, whether or not such workers exist.
    pub blocked: Vec<Name>,
    /// The reason why reports are not acknowledged at present, if so.
    pub store_error: Option<String>,
    /// The reason why the coordinator has stopped by itself, if so: the stored data are damaged. Includes the remedy.
    pub damage: Option<String>,
    /// The recent events, the oldest first.
    pub events: Arc<[Arc<Event>]>,
    /// The details of jobs that somebody [views](crate::Handle::details).
    pub details: BTreeMap<JobId, Arc<Details>>,
}

/// Details of a job, which are too large for every snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// The job's plan.
    pub plan: Arc<Plan>,
    /// The recorded state of each of its parts.
    pub parts: Vec<PartStatus>,
    /// The time when they were made.
    pub(crate) made: Instant,
}

impl Snapshot {
    /// Returns the job with this id.
    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&JobStatus> {
        let at = self.jobs.binary_search_by_key(&id, |job| job.id).ok()?;
        self.jobs.get(at)
    }
}
