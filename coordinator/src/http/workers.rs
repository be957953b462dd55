//! Workers: how they stand, and what operators decide about them.

use axum::Json;
use axum::extract::{Query, State};
use queens_json::Worker;
use queens_ledger::WorkerChange;
use queens_messages::{Name, WorkerState, WorkerStatus};
use queens_proto::convert::worker_name;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Body, Page, Queried, carried_out};
use super::app::App;
use super::object::Object;
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::{NoSuchWorker, NotDecided, Senseless};

/// The order in which workers are listed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum WorkerOrder {
    #[default]
    Name,
    State,
    Speed,
    Silence,
    Recorded,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct WorkerQuery {
    /// How many to leave out at the beginning.
    #[serde(default)]
    offset: usize,
    /// How many to list; at most 1000, which is also what is listed if it is not given.
    limit: Option<usize>,
    /// By what to sort: by name if it is not given; troubles, the fastest, the most silent or the busiest come first.
    #[serde(default)]
    #[cfg_attr(test, param(inline))]
    sort: WorkerOrder,
}

/// A part of all workers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Workers {
    workers: Vec<Worker>,
    /// How many there are.
    total: usize,
    /// Names of workers that get no leases, whether or not there are any.
    blocked: Vec<String>,
}

/// All workers that are connected or may come back.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/workers",
    params(WorkerQuery),
    responses((status = 200, description = "The answer.", body = Workers), Senseless),
))]
pub(super) async fn list_workers(State(app): State<App>, query: Queried<WorkerQuery>) -> Answer<Workers> {
    let Query(WorkerQuery { offset, limit, sort }) = query?;
    let snapshot = app.handle.snapshot();
    let speed = |worker: &WorkerStatus| worker.speed.map_or(0.0, |speeds| speeds.sum().get());
    let mut workers: Vec<&WorkerStatus> = snapshot.workers.iter().collect();
    workers.sort_by(|a, b| {
        let first = match sort {
            WorkerOrder::Name => a.name.cmp(&b.name),
            WorkerOrder::State => trouble(a).cmp(&trouble(b)),
            WorkerOrder::Speed => speed(b).total_cmp(&speed(a)),
            WorkerOrder::Silence => b.silent.cmp(&a.silent),
            WorkerOrder::Recorded => b.n_recorded.cmp(&a.n_recorded),
        };
        first.then_with(|| (&a.name, a.id).cmp(&(&b.name, b.id)))
    });
    let total = workers.len();
    let workers = Page { offset, limit }.of(workers.into_iter()).map(Worker::from).collect();
    let blocked = snapshot.blocked.iter().map(Name::to_string).collect();
    Ok(Json(Workers { workers, total, blocked }))
}

/// Sorts workers that are not connected first, then those that get no leases.
fn trouble(worker: &WorkerStatus) -> (bool, bool, &'static str) {
    (worker.connected, worker.state == WorkerState::Ready, worker.state.name())
}

/// All workers of a name.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    /// The name: visible characters, with spaces only between others.
    #[cfg_attr(test, schema(min_length = 1, max_length = 100))]
    name: String,
}

/// Whom a decision is about.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Affected {
    /// How many workers of the name there are now.
    workers: usize,
}

/// Sends all workers of a name home.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/workers/drain",
    request_body = Named,
    responses((status = 200, description = "The answer.", body = Affected), NotDecided, NoSuchWorker),
))]
pub(super) async fn drain(State(app): State<App>, body: Body<Named>) -> Answer<Affected> {
    change(&app, body, WorkerChange::Drain).await
}

/// Gives no leases to workers of a name, now and later.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/workers/block",
    request_body = Named,
    responses((status = 200, description = "The answer.", body = Affected), NotDecided, NoSuchWorker),
))]
pub(super) async fn block(State(app): State<App>, body: Body<Named>) -> Answer<Affected> {
    change(&app, body, WorkerChange::Block).await
}

/// Takes a block back.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/workers/unblock",
    request_body = Named,
    responses((status = 200, description = "The answer.", body = Affected), NotDecided, NoSuchWorker),
))]
pub(super) async fn unblock(State(app): State<App>, body: Body<Named>) -> Answer<Affected> {
    change(&app, body, WorkerChange::Unblock).await
}

async fn change(app: &App, body: Body<Named>, change: WorkerChange) -> Answer<Affected> {
    let Json(Object(Named { name })) = body?;
    let name = worker_name(&name).map_err(|invalid| RequestRefusal::bad_request(invalid.to_string()))?;
    let workers = carried_out(app, app.handle.change_workers(name, change)).await??;
    Ok(Json(Affected { workers }))
}
