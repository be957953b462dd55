//! A worker as the ledger knows it.

use std::sync::Arc;
use std::time::Duration;

use queens_messages::{Hello, Name, Speed};

use crate::store::Source;
use crate::workers::failures::Failures;
use crate::workers::hand::Hand;
use crate::workers::speed::MeasuredSpeed;

/// Leases a worker may hold for each of its threads: one that is counted and one that waits.
const LEASES_PER_THREAD: usize = 2;

/// How much of a thread's past the speed that leases are sized by, and the speed that is told, go by.
const ESTIMATED_SECONDS: f64 = 30.0;
const COUNTED_SECONDS: f64 = 300.0;

/// A worker of this coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    source: Arc<Source>,
    n_threads: u32,
    connected: bool,
    /// When its last message came, or when its connection was lost.
    heard: Duration,
    hand: Hand,
    /// Of one thread, in estimated nodes, because that is what leases are sized in.
    estimated: MeasuredSpeed,
    /// Of one thread, in counted nodes, and of the last minutes.
    counted: MeasuredSpeed,
    /// Spans recorded from its reports.
    n_recorded: u64,
    /// Whether a lease of it was taken back as overdue, and nothing has come from it since.
    stuck: bool,
    /// Whether an operator has sent it home.
    draining: bool,
    /// Whether an operator has blocked its name.
    blocked: bool,
    failures: Failures,
}

/// Looking.
impl Worker {
    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The name people call it by.
    pub(crate) fn name(&self) -> &Name {
        &self.source.name
    }

    pub(crate) fn n_threads(&self) -> u32 {
        self.n_threads
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connected
    }

    /// When its last message came, or when its connection was lost.
    pub(crate) fn heard(&self) -> Duration {
        self.heard
    }

    /// What it holds.
    pub(crate) fn hand(&self) -> &Hand {
        &self.hand
    }

    /// The speed of one thread in estimated nodes, as far as is known.
    pub(crate) fn estimated(&self) -> MeasuredSpeed {
        self.estimated
    }

    /// The speed of one thread in counted nodes, as far as is known.
    pub(crate) fn counted(&self) -> MeasuredSpeed {
        self.counted
    }

    pub(crate) fn n_recorded(&self) -> u64 {
        self.n_recorded
    }

    pub(crate) fn is_stuck(&self) -> bool {
        self.stuck
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked
    }

    pub(crate) fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Whether it holds all the leases it may.
    pub(crate) fn is_full(&self) -> bool {
        self.hand.n_leases() >= LEASES_PER_THREAD * self.n_threads as usize
    }

    /// Whether each of its threads has a lease.
    pub(crate) fn is_busy(&self) -> bool {
        self.hand.n_running() >= self.n_threads as usize
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

    /// Estimated nodes per second of all its threads.
    pub(crate) fn whole_speed(&self) -> f64 {
        self.estimated.nodes_per_second() * f64::from(self.n_threads)
    }

    /// What all its threads count together, in counted nodes: 0 if they have nothing to count, `None` if nobody has
    /// measured it.
    pub(crate) fn told_speed(&self) -> Option<Speed> {
        if self.hand.n_running() == 0 {
            return Some(Speed::ZERO);
        }
        Speed::try_from(self.counted.measured()? * f64::from(self.n_threads)).ok()
    }

    /// The seconds until a thread of it is free for what waits, as far as is known.
    pub(crate) fn seconds_before_waiting(&self, now: Duration) -> f64 {
        (self.hand.running_work() as f64 / self.whole_speed() - self.hand.silent_seconds(now)).max(0.0)
    }
}

/// Changing.
impl Worker {
    /// A worker that says hello, of which `known` is remembered, and which holds nothing yet.
    pub(crate) fn new(hello: &Hello, known: Option<&Self>, now: Duration) -> Self {
        let source =
            Source { name: hello.name.clone(), build: hello.build.clone(), kernel: hello.kernel.clone() };
        let guess = |memory_seconds| MeasuredSpeed::guess(hello.speed.get(), hello.n_threads, memory_seconds);
        Self {
            source: Arc::new(source),
            n_threads: hello.n_threads,
            connected: true,
            heard: now,
            hand: Hand::default(),
            estimated: known.map_or(guess(ESTIMATED_SECONDS), |known| known.estimated),
            counted: known.map_or(guess(COUNTED_SECONDS), |known| known.counted),
            n_recorded: known.map_or(0, |known| known.n_recorded),
            stuck: false,
            draining: known.is_some_and(|known| known.draining),
            blocked: false,
            failures: Failures::default(),
        }
    }

    /// A message of it has come.
    pub(crate) fn hear(&mut self, now: Duration) {
        self.heard = now;
    }

    /// Its connection is gone.
    pub(crate) fn disconnect(&mut self, now: Duration) {
        self.connected = false;
        self.heard = now;
    }

    pub(crate) fn hand_mut(&mut self) -> &mut Hand {
        &mut self.hand
    }

    /// A report of it was recorded: one of its threads took `duration` for so many nodes.
    pub(crate) fn note_recorded(&mut self, estimated: u128, counted: u64, duration: Duration) {
        self.estimated.add(estimated as f64, duration);
        self.counted.add(counted as f64, duration);
        self.n_recorded += 1;
    }

    /// Whether it is stuck: a lease of it was overdue, or something has come from it since.
    pub(crate) fn set_stuck(&mut self, stuck: bool) {
        self.stuck = stuck;
    }

    /// An operator sends it home.
    pub(crate) fn drain(&mut self) {
        self.draining = true;
    }

    pub(crate) fn set_blocked(&mut self, blocked: bool) {
        self.blocked = blocked;
    }

    /// It has failed on spans, of one job on too many or not. Returns whether it is of no use any more.
    pub(crate) fn fail(&mut self, reason: String, too_many_spans: bool) -> bool {
        self.failures.add(reason, too_many_spans);
        self.failures.are_too_many()
    }

    /// What it has failed at does not count any more.
    pub(crate) fn forgive(&mut self) {
        self.failures = Failures::default();
    }
}
