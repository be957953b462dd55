//! Jobs and workers as JSON.
//!
//! Names and meanings are those of `queens … --output json`. Numbers that may outgrow what JSON readers hold exactly
//! (2^53) are strings.

use queens_messages::{CoordinatorStatus, JobState, JobStatus, WorkerStatus};
use queens_solver::published;
use serde::Serialize;

use crate::Snapshot;
use crate::history::Pace;

/// A coordinator as it stands.
#[derive(Debug, Serialize)]
pub(super) struct Coordinator {
    version: String,
    seconds_up: f64,
    store: String,
    store_error: Option<String>,
    refuses: Vec<String>,
    slowest_step_seconds: f64,
}

impl From<CoordinatorStatus> for Coordinator {
    fn from(coordinator: CoordinatorStatus) -> Self {
        Self {
            version: coordinator.version.to_string(),
            seconds_up: coordinator.uptime.as_secs_f64(),
            store: coordinator.store.to_string(),
            store_error: coordinator.store_error,
            refuses: coordinator.refuses,
            slowest_step_seconds: coordinator.slowest_step.as_secs_f64(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Job {
    job: String,
    n: u8,
    state: &'static str,
    priority: i32,
    solutions: String,
    nodes: String,
    fraction: f64,
    subproblems: String,
    recorded: String,
    seconds: f64,
    seconds_left: Option<f64>,
    seconds_left_low: Option<f64>,
    seconds_left_high: Option<f64>,
    workers: u32,
    verified: u64,
    disputed: u64,
    failed: u64,
    given_up: u64,
    failure: Option<String>,
    store_error: Option<String>,
    plans_before: Option<u32>,
    plan_fraction: Option<f64>,
    fundamental: Option<String>,
    published: Option<String>,
    agrees: Option<bool>,
    created_ms: u64,
    started_ms: Option<u64>,
    finished_ms: Option<u64>,
    nodes_per_second: Option<f64>,
    nodes_per_second_hour: Option<f64>,
}

impl Job {
    pub(super) fn of(job: &JobStatus, snapshot: &Snapshot, pace: Pace) -> Self {
        let pace = if job.state == JobState::Running { pace } else { Pace::default() };
        let published = published(job.n).filter(|_| job.state == JobState::Done);
        Self {
            job: job.id.to_string(),
            n: job.n.get(),
            state: job.state.name(),
            priority: job.priority.get(),
            solutions: job.progress.solutions.to_string(),
            nodes: job.progress.nodes.to_string(),
            fraction: job.fraction(),
            subproblems: job.progress.n_subproblems.to_string(),
            recorded: job.progress.n_recorded.to_string(),
            seconds: job.active.as_secs_f64(),
            seconds_left: job.seconds_left,
            seconds_left_low: job.seconds_left_low,
            seconds_left_high: job.seconds_left_high,
            workers: job.n_workers,
            verified: job.n_verified,
            disputed: job.n_disputed,
            failed: job.n_failed,
            given_up: job.n_given_up,
            failure: job.failure.clone(),
            store_error: snapshot.store_error.clone(),
            plans_before: job.n_plans_before,
            plan_fraction: job.plan_fraction,
            fundamental: job.fundamental.map(|count| count.to_string()),
            published: published.map(|counts| counts.solutions.to_string()),
            agrees: job.agrees(),
            created_ms: job.created_ms,
            started_ms: job.started_ms,
            finished_ms: job.finished_ms,
            nodes_per_second: pace.now,
            nodes_per_second_hour: pace.hour,
        }
    }
}

/// What a worker has counted.
#[derive(Debug, Serialize)]
pub(super) struct Contribution {
    worker: String,
    kernel: String,
    spans: u64,
    nodes: String,
    core_seconds: f64,
    share: f64,
}

impl Contribution {
    /// All of them, each with its share of all nodes.
    pub(super) fn all(contributions: &[queens_messages::Contribution]) -> Vec<Self> {
        let all: u128 = contributions.iter().map(|it| it.nodes).sum();
        let one = |it: &queens_messages::Contribution| Self {
            worker: it.worker.to_string(),
            kernel: it.kernel.to_string(),
            spans: it.n_spans,
            nodes: it.nodes.to_string(),
            core_seconds: it.time.as_secs_f64(),
            share: it.nodes as f64 / all.max(1) as f64,
        };
        contributions.iter().map(one).collect()
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Worker {
    worker: String,
    name: String,
    state: &'static str,
    build: String,
    kernel: String,
    threads: u32,
    connected: bool,
    seconds_silent: f64,
    nodes_per_second: Option<f64>,
    leases: u32,
    recorded: u64,
    failure: Option<String>,
    counting: Option<Counting>,
}

/// What one of a worker's threads is counting.
#[derive(Debug, Serialize)]
struct Counting {
    job: String,
    #[serde(flatten)]
    span: Span,
}

/// A half-open range of subproblems of a cross.
#[derive(Debug, Serialize)]
pub(super) struct Span {
    cross: u32,
    from: u64,
    to: u64,
}

impl From<queens_solver::Span> for Span {
    fn from(span: queens_solver::Span) -> Self {
        Self { cross: span.cross(), from: span.from(), to: span.to() }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Event {
    number: u64,
    at_ms: u64,
    kind: &'static str,
    job: Option<String>,
    text: String,
}

impl From<&queens_messages::Event> for Event {
    fn from(event: &queens_messages::Event) -> Self {
        Self {
            number: event.number,
            at_ms: event.at_ms,
            kind: event.kind.name(),
            job: event.job.map(|job| job.to_string()),
            text: event.text.clone(),
        }
    }
}

impl From<&WorkerStatus> for Worker {
    fn from(worker: &WorkerStatus) -> Self {
        Self {
            worker: worker.id.to_string(),
            name: worker.name.to_string(),
            state: worker.state.name(),
            build: worker.build.to_string(),
            kernel: worker.kernel.to_string(),
            threads: worker.n_threads,
            connected: worker.connected,
            seconds_silent: worker.silent.as_secs_f64(),
            nodes_per_second: worker.rate,
            leases: worker.n_leases,
            recorded: worker.n_recorded,
            failure: worker.failure.clone(),
            counting: worker.counting.map(|(job, span)| Counting { job: job.to_string(), span: span.into() }),
        }
    }
}
