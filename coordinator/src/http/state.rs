//! The state that all handlers share, and its jobs as JSON.

use std::sync::Arc;

use queens_event_loop::history::Speeds;
use queens_event_loop::{Handle, Snapshot};
use queens_model::{JobId, JobState, JobStatus, PageUrl};
use serde::Serialize;

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

/// A job and its speed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Job {
    #[serde(flatten)]
    status: queens_model::json::Job,
    /// The speed over the last ten seconds: nodes for the search, units of pairs for halves. Null if the job is not
    /// running or its speed is not known yet.
    #[cfg_attr(test, schema(required))]
    work_per_second: Option<f64>,
    /// The same over the measured part of the last hour.
    #[cfg_attr(test, schema(required))]
    work_per_second_hour: Option<f64>,
}

impl Job {
    pub(super) fn of(job: &JobStatus, snapshot: &Snapshot, speeds: Speeds) -> Self {
        let speeds = if job.state == JobState::Running { speeds } else { Speeds::default() };
        Self {
            status: queens_model::json::Job::of(job, snapshot.store_error.as_deref()),
            work_per_second: speeds.now,
            work_per_second_hour: speeds.hour,
        }
    }
}

pub(super) fn find(snapshot: &Snapshot, id: JobId) -> Result<&JobStatus, RequestRefusal> {
    snapshot.job(id).ok_or_else(|| RequestRefusal::not_found(format!("there is no job {id}")))
}

/// Parses a job's number. Other text names no job.
pub(super) fn job_id(id: &str) -> Result<JobId, RequestRefusal> {
    id.parse().map_err(|_| RequestRefusal::not_found(format!("there is no job '{id}': jobs have numbers")))
}
