//! Sums of what threads have counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a process has counted since it started, recorded or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Subproblems of all jobs, by both methods.
    pub n_subproblems: u64,
    /// The processor time of counting.
    pub core_time: Duration,
    /// The time that threads of cards counted. A card has several threads, which take turns.
    pub card_thread_time: Duration,
}

/// The sums of some threads, which each chunk updates at the cost of two additions.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    n_subproblems: AtomicU64,
    // Wraps after half a million years.
    microseconds: AtomicU64,
}

impl Tally {
    /// Adds a chunk that took `time`.
    pub(crate) fn add(&self, n_subproblems: u64, time: Duration) {
        self.n_subproblems.fetch_add(n_subproblems, Ordering::Relaxed);
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    pub(crate) fn n_subproblems(&self) -> u64 {
        self.n_subproblems.load(Ordering::Relaxed)
    }

    pub(crate) fn thread_time(&self) -> Duration {
        Duration::from_micros(self.microseconds.load(Ordering::Relaxed))
    }
}
