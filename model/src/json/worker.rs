//! Workers.

use crate::{InHand, MethodSpeeds, WorkerStatus};
use serde::Serialize;

/// A worker as it stood within the last second.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Worker {
    /// The number that its process drew, in hexadecimal digits.
    worker: String,
    /// The name people gave it; need not be unique.
    name: String,
    /// Whether it gets leases, and why not.
    #[cfg_attr(feature = "schema", schema(schema_with = state))]
    state: &'static str,
    /// The version of its program.
    build: String,
    /// What it counts with.
    kernel: String,
    /// What it can count by: search, halves.
    methods: Vec<&'static str>,
    /// Its counting threads.
    threads: u32,
    /// Whether its connection is open.
    connected: bool,
    /// Time since it was last heard of.
    seconds_silent: f64,
    /// What all its threads count together, as measured, nodes of the search and units of halves added up: 0 if it has
    /// nothing to count, null if nobody has measured it.
    #[cfg_attr(feature = "schema", schema(required))]
    nodes_per_second: Option<f64>,
    /// The same by each method.
    #[cfg_attr(feature = "schema", schema(required))]
    speed_by: Option<SpeedBy>,
    /// Leases it holds.
    leases: u32,
    /// Spans recorded from its reports since the coordinator was started.
    recorded: u64,
    /// What it last failed at, if it has not reported anything since, or why its name is suspect.
    #[cfg_attr(feature = "schema", schema(required))]
    failure: Option<String>,
    /// What one of its threads is counting.
    #[cfg_attr(feature = "schema", schema(required))]
    counting: Option<Counting>,
}

/// How fast is counted by each method.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SpeedBy {
    /// By search: nodes per second.
    search: f64,
    /// By halves: units of pairs per second.
    halves: f64,
}

impl From<MethodSpeeds> for SpeedBy {
    fn from(speeds: MethodSpeeds) -> Self {
        Self { search: speeds.search.get(), halves: speeds.halves.get() }
    }
}

/// What one of a worker's threads is counting.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Counting {
    /// The job.
    job: String,
    /// How that is counted: search, halves.
    method: &'static str,
    /// The number of the cross, or of the part of the halves.
    cross: u32,
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
            cross: span.cross(),
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
            nodes_per_second: worker.speed.map(|speeds| speeds.sum().get()),
            speed_by: worker.speed.map(SpeedBy::from),
            leases: worker.n_leases,
            recorded: worker.n_recorded,
            failure: worker.failure.clone(),
            counting,
        }
    }
}

#[cfg(feature = "schema")]
fn state() -> utoipa::openapi::Object {
    let states = crate::WorkerState::ALL.map(|state| state.name());
    crate::json::schema::one_of("Whether it gets leases, and why not.", states)
}
