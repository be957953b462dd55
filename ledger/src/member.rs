//! A worker as the ledger knows it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_messages::{Hello, JobId, LeaseId};

use crate::failure::Failures;
use crate::store::Source;

/// Leases a worker may hold for each of its threads: one that is counted and one that waits.
const LEASES_PER_THREAD: usize = 2;

/// How much of a thread's past its rate for sizing leases, and its speed for telling time, go by.
const RATE_SECONDS: f64 = 30.0;
const SPEED_SECONDS: f64 = 300.0;

/// How long a guess counts as if it had been measured, and how much has to be measured to be told.
const GUESS_SECONDS: f64 = 0.1;
const MEASURED_SECONDS: f64 = 0.02;

/// No thread counts more nodes a second.
const FASTEST: f64 = 1e13;

/// A worker of this coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) source: Arc<Source>,
    pub(crate) n_threads: u32,
    pub(crate) connected: bool,
    /// When its last message came, or when its connection was lost.
    pub(crate) heard: Duration,
    /// What it counts now: the first of what it holds, as it counts leases in order.
    pub(crate) running: BTreeSet<LeaseId>,
    /// What it holds of each job.
    pub(crate) shares: BTreeMap<JobId, Share>,
    /// Leases that wait and may be cut, by their work.
    pub(crate) tails: BTreeSet<(u128, LeaseId)>,
    /// The work of all leases that run, and of all that wait.
    pub(crate) running_work: u128,
    pub(crate) waiting_work: u128,
    /// In estimated nodes, because that is what leases are sized in.
    pub(crate) rate: Rate,
    /// In counted nodes, and of the last minutes.
    pub(crate) speed: Rate,
    /// Spans recorded from its reports.
    pub(crate) n_recorded: u64,
    /// Whether a lease of it was taken back as overdue, and nothing has come from it since.
    pub(crate) stuck: bool,
    /// Whether an operator has sent it home.
    pub(crate) draining: bool,
    /// Whether an operator has blocked its name.
    pub(crate) blocked: bool,
    /// What it failed at since it last reported anything.
    pub(crate) failures: Failures,
}

/// What a worker holds of one job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share {
    pub(crate) waiting: BTreeSet<LeaseId>,
    /// Those, running or waiting, that it was not told to give back.
    pub(crate) unrecalled: BTreeSet<LeaseId>,
    /// How many run, their work, and the sum of the times at which they were heard of.
    pub(crate) n_running: u32,
    pub(crate) running_work: u128,
    pub(crate) heard_nanos: u128,
}

impl Member {
    /// A worker that says hello, of which `known` is remembered.
    pub(crate) fn new(hello: &Hello, known: Option<&Self>, now: Duration) -> Self {
        let source =
            Source { worker: hello.name.clone(), build: hello.build.clone(), kernel: hello.kernel.clone() };
        let guess = |memory_seconds| Rate::guess(hello.rate, hello.n_threads, memory_seconds);
        Self {
            source: Arc::new(source),
            n_threads: hello.n_threads,
            connected: true,
            heard: now,
            running: BTreeSet::new(),
            shares: BTreeMap::new(),
            tails: BTreeSet::new(),
            running_work: 0,
            waiting_work: 0,
            rate: known.map_or(guess(RATE_SECONDS), |known| known.rate),
            speed: known.map_or(guess(SPEED_SECONDS), |known| known.speed),
            n_recorded: known.map_or(0, |known| known.n_recorded),
            stuck: false,
            draining: known.is_some_and(|known| known.draining),
            blocked: false,
            failures: Failures::default(),
        }
    }

    pub(crate) fn n_leases(&self) -> usize {
        self.running.len() + self.shares.values().map(|share| share.waiting.len()).sum::<usize>()
    }

    /// Whether it holds all the leases it may.
    pub(crate) fn is_full(&self) -> bool {
        self.n_leases() >= LEASES_PER_THREAD * self.n_threads as usize
    }

    /// Whether each of its threads has a lease.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.len() >= self.n_threads as usize
    }

    /// Whether an operator wants this worker to have no leases.
    pub(crate) fn is_held_back(&self) -> bool {
        self.draining || self.blocked
    }

    /// Whether there is nothing against it but that it fails again and again.
    pub(crate) fn could_count(&self) -> bool {
        self.connected && !self.stuck && !self.is_held_back()
    }

    /// Whether it can be given leases at all.
    pub(crate) fn is_of_use(&self) -> bool {
        self.could_count() && !self.failures.are_too_many()
    }

    /// The first lease that waits.
    pub(crate) fn first_waiting(&self) -> Option<LeaseId> {
        self.shares.values().filter_map(|share| share.waiting.first()).min().copied()
    }

    /// Estimated nodes per second of all its threads.
    pub(crate) fn whole_rate(&self) -> f64 {
        self.rate.get() * f64::from(self.n_threads)
    }

    /// What all its threads count together, in counted nodes per second: 0 if they have nothing to count, `None` if
    /// nobody has measured it.
    pub(crate) fn told_speed(&self) -> Option<f64> {
        if self.running.is_empty() {
            return Some(0.0);
        }
        Some(self.speed.measured()? * f64::from(self.n_threads))
    }

    /// The seconds until a thread of it is free for what waits, as far as is known.
    pub(crate) fn seconds_before_waiting(&self, now: Duration) -> f64 {
        let n_running = self.shares.values().map(|share| u128::from(share.n_running)).sum::<u128>().max(1);
        let heard: u128 = self.shares.values().map(|share| share.heard_nanos).sum();
        let silent = now.as_nanos().saturating_sub(heard / n_running) as f64 / 1e9;
        (self.running_work as f64 / self.whole_rate() - silent).max(0.0)
    }
}

impl Share {
    /// Whether the worker holds nothing of the job.
    pub(crate) fn is_empty(&self) -> bool {
        self.n_running == 0 && self.waiting.is_empty()
    }

    /// The sum of the seconds since its running leases were heard of.
    pub(crate) fn silent_seconds(&self, now: Duration) -> f64 {
        let since = now.as_nanos().saturating_mul(self.n_running.into());
        since.saturating_sub(self.heard_nanos) as f64 / 1e9
    }
}

/// The speed of one thread of a worker lately: nodes over time. What was guessed to begin with fades.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    guessed: Counted,
    measured: Counted,
    memory_seconds: f64,
}

/// Nodes, and the time that one thread takes for them.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    nodes: f64,
    seconds: f64,
}

impl Rate {
    /// A guess to start from, which the first second of measurement outweighs; later `memory_seconds` of each thread
    /// count.
    pub(crate) fn guess(nodes_per_second: f64, n_threads: u32, memory_seconds: f64) -> Self {
        let usable = (1.0..=FASTEST).contains(&nodes_per_second);
        let nodes_per_second = if usable { nodes_per_second } else { 1e7 };
        Self {
            guessed: Counted { nodes: nodes_per_second * GUESS_SECONDS, seconds: GUESS_SECONDS },
            measured: Counted::default(),
            memory_seconds: memory_seconds * f64::from(n_threads),
        }
    }

    pub(crate) fn add(&mut self, nodes: f64, duration: Duration) {
        self.measured.nodes += nodes;
        self.measured.seconds += duration.as_secs_f64();
        if self.guessed.seconds + self.measured.seconds > self.memory_seconds {
            self.guessed = self.guessed.half();
            self.measured = self.measured.half();
        }
    }

    /// Whether there is hardly a measurement yet.
    pub(crate) fn is_guess(self) -> bool {
        self.measured.seconds < MEASURED_SECONDS
    }

    /// Nodes per second, what was guessed included: there is always one.
    pub(crate) fn get(self) -> f64 {
        let nodes = self.guessed.nodes + self.measured.nodes;
        (nodes / (self.guessed.seconds + self.measured.seconds)).max(1.0)
    }

    /// Nodes per second as measured, if they are.
    pub(crate) fn measured(self) -> Option<f64> {
        (!self.is_guess()).then(|| (self.measured.nodes / self.measured.seconds).max(1.0))
    }
}

impl Counted {
    fn half(self) -> Self {
        Self { nodes: self.nodes / 2.0, seconds: self.seconds / 2.0 }
    }
}
