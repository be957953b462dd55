//! Workers as JSON.

use crate::{CardSensors, InHand, MethodSpeeds, WorkerStatus};
use serde::Serialize;

/// The status of a worker, at most a second old.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Worker {
    /// The random number of the worker's process, in hexadecimal digits.
    worker: String,
    /// The worker's name, which need not be unique.
    name: String,
    /// Whether it gets leases, and if not, why.
    #[cfg_attr(feature = "schema", schema(schema_with = state))]
    state: &'static str,
    /// The version of its program.
    build: String,
    /// The kernel it counts with.
    kernel: String,
    /// The methods it supports: search, halves.
    methods: Vec<&'static str>,
    /// Number of counting threads.
    threads: u32,
    /// Whether it is connected.
    connected: bool,
    /// Time since its last message.
    seconds_silent: f64,
    /// The measured speed of all its threads, with nodes of the search and units of halves added up: 0 if it is idle,
    /// null if not measured.
    work_per_second: Option<f64>,
    /// The same, split by method.
    speed_by: Option<SpeedBy>,
    /// Number of leases it holds.
    leases: u32,
    /// Spans recorded from its reports since the coordinator started.
    recorded: u64,
    /// Its last failure if it has not reported since, or why its name is suspect.
    failure: Option<String>,
    /// The span that one of its threads is counting.
    counting: Option<Counting>,
    /// The measurements of its graphics card; null if none is known.
    sensors: Option<CardSensors>,
}

/// Speed by method.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SpeedBy {
    /// Nodes of the search per second.
    search: f64,
    /// Units of pairs of halves per second.
    halves: f64,
}

impl From<MethodSpeeds> for SpeedBy {
    fn from(speeds: MethodSpeeds) -> Self {
        Self { search: speeds.search.get(), halves: speeds.halves.get() }
    }
}

/// A span that one of a worker's threads is counting.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Counting {
    /// The job's number.
    job: String,
    /// The job's method: search, halves.
    method: &'static str,
    /// The number of the part.
    part: u32,
    /// The first subproblem that is left.
    from: u64,
    /// The subproblem after the last.
    to: u64,
}

impl From<&WorkerStatus> for Worker {
    fn from(worker: &WorkerStatus) -> Self {
        let counting = worker.counting.map(|InHand { job, method, span }| Counting {
            job: job.to_string(),
            method: method.name(),
            part: span.part(),
            from: span.from(),
            to: span.to(),
        });
        Self {
            worker: worker.id.to_string(),
            name: worker.name.to_string(),
            state: worker.state.name(),
            build: worker.build.to_string(),
            kernel: worker.kernel.to_string(),
            methods: worker.methods.iter().map(|method| method.name()).collect(),
            threads: worker.n_threads,
            connected: worker.connected,
            seconds_silent: worker.silent.as_secs_f64(),
            work_per_second: worker.speed.map(|speeds| speeds.sum().get()),
            speed_by: worker.speed.map(SpeedBy::from),
            leases: worker.n_leases,
            recorded: worker.n_recorded,
            failure: worker.failure.clone(),
            counting,
            sensors: (!worker.sensors.is_unknown()).then_some(worker.sensors),
        }
    }
}

#[cfg(feature = "schema")]
fn state() -> utoipa::openapi::Object {
    let states = crate::WorkerState::ALL.map(|state| state.name());
    crate::json::schema::one_of("Whether it gets leases, and why not.", states)
}
