//! A worker, as the ledger knows it.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{CardSensors, Hello, MethodSpeeds, Name, Party, ReportInterval, Speed};
use queens_solver::Method;

use crate::by_method::ByMethod;
use crate::store::Source;
use crate::workers::held_leases::HeldLeases;
use crate::workers::speed::MeasuredSpeed;

/// The leases that a worker may hold for each thread: one that runs and one that waits.
const LEASES_PER_THREAD: usize = 2;

/// The number of threads that get leases before any report, and the number for each thread that has reported. So a
/// worker that only claims many threads can't hold a large part of a job.
const UNPROVEN_THREADS: u32 = 32;
const THREADS_FOR_A_PROVEN_ONE: u32 = 4;

/// A worker that gives leases back without a count may do so this many times in a row. Then it waits for this long
/// before it gets others, and twice as long each time, up to a minute. So taking and giving back costs its time, not
/// ours.
const FREE_RETURNS: u32 = 8;
const FIRST_REST: Duration = Duration::from_millis(250);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// The averaging time, per thread, of the speed that sizes leases, and of the speed that is shown.
const ESTIMATED_SECONDS: f64 = 30.0;
const COUNTED_SECONDS: f64 = 300.0;

/// A worker of this coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    source: Arc<Source>,
    n_threads: u32,
    /// The number of proven threads: a record came of this many leases.
    n_proven: u32,
    connected: bool,
    /// When its first session began, if it came back in time each time since.
    pub(crate) came: Duration,
    /// When its last message came, or its connection was lost.
    pub(crate) heard: Duration,
    /// Its report interval, and when its next report is due.
    pub(crate) interval: ReportInterval,
    pub(crate) due: Duration,
    pub(crate) held: HeldLeases,
    /// Its speeds by method, as a work unit differs between methods; `None` if it can't count by a method.
    skills: ByMethod<Option<Skill>>,
    /// The number of spans recorded from its reports.
    pub(crate) n_recorded: u64,
    /// Whether one of its leases was taken back as overdue, and nothing has come from it since.
    pub(crate) stuck: bool,
    /// The worker is doubted until it has reported from this many more leases. It starts with its party's lapses.
    n_owed: u64,
    /// Whether an operator has drained it.
    pub(crate) draining: bool,
    /// Whether its name or its party is blocked.
    pub(crate) blocked: bool,
    /// The machine identifier that it claims.
    pub(crate) machine: u64,
    pub(crate) failures: Failures,
    /// How many leases in a row it gave back without a count, and until when it gets no others for that.
    n_given_back: u32,
    rests_until: Duration,
    /// The last measurements of its graphics card in this session.
    pub(crate) sensors: CardSensors,
}

/// The speeds of one thread of a worker by one method.
#[derive(Clone, Copy, Debug)]
struct Skill {
    /// In estimated work units, which lease sizes use.
    estimated: MeasuredSpeed,
    /// In counted work units, over the last minutes.
    counted: MeasuredSpeed,
}

/// Queries.
impl Worker {
    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Returns its name.
    pub(crate) fn name(&self) -> &Name {
        &self.source.name
    }

    /// Returns its party.
    pub(crate) fn party(&self) -> Party {
        self.source.party
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connected
    }

    pub(crate) fn n_threads(&self) -> u32 {
        self.n_threads
    }

    /// Returns how much its report interval exceeds the usual one, which most timeouts assume.
    pub(crate) fn extra_interval(&self) -> Duration {
        self.interval.get().saturating_sub(ReportInterval::USUAL.get())
    }

    /// Whether it can count by this method.
    pub(crate) fn can_count(&self, method: Method) -> bool {
        self.skills.of(method).is_some()
    }

    /// Returns one thread's speed in estimated work units, perhaps guessed; `None` if it can't count by this method.
    pub(crate) fn estimated(&self, method: Method) -> Option<MeasuredSpeed> {
        self.skills.of(method).map(|skill| skill.estimated)
    }

    /// Returns one thread's speed in counted work units, perhaps guessed; `None` if it can't count by this method.
    pub(crate) fn counted(&self, method: Method) -> Option<MeasuredSpeed> {
        self.skills.of(method).map(|skill| skill.counted)
    }

    /// Whether it holds as many leases as it may.
    pub(crate) fn is_full(&self) -> bool {
        let believed = self.n_proven.saturating_mul(THREADS_FOR_A_PROVEN_ONE).max(UNPROVEN_THREADS);
        self.held.n_leases() >= LEASES_PER_THREAD * self.n_threads.min(believed) as usize
    }

    /// Whether it gets no leases for now, because it gave back too many.
    pub(crate) fn is_resting(&self, now: Duration) -> bool {
        now < self.rests_until
    }

    /// Whether each of its threads has a lease.
    pub(crate) fn is_busy(&self) -> bool {
        self.held.n_running() >= self.n_threads as usize
    }

    /// Whether it is served last, because its party has lapses that its own reports have not made up for.
    pub(crate) fn is_doubted(&self) -> bool {
        self.n_owed > 0
    }

    /// Whether an operator's drain or a block excludes it from leases.
    pub(crate) fn is_held_back(&self) -> bool {
        self.draining || self.blocked
    }

    /// Whether it could count, apart from repeated failures.
    pub(crate) fn could_count(&self) -> bool {
        self.connected && !self.stuck && !self.is_held_back()
    }

    /// Whether it may get leases.
    pub(crate) fn is_of_use(&self) -> bool {
        self.is_candidate() && !self.stuck
    }

    /// Whether its party may be drawn: it may get leases, or will as soon as it reports something. Without stuck
    /// workers, colluders who invent all counts at once would be the only candidates.
    pub(crate) fn is_candidate(&self) -> bool {
        self.connected && !self.is_held_back() && !self.failures.are_too_many()
    }

    /// Whether it can count by a method, and its party may be drawn, or could be if the worker came back.
    pub(crate) fn may_come_back(&self, method: Method) -> bool {
        self.can_count(method) && !self.is_held_back() && (self.is_candidate() || !self.connected)
    }

    /// Returns the speed of all its threads in estimated work units a second; `None` if it can't count by this method.
    pub(crate) fn whole_speed(&self, method: Method) -> Option<f64> {
        Some(self.estimated(method)?.work_per_second * f64::from(self.n_threads))
    }

    /// Returns the speed of all its threads in counted work units: zero if idle, `None` if not measured.
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

    /// Returns the seconds that all its threads together take for the running leases, from their beginning.
    fn running_seconds(&self) -> f64 {
        self.seconds_for(|method| self.held.running_work(method))
    }

    /// Returns the seconds that all its threads together take for the waiting leases.
    pub(crate) fn waiting_seconds(&self) -> f64 {
        self.seconds_for(|method| self.held.waiting_work(method))
    }

    fn seconds_for(&self, work: impl Fn(Method) -> u128) -> f64 {
        let seconds = |method| Some(work(method) as f64 / self.whole_speed(method)?);
        Method::ALL.into_iter().filter_map(seconds).sum()
    }

    /// Returns the estimated seconds until a thread is free for a waiting lease.
    pub(crate) fn seconds_before_waiting(&self, now: Duration) -> f64 {
        (self.running_seconds() - self.held.silent_seconds(now)).max(0.0)
    }
}

/// Changes.
impl Worker {
    /// Creates a worker from its hello, without leases. `known` is its previous state, `usual` the usual speed of a
    /// thread by each method, if known.
    pub(crate) fn new(
        hello: &Hello,
        party: Party,
        known: Option<&Self>,
        usual: &ByMethod<Option<f64>>,
        now: Duration,
    ) -> Self {
        let source = Source {
            name: hello.name.clone(),
            build: hello.build.clone(),
            kernel: hello.kernel.clone(),
            party,
        };
        let skill = |method, speed: Speed| {
            let guess = |memory_seconds| {
                MeasuredSpeed::guess(speed.get(), *usual.of(method), hello.n_threads, memory_seconds)
            };
            Skill { estimated: guess(ESTIMATED_SECONDS), counted: guess(COUNTED_SECONDS) }
        };
        let measured = |method| known.and_then(|known| *known.skills.of(method));
        let skills = ByMethod::new(|method| {
            let (decomposition, speed) = match method {
                Method::Search => (hello.decomposition, hello.speed),
                Method::Halves => (hello.halves.decomposition, hello.halves.speed),
            };
            let is_known = decomposition == method.decomposition();
            is_known.then(|| measured(method).unwrap_or_else(|| skill(method, speed)))
        });
        Self {
            source: Arc::new(source),
            n_threads: hello.n_threads,
            n_proven: known.map_or(0, |known| known.n_proven.min(hello.n_threads)),
            connected: true,
            came: known.map_or(now, |known| known.came),
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
            n_given_back: known.map_or(0, |known| known.n_given_back),
            rests_until: known.map_or(Duration::ZERO, |known| known.rests_until),
            sensors: CardSensors::default(),
        }
    }

    /// Notes that a message has come.
    pub(crate) fn note_contact(&mut self, now: Duration) {
        self.heard = now;
        self.due = now + self.interval.get();
    }

    /// Sets its report interval. Whatever its interval was before, its next report is due within the new one.
    pub(crate) fn tell_interval(&mut self, now: Duration, interval: ReportInterval) {
        self.interval = interval;
        self.due = now + interval.get();
    }

    /// Notes that its connection is lost.
    pub(crate) fn disconnect(&mut self, now: Duration) {
        self.connected = false;
        self.heard = now;
        self.sensors = CardSensors::default();
    }

    pub(crate) fn set_sensors(&mut self, sensors: CardSensors) {
        self.sensors = sensors;
    }

    /// Adds a measurement: one of its threads took `duration` for this work.
    pub(crate) fn note_counted(&mut self, method: Method, estimated: u128, counted: u64, duration: Duration) {
        self.n_given_back = 0;
        if let Some(skill) = self.skills.of_mut(method) {
            skill.estimated.add(estimated as f64, duration);
            skill.counted.add(counted as f64, duration);
        }
    }

    /// Notes that it gave a lease back without a count. Returns until when it gets no others for that, if it does not.
    pub(crate) fn note_given_back(&mut self, now: Duration) -> Option<Duration> {
        self.n_given_back = self.n_given_back.saturating_add(1);
        let n_doublings = self.n_given_back.checked_sub(FREE_RETURNS)?.min(8);
        self.rests_until = now + (FIRST_REST * (1 << n_doublings)).min(LONGEST_REST);
        Some(self.rests_until)
    }

    /// Counts a recorded span.
    pub(crate) fn note_recorded(&mut self) {
        self.n_recorded += 1;
    }

    /// Proves one more thread, because something has come of one more lease.
    pub(crate) fn prove_thread(&mut self) {
        self.n_proven = self.n_threads.min(self.n_proven.saturating_add(1));
        self.n_owed = self.n_owed.saturating_sub(1);
    }

    /// Makes the worker doubted until it has reported from as many leases as its party has lapses.
    pub(crate) fn owe(&mut self, n_lapses: u64) {
        self.n_owed = self.n_owed.max(n_lapses);
    }

    /// Marks it as stuck after an overdue lease, and as not stuck once something has come from it.
    pub(crate) fn set_stuck(&mut self, stuck: bool) {
        self.stuck = stuck;
        if stuck {
            self.n_proven = 0;
        }
    }

    /// Sends it home.
    pub(crate) fn drain(&mut self) {
        self.draining = true;
    }

    pub(crate) fn set_blocked(&mut self, blocked: bool) {
        self.blocked = blocked;
    }

    /// Adds a failure, `too_many_spans` if on too many spans of one job. Returns whether it gets no more leases.
    pub(crate) fn fail(&mut self, reason: String, too_many_spans: bool) -> bool {
        self.failures.add(reason, too_many_spans);
        self.failures.are_too_many()
    }

    /// Drops its failures.
    pub(crate) fn forgive(&mut self) {
        self.failures = Failures::default();
    }
}

/// A worker with this many failures in a row gets no more leases.
const MOST_IN_A_ROW: u32 = 8;

/// The failures of a worker since its last successful report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    in_a_row: u32,
    too_many_spans: bool,
    reason: Option<String>,
}

impl Failures {
    /// Adds a failure. `too_many_spans` says whether the worker has failed on too many spans of one job.
    pub(crate) fn add(&mut self, reason: String, too_many_spans: bool) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.too_many_spans |= too_many_spans;
        self.reason = Some(reason);
    }

    /// Whether its worker gets no more leases.
    pub(crate) fn are_too_many(&self) -> bool {
        self.in_a_row >= MOST_IN_A_ROW || self.too_many_spans
    }

    /// Returns the message of the last failure.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}
