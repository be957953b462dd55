//! Handlers for the history of a job's progress, of the fleet, and of the workers of a name.

use axum::Json;
use axum::extract::{Path, Query, State};
use queens_store::history::Subject;
use serde::{Deserialize, Serialize};

use super::handler_types::{Answer, Queried};
use super::history_json::{FleetLevelView, LevelView, WorkerLevelView, fleet_levels, levels, run};
#[cfg(test)]
use super::refusal::described::{InvalidRequest, NoSuchJob};
use super::state::{App, find, job_id};

/// A job's progress in steps of 1, 10, 60, 600, 3600 and 86400 seconds, over the last five minutes, two hours, day,
/// thirty days, year and ten years. Times without counting or without a coordinator have no samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct History {
    levels: Vec<LevelView>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryQuery {
    /// Only the level with steps of this many seconds.
    step_seconds: Option<u64>,
    /// Only the finest level that reaches back to the start of the job, in at most about this many samples.
    /// Neighbouring steps are merged.
    most: Option<usize>,
}

/// A job's progress over time. It survives restarts of the coordinator.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/history",
    params(("job" = String, Path, description = "The job's number."), HistoryQuery),
    responses((status = 200, description = "The answer.", body = History), InvalidRequest, NoSuchJob),
))]
pub(super) async fn history(
    State(app): State<App>,
    Path(id): Path<String>,
    query: Queried<HistoryQuery>,
) -> Answer<History> {
    let Query(HistoryQuery { step_seconds, most }) = query?;
    let job = job_id(&id)?;
    find(&app.handle.snapshot(), job)?;
    let points = app.handle.curves().lock().levels(Subject::Job(job));
    let levels = match most {
        Some(most) => run(&points, most).into_iter().collect(),
        None => levels(&points, step_seconds),
    };
    Ok(Json(History { levels }))
}

/// The speed of all jobs together and the number of workers, at the same resolutions as a job's history. Times without
/// counting or without a coordinator have no samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct FleetHistory {
    levels: Vec<FleetLevelView>,
}

/// The fleet's speed and number of workers over time. They survive restarts of the coordinator.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/history",
    responses((status = 200, description = "The answer.", body = FleetHistory)),
))]
pub(super) async fn fleet_history(State(app): State<App>) -> Json<FleetHistory> {
    Json(FleetHistory { levels: fleet_levels(&app.handle.curves().lock()) })
}

/// The speed of all workers of a name, in steps of 5 and 600 seconds, over the last ten minutes and the last day. Times
/// without a connected worker of the name have no samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct WorkerHistory {
    levels: Vec<WorkerLevelView>,
}

/// The speed over time of all workers of a name; empty if the name is unknown. A restart of the coordinator begins it
/// anew.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/workers/{worker}/history",
    params(("worker" = String, Path, description = "The name of the workers.")),
    responses((status = 200, description = "The answer.", body = WorkerHistory)),
))]
pub(super) async fn worker_history(State(app): State<App>, Path(name): Path<String>) -> Json<WorkerHistory> {
    let levels = app.handle.worker_speeds().lock().levels(&name);
    Json(WorkerHistory { levels: levels.into_iter().map(WorkerLevelView::from).collect() })
}
