//! Counts one job by a cluster of cards and processors in simulated time, and measures how much of their time is idle.
//!
//! It drives the coordinator's [`Core`](queens_ledger::Core), and the workers'
//! [`LeaseQueue`](queens_worker_session::LeaseQueue)s and [`WorkerSession`](queens_worker_session::WorkerSession)s, by
//! a real plan. Nothing is counted: a subproblem takes its time, and has one solution.

pub(crate) mod cluster;
pub(crate) mod outcome;
pub(crate) mod team;
mod worker;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use queens_solver::{BoardSize, Method, Plan};

use self::team::Team;

/// The clusters, with their names: cards of 100 to 400 cores' speed, beside few or many processors.
pub(crate) const CLUSTERS: [(&str, [Team; 2]); 3] = [
    ("8 cards and 1000 workers of 1 thread", [Team::cards(8, 100.0, 400.0), Team::processors(1000, 1)]),
    ("8 cards and 8 workers of 16 threads", [Team::cards(8, 100.0, 400.0), Team::processors(8, 16)]),
    ("1 card and 1 worker of 16 threads", [Team::cards(1, 108.0, 108.0), Team::processors(1, 16)]),
];

/// Makes the plan of a board by halves.
pub(crate) fn plan(n: u8) -> Arc<Plan> {
    let n = BoardSize::new(n).expect("a board size");
    let plan = Plan::new(n, Method::Halves, NonZeroUsize::MIN, &AtomicBool::new(false));
    plan.expect("nobody stops it").into()
}

/// Returns the core-seconds of a board by halves, measured with AVX-512 (docs/HALVES.md).
pub(crate) fn core_seconds(n: u8) -> f64 {
    match n {
        20 => 81.0,
        22 => 3.0e3,
        24 => 1.8e5,
        26 => 1.6e7,
        _ => panic!("n = {n} has no figure here"),
    }
}
