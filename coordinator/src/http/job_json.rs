//! Jobs as JSON, with their current speed.
//!
//! All other fields are those that `queens … --output json` prints.

use queens_event_loop::Snapshot;
use queens_event_loop::history::Speeds;
use queens_model::{JobState, JobStatus};
use serde::Serialize;

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
