//! How jobs were counted, and the fleet.

use axum::Json;
use axum::extract::{Path, Query, State};
use queens_store::history::Subject;
use serde::{Deserialize, Serialize};

use super::handlers::{Answer, Queried};
use super::history_json::{FleetLevelView, LevelView, fleet_levels, levels, run};
#[cfg(test)]
use super::refusal::described::{NoSuchJob, Senseless};
use super::state::{App, find, job_id};

/// How a job was counted: the last five minutes, two hours, day, thirty days, year and ten years, in steps of 1, 10,
/// 60, 600, 3600 and 86400 seconds. Of times at which nobody counted it, or no coordinator ran, there are no samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct History {
    levels: Vec<LevelView>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryQuery {
    /// Only the level with steps of so many seconds.
    step_seconds: Option<u64>,
    /// Only the finest level that goes back to where the job was begun, in at most about so many samples: neighbouring
    /// steps are put together.
    most: Option<usize>,
}

/// How a job was counted, also before the coordinator was started.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/history",
    params(("job" = String, Path, description = "The job's number."), HistoryQuery),
    responses((status = 200, description = "The answer.", body = History), Senseless, NoSuchJob),
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

/// How all jobs together were counted, and by how many workers: the same times as a job's. Of times at which nothing was
/// counted, or no coordinator ran, there are no samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct FleetHistory {
    levels: Vec<FleetLevelView>,
}

/// How all jobs together were counted, and by how many workers, also before the coordinator was started.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/history",
    responses((status = 200, description = "The answer.", body = FleetHistory)),
))]
pub(super) async fn fleet_history(State(app): State<App>) -> Json<FleetHistory> {
    Json(FleetHistory { levels: fleet_levels(&app.handle.curves().lock()) })
}
