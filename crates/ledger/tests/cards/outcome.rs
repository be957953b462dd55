//! The measurements of a simulated job.

use std::time::Duration;

/// The measurements of one job. Times are in seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The time from the plan to the last record.
    pub(crate) seconds: f64,
    /// The true work over the speed of all threads.
    pub(crate) ideal_seconds: f64,
    /// The threads of cards, and of processors.
    pub(crate) cards: Threads,
    pub(crate) processors: Threads,
    /// From the first moment when a card's thread has nothing to do, after the last subproblem was leased, to the end.
    pub(crate) tail_seconds: f64,
    pub(crate) n_leases: u64,
    pub(crate) most_subproblems_of_a_lease: u64,
    pub(crate) most_spans_of_a_lease: u64,
    pub(crate) n_subproblems: u64,
    /// The work that was counted twice.
    pub(crate) repeated_work: f64,
    /// The coordinator's steps in each quarter of the job.
    pub(crate) quarters: [Steps; 4],
    /// The most leases that were granted in a second.
    pub(crate) most_leases_a_second: u64,
}

/// The time of some threads, each weighted by its speed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Threads {
    /// Work units per second of all of them.
    pub(crate) speed: f64,
    /// The work that they could have counted while idle, and while calls took time beside the work.
    pub(crate) idle: f64,
    pub(crate) calls: f64,
}

impl Threads {
    /// Returns the share of their time that is idle.
    pub(crate) fn idle_share(&self, seconds: f64) -> f64 {
        share(self.idle, self.speed * seconds)
    }
}

/// Steps of the coordinator, and the real time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) n_messages: u64,
    pub(crate) n_ticks: u64,
    pub(crate) took: Duration,
}

impl Outcome {
    /// Returns the share of the time of all threads that is idle, weighted by speed.
    pub(crate) fn idle_share(&self) -> f64 {
        let speed = self.cards.speed + self.processors.speed;
        share(self.cards.idle + self.processors.idle, speed * self.seconds)
    }
}

pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
