//! The JSON API under `/api/v1`, which the pages themselves use. `openapi.json` describes it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get, post};
use queens_messages::{Event, JobId, JobStatus, Name, Priority, WorkerState, WorkerStatus};
use queens_proto::convert::worker_name;
use queens_solver::BoardSize;
use serde::{Deserialize, Serialize};

use super::object::Object;
use super::{App, Refusal, crosses, live, view};
use crate::Stopped;
use queens_ledger::{JobChange, WorkerChange};

/// How long the event loop may take to carry something out.
const PATIENCE: Duration = Duration::from_secs(5);

/// Entries of a list in one answer.
const MOST_ENTRIES: usize = 1000;

pub(super) const OPENAPI: &str = include_str!("openapi.json");

pub(super) fn routes() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/api/v1/openapi.json", get(async || ([(CONTENT_TYPE, "application/json")], OPENAPI))),
        ("/api/v1/live", get(live::follow)),
        ("/api/v1/coordinator", get(coordinator)),
        ("/api/v1/jobs", get(jobs).post(submit)),
        ("/api/v1/jobs/{job}", get(job)),
        ("/api/v1/jobs/{job}/history", get(live::history)),
        ("/api/v1/jobs/{job}/contributions", get(contributions)),
        ("/api/v1/jobs/{job}/cells", get(crosses::cells)),
        ("/api/v1/jobs/{job}/crosses", get(crosses::list)),
        ("/api/v1/jobs/{job}/crosses/{cross}", get(crosses::explain)),
        ("/api/v1/jobs/{job}/crosses/{cross}/board.svg", get(crosses::draw)),
        ("/api/v1/events", get(events)),
        ("/api/v1/jobs/{job}/pause", post(pause)),
        ("/api/v1/jobs/{job}/resume", post(resume)),
        ("/api/v1/jobs/{job}/cancel", post(cancel)),
        ("/api/v1/jobs/{job}/priority", post(set_priority)),
        ("/api/v1/workers", get(workers)),
        ("/api/v1/workers/drain", post(drain)),
        ("/api/v1/workers/block", post(block)),
        ("/api/v1/workers/unblock", post(unblock)),
    ]
}

pub(super) type Body<T> = Result<Json<Object<T>>, JsonRejection>;
pub(super) type Ask<T> = Result<Query<T>, QueryRejection>;
pub(super) type Answer<T> = Result<Json<T>, Refusal>;

/// A part of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    #[serde(default)]
    pub(super) offset: usize,
    pub(super) limit: Option<usize>,
}

impl Page {
    pub(super) fn of<T>(self, list: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        list.skip(self.offset).take(self.limit.unwrap_or(MOST_ENTRIES).min(MOST_ENTRIES))
    }
}

/// The coordinator itself.
async fn coordinator(State(app): State<App>) -> Json<view::Coordinator> {
    Json(app.handle.status().into())
}

#[derive(Debug, Serialize)]
struct Jobs {
    jobs: Vec<view::Job>,
    total: usize,
}

/// The jobs, the latest first.
async fn jobs(State(app): State<App>, page: Ask<Page>) -> Answer<Jobs> {
    let Query(page) = page?;
    let snapshot = app.handle.snapshot();
    let jobs =
        page.of(snapshot.jobs.iter().rev()).map(|job| view::Job::of(job, &snapshot, app.live.pace(job.id)));
    let jobs = jobs.collect();
    Ok(Json(Jobs { jobs, total: snapshot.jobs.len() }))
}

async fn job(State(app): State<App>, Path(id): Path<String>) -> Answer<view::Job> {
    shown(&app, job_id(&id)?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Submission {
    n: u32,
    #[serde(default)]
    priority: i32,
}

async fn submit(State(app): State<App>, body: Body<Submission>) -> Result<impl IntoResponse, Refusal> {
    let Json(Object(Submission { n, priority })) = body?;
    let n = BoardSize::try_from(n).map_err(|error| Refusal::bad_request(error.to_string()))?;
    let priority = self::priority(priority)?;
    let job = carried_out(&app, app.handle.submit(n, priority)).await??;
    Ok((StatusCode::CREATED, [(LOCATION, format!("/api/v1/jobs/{job}"))], shown(&app, job)?))
}

/// A body without contents. It has to be there: only a request with a body can have the content type of JSON, which
/// pages of other sites can't send.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

async fn pause(State(app): State<App>, Path(id): Path<String>, body: Body<Nothing>) -> Answer<view::Job> {
    let Json(Object(Nothing {})) = body?;
    change(&app, &id, JobChange::Pause).await
}

async fn resume(State(app): State<App>, Path(id): Path<String>, body: Body<Nothing>) -> Answer<view::Job> {
    let Json(Object(Nothing {})) = body?;
    change(&app, &id, JobChange::Resume).await
}

async fn cancel(State(app): State<App>, Path(id): Path<String>, body: Body<Nothing>) -> Answer<view::Job> {
    let Json(Object(Nothing {})) = body?;
    let job = job_id(&id)?;
    carried_out(&app, app.handle.cancel(job)).await??;
    shown(&app, job)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Urgency {
    priority: i32,
}

async fn set_priority(
    State(app): State<App>,
    Path(id): Path<String>,
    body: Body<Urgency>,
) -> Answer<view::Job> {
    let Json(Object(Urgency { priority })) = body?;
    change(&app, &id, JobChange::Priority(self::priority(priority)?)).await
}

async fn change(app: &App, id: &str, change: JobChange) -> Answer<view::Job> {
    let job = job_id(id)?;
    carried_out(app, app.handle.change_job(job, change)).await??;
    shown(app, job)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventQuery {
    job: Option<u64>,
    limit: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Events {
    events: Vec<view::Event>,
}

/// What has happened lately, the latest first; of one job, what it and all workers have in common included.
async fn events(State(app): State<App>, query: Ask<EventQuery>) -> Answer<Events> {
    let Query(EventQuery { job, limit }) = query?;
    let snapshot = app.handle.snapshot();
    if let Some(job) = job {
        find(&snapshot.jobs, JobId(job))?;
    }
    let concerns =
        |event: &&Arc<Event>| job.is_none() || event.job.is_none() || event.job.map(|id| id.0) == job;
    let events = Page { offset: 0, limit }.of(snapshot.events.iter().rev().filter(concerns));
    Ok(Json(Events { events: events.map(|event| view::Event::from(&**event)).collect() }))
}

#[derive(Debug, Serialize)]
struct Contributions {
    contributions: Vec<view::Contribution>,
    total: usize,
}

/// Who has counted a job, those with the most nodes first.
async fn contributions(
    State(app): State<App>,
    Path(id): Path<String>,
    page: Ask<Page>,
) -> Answer<Contributions> {
    let Query(page) = page?;
    let job = find(&app.handle.snapshot().jobs, job_id(&id)?)?.id;
    let contributions = app.handle.contributions(job).await;
    let contributions = contributions.map_err(|untold| Refusal::unavailable(untold.to_string()))?;
    let all = view::Contribution::all(&contributions);
    Ok(Json(Contributions { total: all.len(), contributions: page.of(all.into_iter()).collect() }))
}

/// The order in which workers are listed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Name,
    State,
    Speed,
    Silence,
    Recorded,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkerQuery {
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
    #[serde(default)]
    sort: Order,
}

#[derive(Debug, Serialize)]
struct Workers {
    workers: Vec<view::Worker>,
    total: usize,
    blocked: Vec<String>,
}

/// The workers.
async fn workers(State(app): State<App>, query: Ask<WorkerQuery>) -> Answer<Workers> {
    let Query(WorkerQuery { offset, limit, sort }) = query?;
    let snapshot = app.handle.snapshot();
    let mut workers: Vec<&WorkerStatus> = snapshot.workers.iter().collect();
    workers.sort_by(|a, b| {
        let first = match sort {
            Order::Name => a.name.cmp(&b.name),
            Order::State => trouble(a).cmp(&trouble(b)),
            Order::Speed => b.rate.unwrap_or(0.0).total_cmp(&a.rate.unwrap_or(0.0)),
            Order::Silence => b.silent.cmp(&a.silent),
            Order::Recorded => b.n_recorded.cmp(&a.n_recorded),
        };
        first.then_with(|| (&a.name, a.id).cmp(&(&b.name, b.id)))
    });
    let total = workers.len();
    let workers = Page { offset, limit }.of(workers.into_iter()).map(view::Worker::from).collect();
    let blocked = snapshot.blocked.iter().map(Name::to_string).collect();
    Ok(Json(Workers { workers, total, blocked }))
}

/// Sorts workers that are not connected first, then those that get no leases.
fn trouble(worker: &WorkerStatus) -> (bool, bool, &'static str) {
    (worker.connected, worker.state == WorkerState::Ready, worker.state.name())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

/// How many workers were meant.
#[derive(Debug, Serialize)]
struct Meant {
    workers: usize,
}

async fn drain(State(app): State<App>, body: Body<Named>) -> Answer<Meant> {
    change_workers(&app, body, WorkerChange::Drain).await
}

async fn block(State(app): State<App>, body: Body<Named>) -> Answer<Meant> {
    change_workers(&app, body, WorkerChange::Block).await
}

async fn unblock(State(app): State<App>, body: Body<Named>) -> Answer<Meant> {
    change_workers(&app, body, WorkerChange::Unblock).await
}

async fn change_workers(app: &App, body: Body<Named>, change: WorkerChange) -> Answer<Meant> {
    let Json(Object(Named { name })) = body?;
    let name = worker_name(&name).map_err(|invalid| Refusal::bad_request(invalid.to_string()))?;
    let workers = carried_out(app, app.handle.change_workers(name, change)).await??;
    Ok(Json(Meant { workers }))
}

/// Waits for the event loop, but not long, and not at all if it is known that it can't make anything durable.
async fn carried_out<T>(app: &App, command: impl Future<Output = Result<T, Stopped>>) -> Result<T, Refusal> {
    if let Some(error) = &app.handle.snapshot().store_error {
        return Err(Refusal::unavailable(format!("nothing was changed: {error}")));
    }
    match tokio::time::timeout(PATIENCE, command).await {
        Ok(result) => Ok(result?),
        Err(_) => {
            let error = app.handle.snapshot().store_error.clone();
            let why = error.unwrap_or_else(|| "the coordinator has too much to do".to_owned());
            Err(Refusal::unavailable(format!("not carried out yet, but it may still be: {why}")))
        }
    }
}

fn shown(app: &App, id: JobId) -> Answer<view::Job> {
    let snapshot = app.handle.snapshot();
    Ok(Json(view::Job::of(find(&snapshot.jobs, id)?, &snapshot, app.live.pace(id))))
}

pub(super) fn find(jobs: &[JobStatus], id: JobId) -> Result<&JobStatus, Refusal> {
    let job = jobs.iter().find(|job| job.id == id);
    job.ok_or_else(|| Refusal::not_found(format!("there is no job {id}")))
}

/// A job's number. What is none names no job.
pub(super) fn job_id(id: &str) -> Result<JobId, Refusal> {
    id.parse().map_err(|_| Refusal::not_found(format!("there is no job '{id}': jobs have numbers")))
}

fn priority(priority: i32) -> Result<Priority, Refusal> {
    Priority::try_from(priority).map_err(|error| Refusal::bad_request(error.to_string()))
}
