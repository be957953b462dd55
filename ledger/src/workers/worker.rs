//! A worker as the ledger knows it.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{Hello, MethodSpeeds, Name, Party, ReportInterval, Speed};
use queens_solver::Method;

use crate::by_method::ByMethod;
use crate::store::Source;
use crate::workers::failures::Failures;
use crate::workers::held_leases::HeldLeases;
use crate::workers::speed::MeasuredSpeed;

/// Leases a worker may hold for each of its threads: one that is counted and one that waits.
const LEASES_PER_THREAD: usize = 2;

/// How many threads of a worker get leases before anything has come of them, and how many for each that has reported
/// something: a number of threads that is only claimed is no reason to hold a large part of a job.
const UNPROVEN_THREADS: u32 = 32;
const THREADS_FOR_A_PROVEN_ONE: u32 = 4;

/// How much of a thread's past the speed that leases are sized by, and the speed that is told, go by.
const ESTIMATED_SECONDS: f64 = 30.0;
const COUNTED_SECONDS: f64 = 300.0;

/// A worker of this coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    source: Arc<Source>,
    n_threads: u32,
    /// How many of them have shown that they count: of so many leases something was recorded.
    n_proven: u32,
    connected: bool,
    /// When its last message came, or when its connection was lost.
    heard: Duration,
    /// How often it was told to report, and when the next report should come at the latest.
    interval: ReportInterval,
    due: Duration,
    held: HeldLeases,
    /// What it can count by, and how fast it is then. A node is not the same for different methods.
    skills: ByMethod<Option<Skill>>,
    /// Spans recorded from its reports.
    n_recorded: u64,
    /// Whether a lease of it was taken back as overdue, and nothing has come from it since.
    stuck: bool,
    /// The worker is doubted until it has reported from so many more leases. Begins with the lapses of its party.
    n_owed: u64,
    /// Whether an operator has sent it home.
    draining: bool,
    /// Whether its name or its party is blocked.
    blocked: bool,
    /// What it says of its machine.
    machine: u64,
    failures: Failures,
}

/// How fast one thread of a worker counts by a method.
#[derive(Clone, Copy, Debug)]
struct Skill {
    /// In estimated nodes, because that is what leases are sized in.
    estimated: MeasuredSpeed,
    /// In counted nodes, and of the last minutes.
    counted: MeasuredSpeed,
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

    /// Who runs it.
    pub(crate) fn party(&self) -> Party {
        self.source.party
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

    /// How often it reports.
    pub(crate) fn interval(&self) -> ReportInterval {
        self.interval
    }

    /// How much longer that is than most things here reckon with.
    pub(crate) fn extra_interval(&self) -> Duration {
        self.interval.get().saturating_sub(ReportInterval::USUAL.get())
    }

    /// When it should say something again at the latest.
    pub(crate) fn due(&self) -> Duration {
        self.due
    }

    /// What it holds.
    pub(crate) fn held_leases(&self) -> &HeldLeases {
        &self.held
    }

    /// Whether it can count by this method at all.
    pub(crate) fn can_count(&self, method: Method) -> bool {
        self.skills.of(method).is_some()
    }

    /// The speed of one thread in estimated nodes, as far as is known; `None` if it can't count by this method.
    pub(crate) fn estimated(&self, method: Method) -> Option<MeasuredSpeed> {
        self.skills.of(method).map(|skill| skill.estimated)
    }

    /// The speed of one thread in counted nodes, as far as is known; `None` if it can't count by this method.
    pub(crate) fn counted(&self, method: Method) -> Option<MeasuredSpeed> {
        self.skills.of(method).map(|skill| skill.counted)
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

    /// A number that it has in common with other workers of its machine.
    pub(crate) fn machine(&self) -> u64 {
        self.machine
    }

    pub(crate) fn failures(&self) -> &Failures {
        &self.failures
    }

    /// How many of its threads have shown that they count.
    pub(crate) fn n_proven(&self) -> u32 {
        self.n_proven
    }

    /// Whether it holds all the leases it may.
    pub(crate) fn is_full(&self) -> bool {
        let believed = self.n_proven.saturating_mul(THREADS_FOR_A_PROVEN_ONE).max(UNPROVEN_THREADS);
        self.held.n_leases() >= LEASES_PER_THREAD * self.n_threads.min(believed) as usize
    }

    /// Whether each of its threads has a lease.
    pub(crate) fn is_busy(&self) -> bool {
        self.held.n_running() >= self.n_threads as usize
    }

    /// Whether it is served last, because its party has lapses that its own reports have not made up for.
    pub(crate) fn is_doubted(&self) -> bool {
        self.n_owed > 0
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

    /// Estimated nodes per second of all its threads; `None` if it can't count by this method.
    pub(crate) fn whole_speed(&self, method: Method) -> Option<f64> {
        Some(self.estimated(method)?.nodes_per_second() * f64::from(self.n_threads))
    }

    /// What all its threads count together, in counted work: nothing if they have nothing to count, `None` if nobody has
    /// measured it.
    pub(crate) fn told_speed(&self) -> Option<MethodSpeeds> {
        let (n_threads, n_running) = (f64::from(self.n_threads), self.held.n_running() as f64);
        let of = |method| match self.held.n_running_by(method) {
            0 => Some(Speed::ZERO),
            n => {
                Speed::try_from(self.counted(method)?.measured()? * f64::from(n) / n_running * n_threads).ok()
            }
        };
        Some(MethodSpeeds { search: of(Method::Search)?, halves: of(Method::Halves)? })
    }

    /// The seconds that all its threads together take for what is counted now, from its beginning.
    fn running_seconds(&self) -> f64 {
        self.seconds_for(|method| self.held.running_work(method))
    }

    /// The seconds that all its threads together take for what waits.
    pub(crate) fn waiting_seconds(&self) -> f64 {
        self.seconds_for(|method| self.held.waiting_work(method))
    }

    fn seconds_for(&self, work: impl Fn(Method) -> u128) -> f64 {
        let seconds = |method| Some(work(method) as f64 / self.whole_speed(method)?);
        Method::ALL.into_iter().filter_map(seconds).sum()
    }

    /// The seconds until a thread of it is free for what waits, as far as is known.
    pub(crate) fn seconds_before_waiting(&self, now: Duration) -> f64 {
        (self.running_seconds() - self.held.silent_seconds(now)).max(0.0)
    }
}

/// Changing.
impl Worker {
    /// A worker of a party that says hello, of which `known` is remembered, and which holds nothing yet.
    pub(crate) fn new(hello: &Hello, party: Party, known: Option<&Self>, now: Duration) -> Self {
        let source = Source {
            name: hello.name.clone(),
            build: hello.build.clone(),
            kernel: hello.kernel.clone(),
            party,
        };
        let skill = |speed: Speed| {
            let guess = |memory_seconds| MeasuredSpeed::guess(speed.get(), hello.n_threads, memory_seconds);
            Skill { estimated: guess(ESTIMATED_SECONDS), counted: guess(COUNTED_SECONDS) }
        };
        let measured = |method| known.and_then(|known| *known.skills.of(method));
        let skills = ByMethod::new(|method| {
            let (decomposition, speed) = match method {
                Method::Search => (hello.decomposition, hello.speed),
                Method::Halves => (hello.halves.decomposition, hello.halves.speed),
            };
            let is_known = decomposition == method.decomposition();
            is_known.then(|| measured(method).unwrap_or_else(|| skill(speed)))
        });
        Self {
            source: Arc::new(source),
            n_threads: hello.n_threads,
            n_proven: known.map_or(0, |known| known.n_proven.min(hello.n_threads)),
            connected: true,
            heard: now,
            interval: ReportInterval::USUAL,
            due: now + ReportInterval::USUAL.get(),
            held: HeldLeases::default(),
            skills,
            n_recorded: known.map_or(0, |known| known.n_recorded),
            stuck: false,
            n_owed: known.map_or(0, |known| known.n_owed),
            draining: known.is_some_and(|known| known.draining),
            blocked: false,
            machine: hello.machine,
            failures: Failures::default(),
        }
    }

    /// A message of it has come.
    pub(crate) fn hear(&mut self, now: Duration) {
        self.heard = now;
        self.due = now + self.interval.get();
    }

    /// It is told how often to report. Whatever it was told before, it does so once within this time.
    pub(crate) fn tell_interval(&mut self, now: Duration, interval: ReportInterval) {
        self.interval = interval;
        self.due = now + interval.get();
    }

    /// Its connection is gone.
    pub(crate) fn disconnect(&mut self, now: Duration) {
        self.connected = false;
        self.heard = now;
    }

    pub(crate) fn hand_mut(&mut self) -> &mut HeldLeases {
        &mut self.held
    }

    /// One of its threads took `duration` for so many nodes.
    pub(crate) fn note_counted(&mut self, method: Method, estimated: u128, counted: u64, duration: Duration) {
        if let Some(skill) = self.skills.of_mut(method) {
            skill.estimated.add(estimated as f64, duration);
            skill.counted.add(counted as f64, duration);
        }
    }

    /// A span that it has counted was recorded.
    pub(crate) fn note_recorded(&mut self) {
        self.n_recorded += 1;
    }

    /// Something has come of one more of its leases.
    pub(crate) fn prove_thread(&mut self) {
        self.n_proven = self.n_threads.min(self.n_proven.saturating_add(1));
        self.n_owed = self.n_owed.saturating_sub(1);
    }

    /// Its party has so many lapses: it is doubted until it has reported from as many leases.
    pub(crate) fn owe(&mut self, n_lapses: u64) {
        self.n_owed = self.n_owed.max(n_lapses);
    }

    /// Whether it is stuck: a lease of it was overdue, or something has come from it since.
    pub(crate) fn set_stuck(&mut self, stuck: bool) {
        self.stuck = stuck;
        if stuck {
            self.n_proven = 0;
        }
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
