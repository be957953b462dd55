//! A simple model of a worker, which checks its messages against those that it hears and the work of its threads.

use std::collections::BTreeMap;
use std::time::Duration;

use queens_model::{
    Delta, Failure, HalvesSkill, Held, Hello, JobIdentity, LeaseId, Report, ReportInterval, ToCoordinator,
    ToWorker,
};
use queens_solver::{Count, Method, Span};

/// The most reports that may wait for acknowledgement. No board here is so large that a report must be split.
const MOST_UNACKNOWLEDGED: usize = 16;

/// How long a worker waits for the answer to its goodbye.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(10);

/// Whether a worker with this skill gets leases of a method.
pub(crate) fn can_count(method: Method, halves: HalvesSkill) -> bool {
    method == Method::Search || halves.decomposition == method.decomposition()
}

/// The model of a worker.
#[derive(Debug)]
pub(crate) struct Watch {
    hello: Hello,
    leases: BTreeMap<LeaseId, WatchedLease>,
    /// Whether it takes no more leases.
    is_sent_home: bool,
    /// The number of its last report.
    last_sequence: u64,
    /// Whether its user has stopped it.
    is_stopped: bool,
    /// When it said goodbye in this session, if it has, and whether it was answered.
    said_goodbye: Option<Duration>,
    pub(crate) is_answered: bool,
    /// The reports that it must repeat, oldest first.
    unacknowledged: Vec<Report>,
    /// Its report interval, and when its counts must be reported, if there are any.
    interval: ReportInterval,
    due: Option<Duration>,
}

/// The state of a lease, without its reported spans.
#[derive(Debug)]
struct WatchedLease {
    job: JobIdentity,
    /// The spans to count that no thread has begun.
    left: Vec<Span>,
    in_hand: Option<Span>,
    /// Each counted chunk.
    counted: Vec<(Span, Count, Duration)>,
    failed: Option<Span>,
    has_ended: bool,
}

/// Events of a worker.
impl Watch {
    pub(crate) fn new(hello: Hello) -> Self {
        Self {
            hello,
            leases: BTreeMap::new(),
            is_sent_home: false,
            last_sequence: 0,
            is_stopped: false,
            said_goodbye: None,
            is_answered: false,
            unacknowledged: Vec::new(),
            interval: ReportInterval::USUAL,
            due: None,
        }
    }

    /// Notes that the worker hears this message.
    pub(crate) fn hears(&mut self, now: Duration, message: &ToWorker) {
        match message {
            ToWorker::ReportEvery(interval) => {
                let (before, after) = (self.interval.get(), interval.get());
                let sooner =
                    |due: Duration| if after < before { due.min(now + after) } else { due + after - before };
                self.due = self.due.map(sooner);
                self.interval = *interval;
            }
            ToWorker::Lease(_) if self.is_sent_home => {}
            ToWorker::Lease(lease) => {
                assert!(
                    can_count(lease.method, self.hello.halves),
                    "{} was leased what it can't count: {lease:?}",
                    self.hello.worker
                );
                let watched = WatchedLease {
                    job: lease.job,
                    left: lease.spans.iter().map(|leased| leased.span).collect(),
                    in_hand: None,
                    counted: Vec::new(),
                    failed: None,
                    has_ended: false,
                };
                let known = self.leases.insert(lease.id, watched);
                assert!(known.is_none(), "{} was leased {} twice", self.hello.worker, lease.id);
            }
            ToWorker::Shorten { lease, spans } => {
                if let Some(watched) = self.leases.get_mut(lease) {
                    watched.left = watched.left.iter().flat_map(|left| left.without(spans)).collect();
                }
            }
            ToWorker::Cancel(lease) => {
                if let Some(watched) = self.leases.get_mut(lease) {
                    watched.left.clear();
                }
            }
            ToWorker::Acknowledge { sequence } => {
                self.unacknowledged.retain(|report| report.sequence > *sequence);
            }
            ToWorker::Drain => self.begins_no_more(),
            ToWorker::Notice(_) => {}
            ToWorker::Farewell => {
                let has_left =
                    self.said_goodbye.is_some() && self.unacknowledged.is_empty() && self.held().is_empty();
                assert!(has_left, "{} is told that it has left", self.hello.worker);
                self.is_answered = true;
            }
        }
    }

    /// Notes that its user stops it.
    pub(crate) fn leaves(&mut self) {
        self.is_stopped = true;
        self.begins_no_more();
    }

    fn begins_no_more(&mut self) {
        self.is_sent_home = true;
        self.leases.values_mut().for_each(|watched| watched.left.clear());
    }

    /// Notes that a thread begins a chunk.
    pub(crate) fn begins(&mut self, lease: LeaseId, chunk: Span) {
        let watched = self.leases.get_mut(&lease).expect("a lease that it holds is counted");
        let rest = chunk.without(&watched.left);
        assert!(rest.is_empty(), "counts {rest:?}, which it is not to count");
        assert_eq!(watched.in_hand.replace(chunk), None, "in hand of lease {lease}");
        watched.left = watched.left.iter().flat_map(|left| left.without(&[chunk])).collect();
    }

    /// Notes that a thread has counted the chunk in hand.
    pub(crate) fn finishes(&mut self, lease: LeaseId, count: Count, duration: Duration) {
        let watched = self.leases.get_mut(&lease).expect("a lease that it holds is counted");
        let chunk = watched.in_hand.take().expect("it was begun");
        watched.counted.push((chunk, count, duration));
    }

    /// Notes that a thread can't count the chunk in hand.
    pub(crate) fn fails(&mut self, lease: LeaseId) {
        let watched = self.leases.get_mut(&lease).expect("a lease that it holds is counted");
        watched.failed = watched.in_hand.take();
        watched.left.clear();
    }

    /// Notes that a thread drops the chunk in hand.
    pub(crate) fn drops(&mut self, lease: LeaseId) {
        self.leases.get_mut(&lease).expect("a lease that it holds is counted").in_hand = None;
    }

    /// Notes that a thread ends a lease.
    pub(crate) fn ends(&mut self, lease: LeaseId) {
        let watched = self.leases.get_mut(&lease).expect("a lease that it holds is counted");
        assert!(watched.left.is_empty() && watched.in_hand.is_none(), "{watched:?} is not counted");
        watched.has_ended = true;
    }

    /// Checks its state after a step: ended leases are reported, and so are counts when their interval has passed.
    pub(crate) fn waits(&mut self, now: Duration, until: Duration) {
        let is_unreported = |watched: &WatchedLease| !watched.counted.is_empty() || watched.failed.is_some();
        if self.unacknowledged.len() == MOST_UNACKNOWLEDGED || !self.leases.values().any(is_unreported) {
            self.due = None;
        } else {
            let due = *self.due.get_or_insert(now + self.interval.get());
            assert!(
                now <= due && until <= due,
                "what is counted is to be reported until {due:?}, not {until:?}"
            );
        }
        let waits = self.leases.iter().find(|(_, watched)| watched.has_ended);
        let is_full = self.unacknowledged.len() == MOST_UNACKNOWLEDGED;
        assert!(is_full || waits.is_none(), "{waits:?} has ended and is not reported");
    }

    /// Returns the reports that are not acknowledged.
    pub(crate) fn unacknowledged(&self) -> &[Report] {
        &self.unacknowledged
    }

    /// Returns the spans that it still has to count.
    pub(crate) fn uncounted(&self) -> impl Iterator<Item = (LeaseId, JobIdentity, Span)> {
        self.leases.iter().flat_map(|(&lease, watched)| {
            let uncounted = watched.in_hand.iter().chain(&watched.left);
            uncounted.map(move |&span| (lease, watched.job, span))
        })
    }
}

/// Messages of a worker.
impl Watch {
    /// Checks the messages on a new link: the hello with all its leases, and the unacknowledged reports again.
    pub(crate) fn greets(&mut self, messages: &[ToCoordinator]) {
        (self.interval, self.due, self.said_goodbye) = (ReportInterval::USUAL, None, None);
        let (ToCoordinator::Hello(hello), repeated) = messages.split_first().expect("a hello") else {
            panic!("{messages:?} begin without a hello");
        };
        let expected = Hello { held: hello.held.clone(), ..self.hello.clone() };
        assert_eq!(**hello, expected, "who it is");
        assert_eq!(held_by_lease(&hello.held), self.held(), "what it says it holds");
        let unacknowledged: Vec<ToCoordinator> =
            self.unacknowledged.iter().cloned().map(ToCoordinator::Report).collect();
        assert_eq!(repeated, unacknowledged, "what it says again");
    }

    /// Checks a later message.
    pub(crate) fn says(&mut self, now: Duration, message: &ToCoordinator) {
        match message {
            ToCoordinator::Hello(_) => panic!("another {message:?}"),
            ToCoordinator::Report(report) => self.reports(report),
            ToCoordinator::Failure(failure) => self.tells_of(failure),
            ToCoordinator::Notice(text) => panic!("an unexpected notice: {text}"),
            ToCoordinator::Sensors(sensors) => panic!("no worker has a card: {sensors}"),
            ToCoordinator::Goodbye => {
                assert_eq!((&self.unacknowledged, self.held()), (&Vec::new(), BTreeMap::new()), "goodbye");
                assert_eq!(self.said_goodbye.replace(now), None, "a second goodbye");
            }
        }
    }

    /// Checks that it may leave: it has waited for the answer to its goodbye, unless something of it is unacknowledged.
    pub(crate) fn has_left(&self, now: Duration) {
        let has_nothing = self.unacknowledged.is_empty() && self.held().is_empty();
        assert!(has_nothing || self.is_stopped, "{} is drained and loses what it holds", self.hello.worker);
        let Some(said) = self.said_goodbye else { return };
        assert!(self.is_answered || now >= said + GOODBYE_PATIENCE, "it does not wait for an answer");
    }

    fn reports(&mut self, report: &Report) {
        self.last_sequence += 1;
        assert_eq!(report.sequence, self.last_sequence, "the number of {report:?}");
        report.deltas.iter().for_each(|delta| self.counts(delta));
        for lease in &report.finished {
            let ended = self.leases.remove(lease);
            let ended = ended.unwrap_or_else(|| panic!("ends lease {lease}, which it does not hold"));
            let is_told = ended.has_ended && ended.counted.is_empty() && ended.failed.is_none();
            assert!(is_told, "ends lease {lease} too early: {ended:?}");
        }
        if !report.is_empty() {
            self.unacknowledged.push(report.clone());
        }
        let n_unacknowledged = self.unacknowledged.len();
        assert!(n_unacknowledged <= MOST_UNACKNOWLEDGED, "{n_unacknowledged} reports wait");
    }

    /// Checks a delta: it was counted under this lease, its count is true, and it was not reported before.
    fn counts(&mut self, delta: &Delta) {
        let counted = self.leases.get_mut(&delta.lease).map(|watched| &mut watched.counted);
        let counted = counted.unwrap_or_else(|| panic!("{delta:?} is of no lease that it holds"));
        let is_of = |&mut (chunk, ..): &mut (Span, Count, Duration)| chunk.intersection(delta.span).is_some();
        let chunks: Vec<(Span, Count, Duration)> = counted.extract_if(.., is_of).collect();
        let spans: Vec<Span> = chunks.iter().map(|chunk| chunk.0).collect();
        let covers = delta.span.without(&spans).is_empty()
            && spans.iter().all(|chunk| chunk.without(&[delta.span]).is_empty());
        assert!(covers, "{delta:?} is not what was counted: {spans:?}");
        let count = Count {
            solutions: chunks.iter().map(|chunk| chunk.1.solutions).sum(),
            work: chunks.iter().map(|chunk| chunk.1.work).sum(),
        };
        let duration = chunks.iter().map(|chunk| chunk.2).sum();
        assert_eq!((delta.count, delta.duration), (count, duration), "the count of {delta:?}");
    }

    fn tells_of(&mut self, failure: &Failure) {
        let failed = self.leases.get_mut(&failure.lease).and_then(|watched| watched.failed.take());
        assert_eq!(failed, Some(failure.span), "what {failure:?} is about");
    }

    /// Returns the spans of each lease that it holds or has not seen acknowledged, in order.
    fn held(&self) -> BTreeMap<(LeaseId, JobIdentity), Vec<Span>> {
        let mut held = Vec::new();
        for delta in self.unacknowledged.iter().flat_map(|report| &report.deltas) {
            held.push(Held { lease: delta.lease, job: delta.job, spans: vec![delta.span] });
        }
        for (&lease, watched) in &self.leases {
            let counted = watched.counted.iter().map(|chunk| chunk.0);
            let spans = counted.chain(watched.in_hand).chain(watched.left.iter().copied()).collect();
            held.push(Held { lease, job: watched.job, spans });
        }
        held_by_lease(&held)
    }
}

/// Returns the spans of each lease, merged where they touch. None may be there twice.
fn held_by_lease(held: &[Held]) -> BTreeMap<(LeaseId, JobIdentity), Vec<Span>> {
    let mut by_lease: BTreeMap<(LeaseId, JobIdentity), Vec<Span>> = BTreeMap::new();
    for held in held {
        by_lease.entry((held.lease, held.job)).or_default().extend(&held.spans);
    }
    for spans in by_lease.values_mut() {
        spans.sort_unstable();
        let mut merged: Vec<Span> = Vec::new();
        for &span in spans.iter() {
            match merged.last_mut() {
                Some(last) if last.part() == span.part() && last.to() == span.from() => {
                    *last = Span::new(span.part(), last.from(), span.to()).expect("not empty");
                }
                last => {
                    let is_apart = last.is_none_or(|last| last.intersection(span).is_none());
                    assert!(is_apart, "holds {span} twice");
                    merged.push(span);
                }
            }
        }
        *spans = merged;
    }
    by_lease
}
