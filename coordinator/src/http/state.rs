//! The state that all handlers share.

use std::sync::Arc;

use queens_event_loop::{Handle, Snapshot};
use queens_model::{JobId, JobStatus, PageUrl};

use super::job_json::Job;
use super::refusal::RequestRefusal;
use super::rendered_pages::RenderedPages;
use super::summaries::SummaryStream;
use crate::access::Authenticator;

/// The state that all handlers share.
#[derive(Clone, Debug)]
pub(super) struct App {
    pub(super) handle: Handle,
    pub(super) summary_stream: SummaryStream,
    pub(super) authenticator: Authenticator,
    /// The rendered public pages; `None` if there are none.
    pub(super) public: Option<Arc<RenderedPages>>,
    /// The page about the count and its programs.
    pub(super) about: Option<Arc<PageUrl>>,
}

impl App {
    pub(super) fn job(&self, id: JobId) -> Result<Job, RequestRefusal> {
        let snapshot = self.handle.snapshot();
        Ok(self.view(find(&snapshot, id)?, &snapshot))
    }

    pub(super) fn view(&self, job: &JobStatus, snapshot: &Snapshot) -> Job {
        Job::of(job, snapshot, self.summary_stream.speeds(job.id))
    }
}

pub(super) fn find(snapshot: &Snapshot, id: JobId) -> Result<&JobStatus, RequestRefusal> {
    snapshot.job(id).ok_or_else(|| RequestRefusal::unknown_job(id))
}

/// Parses a job's number. Other text names no job.
pub(super) fn job_id(id: &str) -> Result<JobId, RequestRefusal> {
    id.parse().map_err(|_| RequestRefusal::not_found(format!("there is no job '{id}': jobs have numbers")))
}
