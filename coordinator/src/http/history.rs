//! Handlers for the history of a job's progress, of the fleet, and of the workers of a name.

use axum::Json;
use axum::extract::{Path, State};
use queens_store::history::Subject;
use serde::Serialize;

use super::handler_types::Answer;
use super::history_json::CurveView;
#[cfg(test)]
use super::refusal::described::NoSuchJob;
use super::state::{App, find, job_id};

/// A job's progress over time, from its start, in at most 512 samples. It survives restarts of the coordinator. Times
/// without counting or without a coordinator have no samples.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/history",
    params(("job" = String, Path, description = "The job's number.")),
    responses((status = 200, description = "The answer.", body = CurveView), NoSuchJob),
))]
pub(super) async fn history(State(app): State<App>, Path(id): Path<String>) -> Answer<CurveView> {
    let job = job_id(&id)?;
    find(&app.handle.snapshot(), job)?;
    let curve = app.handle.history().curves.lock().curve(Subject::Job(job));
    Ok(Json(CurveView::of_job(&curve)))
}

/// The speed of all jobs together and the number of workers, in at most 512 samples each. Times without counting or
/// without a coordinator have no samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct FleetHistory {
    /// The speed of all searches, in nodes per second.
    search: CurveView,
    /// The speed of all counting by halves, in units per second.
    halves: CurveView,
    /// Connected workers.
    workers: CurveView,
}

/// The fleet's speed and number of workers over time. They survive restarts of the coordinator.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/history",
    responses((status = 200, description = "The answer.", body = FleetHistory)),
))]
pub(super) async fn fleet_history(State(app): State<App>) -> Json<FleetHistory> {
    let curve = |subject, unit| CurveView::of(&app.handle.history().curves.lock().curve(subject), unit);
    Json(FleetHistory {
        search: curve(Subject::Search, 1.0),
        halves: curve(Subject::Halves, 1.0),
        // The store has them in milliseconds of a worker.
        workers: curve(Subject::Workers, 1000.0),
    })
}

/// The speed of all workers of a name, in at most 127 samples by each method. Times without a connected worker of the
/// name have no samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct WorkerHistory {
    /// The speed by search, in nodes per second: zero while the workers do something else.
    search: CurveView,
    /// The speed by halves, in units per second: zero while the workers do something else.
    halves: CurveView,
}

/// The speed over time of all workers of a name; empty if the name is unknown. A restart of the coordinator begins it
/// anew, and so does a day without such a worker.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/workers/{worker}/history",
    params(("worker" = String, Path, description = "The name of the workers.")),
    responses((status = 200, description = "The answer.", body = WorkerHistory)),
))]
pub(super) async fn worker_history(State(app): State<App>, Path(name): Path<String>) -> Json<WorkerHistory> {
    let [search, halves] = app.handle.history().worker_speeds.lock().curves(&name);
    Json(WorkerHistory { search: CurveView::of(&search, 1.0), halves: CurveView::of(&halves, 1.0) })
}
