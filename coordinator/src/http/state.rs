//! What handlers know.

use queens_event_loop::Handle;
use queens_event_loop::Snapshot;
use queens_model::{JobId, JobStatus};

use super::job_json::Job;
use super::refusal::RequestRefusal;
use super::summaries::Live;
use crate::auth::Authenticator;

/// What handlers know.
#[derive(Clone, Debug)]
pub(super) struct App {
    pub(super) handle: Handle,
    pub(super) live: Live,
    pub(super) authenticator: Authenticator,
}

impl App {
    /// A job as it stands.
    pub(super) fn job(&self, id: JobId) -> Result<Job, RequestRefusal> {
        let snapshot = self.handle.snapshot();
        Ok(self.view(find(&snapshot, id)?, &snapshot))
    }

    /// A job of a snapshot as it is shown.
    pub(super) fn view(&self, job: &JobStatus, snapshot: &Snapshot) -> Job {
        Job::of(job, snapshot, self.live.speeds(job.id))
    }
}

/// The job with this id.
pub(super) fn find(snapshot: &Snapshot, id: JobId) -> Result<&JobStatus, RequestRefusal> {
    snapshot.job(id).ok_or_else(|| RequestRefusal::not_found(format!("there is no job {id}")))
}

/// A job's number. What is none names no job.
pub(super) fn job_id(id: &str) -> Result<JobId, RequestRefusal> {
    id.parse().map_err(|_| RequestRefusal::not_found(format!("there is no job '{id}': jobs have numbers")))
}
