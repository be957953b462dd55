//! The operators' commands for workers: drain, block and unblock.

use axum::Json;
use axum::extract::State;
use queens_ledger::WorkerChange;
use queens_model::Name;
use serde::{Deserialize, Serialize};

use super::handler_types::{Answer, Body, Object, carried_out};
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::{NoSuchWorker, NotDecided};
use super::state::App;

/// All workers of a name.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct WorkerName {
    /// The name: visible characters, with single or more spaces only between others.
    #[cfg_attr(test, schema(min_length = 1, max_length = 100))]
    name: String,
}

/// The workers that a command affects.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct ChangedWorkers {
    /// Number of workers that have the name now.
    workers: usize,
}

/// Drains all workers of a name: they report what they have in hand, give back the rest and end.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/workers/drain",
    request_body = WorkerName,
    responses((status = 200, description = "The answer.", body = ChangedWorkers), NotDecided, NoSuchWorker),
))]
pub(super) async fn drain(State(app): State<App>, body: Body<WorkerName>) -> Answer<ChangedWorkers> {
    change(&app, body, WorkerChange::Drain).await
}

/// Blocks a name: its workers get no leases, now and later.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/workers/block",
    request_body = WorkerName,
    responses((status = 200, description = "The answer.", body = ChangedWorkers), NotDecided, NoSuchWorker),
))]
pub(super) async fn block(State(app): State<App>, body: Body<WorkerName>) -> Answer<ChangedWorkers> {
    change(&app, body, WorkerChange::Block).await
}

/// Unblocks a name.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/workers/unblock",
    request_body = WorkerName,
    responses((status = 200, description = "The answer.", body = ChangedWorkers), NotDecided, NoSuchWorker),
))]
pub(super) async fn unblock(State(app): State<App>, body: Body<WorkerName>) -> Answer<ChangedWorkers> {
    change(&app, body, WorkerChange::Unblock).await
}

async fn change(app: &App, body: Body<WorkerName>, change: WorkerChange) -> Answer<ChangedWorkers> {
    let Json(Object(WorkerName { name })) = body?;
    let name: Name = name
        .parse()
        .map_err(|reason| RequestRefusal::bad_request(format!("the worker's name is no name: {reason}")))?;
    let workers = carried_out(app, app.handle.change_workers(name, change)).await??;
    Ok(Json(ChangedWorkers { workers }))
}
