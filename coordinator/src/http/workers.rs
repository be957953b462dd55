//! The list of workers: filter, order and page; and the operators' commands for workers.

use std::cmp::Ordering;

use axum::Json;
use axum::extract::{Query, State};
use queens_ledger::WorkerChange;
use queens_model::json::Worker;
use queens_model::{Name, WorkerState, WorkerStatus};
use serde::{Deserialize, Serialize};

use super::app::{Answer, App, Body, Object, Page, Queried, Words, carried_out};
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::{InvalidRequest, NoSuchWorker, NotDecided};

/// The state of workers that lost their connection and may return. It hides their other state.
const LOST: &str = "lost";

/// The order of a list of workers.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
enum WorkerOrder {
    #[default]
    Name,
    State,
    Kernel,
    Threads,
    Speed,
    Job,
    Silence,
    Recorded,
    Build,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct WorkerQuery {
    /// Number of workers to skip.
    #[serde(default)]
    offset: usize,
    /// Number of workers to return; at most 1000, which is the default.
    limit: Option<usize>,
    /// Only workers of exactly this name. There may be several.
    name: Option<String>,
    /// Words that must all match, at most 100 characters. Each matches a part of the name, the kernel or the build, or
    /// the beginning of the worker's number.
    search: Option<String>,
    /// Only workers in this state; lost: workers that are not connected.
    #[cfg_attr(test, param(schema_with = states))]
    state: Option<String>,
    /// The order; by name by default. Failing workers, most threads, highest speed, longest silence or most records
    /// come first. Kernels, builds and current jobs are sorted upwards; idle workers come last.
    #[serde(default)]
    #[cfg_attr(test, param(inline))]
    sort: WorkerOrder,
    /// Whether to reverse the order.
    #[serde(default)]
    reverse: bool,
}

/// A page of the matching workers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Workers {
    workers: Vec<Worker>,
    /// Number of matching workers.
    total: usize,
    /// Names of workers that get no leases, connected or not.
    blocked: Vec<String>,
}

/// Workers that are connected or may come back.
///
/// O(m log m) for m workers. It reads a snapshot, so it delays no other request.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/workers",
    params(WorkerQuery),
    responses((status = 200, description = "The answer.", body = Workers), InvalidRequest),
))]
pub(super) async fn list_workers(State(app): State<App>, query: Queried<WorkerQuery>) -> Answer<Workers> {
    let Query(query) = query?;
    let snapshot = app.handle.snapshot();
    let meant = meant(&query, &snapshot.workers)?;
    let total = meant.len();
    let page = Page { offset: query.offset, limit: query.limit };
    let workers = page.of(meant.into_iter()).map(Worker::from).collect();
    let blocked = snapshot.blocked.iter().map(Name::to_string).collect();
    Ok(Json(Workers { workers, total, blocked }))
}

fn meant<'a>(
    query: &WorkerQuery,
    workers: &'a [WorkerStatus],
) -> Result<Vec<&'a WorkerStatus>, RequestRefusal> {
    let words = Words::of(query.search.as_deref())?;
    if let Some(state) = query.state.as_deref().filter(|state| !state_names().any(|known| known == *state)) {
        let names: Vec<_> = state_names().collect();
        let names = names.join(", ");
        let reason = format!("there is no state '{state}' of workers: they are {names}");
        return Err(RequestRefusal::bad_request(reason));
    }
    let is_meant = |worker: &&WorkerStatus| {
        query.name.as_deref().is_none_or(|name| worker.name.as_str() == name)
            && query.state.as_deref().is_none_or(|state| is_in(worker, state))
            && words.all(|word| fits(worker, word))
    };
    let mut meant: Vec<&WorkerStatus> = workers.iter().filter(is_meant).collect();
    meant.sort_by(|a, b| compare(query.sort, a, b).then_with(|| (&a.name, a.id).cmp(&(&b.name, b.id))));
    if query.reverse {
        meant.reverse();
    }
    Ok(meant)
}

fn state_names() -> impl Iterator<Item = &'static str> {
    WorkerState::ALL.into_iter().map(WorkerState::name).chain([LOST])
}

fn is_in(worker: &WorkerStatus, state: &str) -> bool {
    if state == LOST { !worker.connected } else { worker.state.name() == state }
}

fn fits(worker: &WorkerStatus, word: &str) -> bool {
    let has = |text: &Name| text.as_str().to_lowercase().contains(word);
    has(&worker.name) || has(&worker.kernel) || has(&worker.build) || worker.id.to_string().starts_with(word)
}

fn compare(order: WorkerOrder, a: &WorkerStatus, b: &WorkerStatus) -> Ordering {
    let speed = |worker: &WorkerStatus| worker.speed.map_or(0.0, |speeds| speeds.sum().get());
    // Idle workers come last.
    let job = |worker: &WorkerStatus| worker.counting.map_or(u64::MAX, |at| at.job.0);
    match order {
        WorkerOrder::Name => Ordering::Equal,
        WorkerOrder::State => trouble(a).cmp(&trouble(b)),
        WorkerOrder::Kernel => a.kernel.cmp(&b.kernel),
        WorkerOrder::Threads => b.n_threads.cmp(&a.n_threads),
        WorkerOrder::Speed => speed(b).total_cmp(&speed(a)),
        WorkerOrder::Job => job(a).cmp(&job(b)),
        WorkerOrder::Silence => b.silent.cmp(&a.silent),
        WorkerOrder::Recorded => b.n_recorded.cmp(&a.n_recorded),
        WorkerOrder::Build => a.build.cmp(&b.build),
    }
}

/// Ranks workers: disconnected ones first, then those that get no leases.
fn trouble(worker: &WorkerStatus) -> (bool, bool, &'static str) {
    (worker.connected, worker.state == WorkerState::Ready, worker.state.name())
}

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

#[cfg(test)]
fn states() -> utoipa::openapi::schema::Object {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(state_names())).build()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queens_model::{CardSensors, WorkerId};
    use queens_solver::Method;

    use super::*;

    fn worker(id: u64, name: &str) -> WorkerStatus {
        WorkerStatus {
            id: WorkerId(id),
            name: Name::of_any(name),
            build: Name::of_any("0.3.0"),
            kernel: Name::of_any(if id.is_multiple_of(2) { "avx512" } else { "portable" }),
            methods: vec![Method::Search],
            n_threads: u32::try_from(id % 64).expect("few"),
            connected: true,
            silent: Duration::from_secs(id % 60),
            speed: None,
            n_leases: 0,
            n_recorded: id * 3 % 1000,
            state: WorkerState::Ready,
            failure: None,
            counting: None,
            sensors: CardSensors::default(),
        }
    }

    fn some() -> Vec<WorkerStatus> {
        let mut workers = vec![worker(1, "anna"), worker(2, "Bert"), worker(3, "anna"), worker(4, "rack-4")];
        workers[1].state = WorkerState::Blocked;
        workers[3].connected = false;
        workers
    }

    #[track_caller]
    fn check(query: &str, expected: &[u64]) {
        let query = Query::try_from_uri(&format!("/?{query}").parse().expect("a path")).expect("a query");
        let Query(query): Query<WorkerQuery> = query;
        let workers = some();
        let meant = meant(&query, &workers).expect("it makes sense");
        assert_eq!(meant.iter().map(|worker| worker.id.0).collect::<Vec<_>>(), expected, "{query:?}");
    }

    #[test]
    fn workers_are_found_and_sorted() {
        check("", &[2, 1, 3, 4]);
        check("reverse=true", &[4, 3, 1, 2]);
        check("name=anna", &[1, 3]);
        check("name=ann", &[]);
        check("search=ANN", &[1, 3]);
        check("search=bert", &[2]);
        check("search=rack+avx", &[4]);
        check("search=rack+portable", &[]);
        check("search=000000", &[2, 1, 3, 4]);
        check("state=blocked", &[2]);
        check("state=lost", &[4]);
        check("state=ready", &[1, 3, 4]);
        check("sort=state", &[4, 2, 1, 3]);
        check("sort=threads", &[4, 3, 2, 1]);
        check("sort=kernel", &[2, 4, 1, 3]);
        check("sort=silence&reverse=true", &[1, 2, 3, 4]);
    }
}
