//! Jobs as JSON, with how fast they are counted.
//!
//! All else is what `queens … --output json` prints.

use queens_model::{JobState, JobStatus};
use serde::Serialize;

use queens_event_loop::Snapshot;
use queens_event_loop::history::Speeds;

/// A job as it stands, and how fast it is counted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Job {
    #[serde(flatten)]
    status: queens_model::json::Job,
    /// What was counted over the last ten seconds, by search in nodes, by halves in units of pairs; null if it is not
    /// counted or not known yet.
    #[cfg_attr(test, schema(required))]
    nodes_per_second: Option<f64>,
    /// The same over the last hour, as far as it was measured then.
    #[cfg_attr(test, schema(required))]
    nodes_per_second_hour: Option<f64>,
}

impl Job {
    pub(super) fn of(job: &JobStatus, snapshot: &Snapshot, speeds: Speeds) -> Self {
        let speeds = if job.state == JobState::Running { speeds } else { Speeds::default() };
        Self {
            status: queens_model::json::Job::of(job, snapshot.store_error.as_deref()),
            nodes_per_second: speeds.now,
            nodes_per_second_hour: speeds.hour,
        }
    }
}
