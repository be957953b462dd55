//! What a worker says to its coordinator, and when.

use std::time::Duration;

use queens_messages::{Delta, LeaseId, ToCoordinator, ToWorker};

use crate::desk::{Collected, Desk};
use crate::identity::Identity;
use crate::unacknowledged::Unacknowledged;

/// How often a worker reports when no lease ends: what a crash loses.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// How often a worker without leases says that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Deltas in one report, which keeps it far below what gRPC accepts.
const MOST_DELTAS: usize = 4096;

/// How long a report may wait to be acknowledged while nothing comes from the coordinator. After that, a new connection
/// is tried: the old one looks alive, but something on it is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a leaving worker waits for its threads and for its last acknowledgement before it says so.
const USUAL_FAREWELL: Duration = Duration::from_secs(1);

/// How long it then goes on waiting.
const FAREWELL: Duration = Duration::from_secs(10);

/// A worker's side of its sessions. It outlives each of them: what is not acknowledged is said again in the next one.
///
/// Whoever runs it calls [`connect`](Self::connect) when there is a link, then [`step`](Self::step) again and again:
/// after each message that was [heard](Self::hear), when a lease has ended, and at the time that the step before has
/// named. Times are those since any fixed time before the link was there.
#[derive(Debug)]
pub struct WorkerSession {
    identity: Identity,
    unacknowledged: Unacknowledged,
    /// Whether it is on its way out, and begins nothing more.
    is_sent_home: bool,
    /// Whether it only waits for its last acknowledgements.
    farewell: Option<Farewell>,
    /// When it looks next whether there is something to say.
    looks: Duration,
    /// When the last message went out.
    sent: Duration,
    /// When the last message came or, if nothing waited to be acknowledged, the first went out that does.
    answered: Duration,
}

/// Until when a leaving worker waits.
#[derive(Clone, Copy, Debug)]
struct Farewell {
    until: Duration,
    is_usual: bool,
}

/// What is to be done.
#[derive(Debug)]
pub struct SessionStep {
    /// To be sent, in this order.
    pub messages: Vec<ToCoordinator>,
    /// What people may want to know.
    pub remark: Option<Remark>,
    /// What comes after it.
    pub next: AfterStep,
}

/// What comes after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterStep {
    /// Another step, at this time at the latest.
    Wait {
        /// When.
        until: Duration,
    },
    /// Another session: this one is stuck.
    Reconnect,
    /// Nothing: the worker has left, once its messages are sent. That may take until this time.
    Left {
        /// When.
        until: Duration,
    },
}

/// Something that people may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// The coordinator has said this to whoever runs the worker.
    Notice(String),
    /// The coordinator has sent the worker home.
    SentHome,
    /// Nobody answers its reports.
    Stuck,
    /// Its last reports are not acknowledged yet, and it goes on waiting for that.
    WaitsToLeave,
    /// It leaves although its last reports are not acknowledged.
    LeavesUnacknowledged {
        /// How many there are.
        n_reports: usize,
    },
}

impl WorkerSession {
    /// The sessions of this worker.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            unacknowledged: Unacknowledged::default(),
            is_sent_home: false,
            farewell: None,
            looks: Duration::ZERO,
            sent: Duration::ZERO,
            answered: Duration::ZERO,
        }
    }

    /// There is a link: says who the worker is and what it holds, and repeats what was not acknowledged.
    pub fn connect(&mut self, now: Duration, desk: &Desk) -> Vec<ToCoordinator> {
        (self.looks, self.sent, self.answered) = (now, now, now);
        self.farewell = None;
        let hello = self.identity.hello(self.unacknowledged.with_held(desk.held()));
        let repeated = self.unacknowledged.reports().iter().cloned().map(ToCoordinator::Report);
        [ToCoordinator::Hello(Box::new(hello))].into_iter().chain(repeated).collect()
    }

    /// Takes in a message.
    pub fn hear(&mut self, now: Duration, message: ToWorker, desk: &mut Desk) -> Option<Remark> {
        self.answered = now;
        match message {
            // The goodbye gives it back.
            ToWorker::Lease(_) if self.is_sent_home => {}
            ToWorker::Lease(lease) => desk.add(lease),
            ToWorker::Shorten { lease, spans } => desk.shorten(lease, &spans),
            ToWorker::Cancel(lease) => desk.cancel(lease),
            ToWorker::Acknowledge { sequence } => self.unacknowledged.acknowledge(sequence),
            ToWorker::Drain => {
                desk.begin_no_more();
                self.is_sent_home = true;
                return Some(Remark::SentHome);
            }
            ToWorker::Notice(text) => return Some(Remark::Notice(text)),
        }
        None
    }

    /// Stops counting. From now on, the worker only waits until what is counted is acknowledged.
    pub fn leave(&mut self, now: Duration, desk: &mut Desk) {
        self.is_sent_home = true;
        desk.cancel_all();
        self.farewell.get_or_insert(Farewell { until: now + USUAL_FAREWELL, is_usual: true });
    }

    /// Whether it only waits for its last acknowledgements.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.farewell.is_some()
    }

    /// Whether something would be lost if the worker ended now: it holds a lease, or a report that is not acknowledged.
    #[must_use]
    pub fn has_something(&self, desk: &Desk) -> bool {
        !desk.is_empty() || !self.unacknowledged.reports().is_empty()
    }

    /// Says what there is to say now.
    pub fn step(&mut self, now: Duration, desk: &mut Desk) -> SessionStep {
        let mut messages = Vec::new();
        if self.farewell.is_none() && now >= self.looks {
            if self.is_stuck(now) {
                return SessionStep { messages, remark: Some(Remark::Stuck), next: AfterStep::Reconnect };
            }
            self.looks = now + REPORT_INTERVAL;
            messages = self.report_or_live(now, desk);
        } else if self.farewell.is_some() || desk.has_ended_leases() {
            messages = self.report(now, desk);
        }
        if self.is_sent_home && desk.is_empty() {
            self.leave(now, desk);
        }
        let is_done = desk.is_empty() && self.unacknowledged.reports().is_empty();
        let (remark, next) = match self.farewell {
            None => (None, AfterStep::Wait { until: self.looks }),
            Some(Farewell { until, .. }) if is_done => {
                messages.push(ToCoordinator::Goodbye);
                (None, AfterStep::Left { until })
            }
            Some(farewell) => self.wait_to_leave(now, farewell),
        };
        SessionStep { messages, remark, next }
    }

    /// Waits for the last acknowledgements, but not for ever.
    fn wait_to_leave(&mut self, now: Duration, farewell: Farewell) -> (Option<Remark>, AfterStep) {
        let Farewell { until, is_usual } = farewell;
        if now < until {
            return (None, AfterStep::Wait { until });
        }
        if is_usual {
            let until = now + FAREWELL;
            self.farewell = Some(Farewell { until, is_usual: false });
            return (Some(Remark::WaitsToLeave), AfterStep::Wait { until });
        }
        let n_reports = self.unacknowledged.reports().len();
        (Some(Remark::LeavesUnacknowledged { n_reports }), AfterStep::Left { until })
    }

    fn is_stuck(&self, now: Duration) -> bool {
        !self.unacknowledged.reports().is_empty() && now.saturating_sub(self.answered) >= PATIENCE
    }

    /// Reports what was counted since the last time, or at least that the worker is alive.
    fn report_or_live(&mut self, now: Duration, desk: &mut Desk) -> Vec<ToCoordinator> {
        let mut messages = self.report(now, desk);
        let patience = if desk.is_empty() { SIGN_OF_LIFE } else { REPORT_INTERVAL };
        if messages.is_empty() && now.saturating_sub(self.sent) + REPORT_INTERVAL / 2 >= patience {
            messages.push(self.make_report(now, Vec::new(), Vec::new()));
        }
        messages
    }

    /// Reports what was counted since the last time, if anything was.
    fn report(&mut self, now: Duration, desk: &mut Desk) -> Vec<ToCoordinator> {
        if self.unacknowledged.is_full() {
            return Vec::new();
        }
        let Collected { deltas, failures, ended } = desk.collect();
        // First: with its lease, what failed would be anybody's again.
        let mut messages: Vec<ToCoordinator> = failures.into_iter().map(ToCoordinator::Failure).collect();
        if deltas.is_empty() && ended.is_empty() {
            return messages;
        }
        let mut parts: Vec<&[Delta]> = deltas.chunks(MOST_DELTAS).collect();
        // Leases are finished by the last part, when all that was counted of them is reported.
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            messages.push(self.make_report(now, part.to_vec(), Vec::new()));
        }
        messages.push(self.make_report(now, last.to_vec(), ended));
        messages
    }

    fn make_report(&mut self, now: Duration, deltas: Vec<Delta>, finished: Vec<LeaseId>) -> ToCoordinator {
        if self.unacknowledged.reports().is_empty() {
            self.answered = now;
        }
        self.sent = now;
        ToCoordinator::Report(self.unacknowledged.report(deltas, finished))
    }
}

#[cfg(test)]
mod tests {
    use queens_messages::{JobId, Lease, LeasedSpan, Name, Report, WorkerId};
    use queens_solver::{BoardSize, Count, Method, Span, Symmetry};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const LEASE: LeaseId = LeaseId(7);

    fn session() -> WorkerSession {
        WorkerSession::new(Identity {
            worker: WorkerId(1),
            name: Name::of_any("one"),
            build: Name::of_any("test"),
            kernel: Name::of_any("test"),
            n_threads: 1,
            speed: 1.into(),
            halves: None,
            machine: 1,
        })
    }

    fn span(from: u64, to: u64) -> Span {
        Span::new(0, from, to).expect("not empty")
    }

    fn lease(spans: &[Span]) -> ToWorker {
        let spans = spans.iter().map(|&span| LeasedSpan { span, image: Symmetry::IDENTITY }).collect();
        let n = BoardSize::new(8).expect("a board size");
        ToWorker::Lease(Lease { id: LEASE, job: JobId(1), n, method: Method::Search, spans })
    }

    /// Takes the next chunk of the lease in hand and counts it.
    fn count(desk: &mut Desk) {
        assert!(desk.begin(LEASE).is_some());
        desk.finish(LEASE, Count { solutions: 1, nodes: 1 }, SECOND);
    }

    #[track_caller]
    fn report(message: &ToCoordinator) -> &Report {
        let ToCoordinator::Report(report) = message else { panic!("{message:?}") };
        report
    }

    /// The spans that a hello names, each once.
    #[track_caller]
    fn named(messages: &[ToCoordinator]) -> Vec<Span> {
        let ToCoordinator::Hello(hello) = &messages[0] else { panic!("{messages:?}") };
        hello.held.iter().flat_map(|held| held.spans.clone()).collect()
    }

    #[test]
    fn what_is_not_acknowledged_is_said_again_in_the_next_session() {
        let (mut session, mut desk) = (session(), Desk::default());
        assert_eq!(named(&session.connect(SECOND, &desk)), []);
        assert_eq!(session.step(SECOND, &mut desk).messages, []);
        session.hear(SECOND, lease(&[span(0, 9)]), &mut desk);
        desk.next_lease().expect("was heard");
        count(&mut desk);
        assert_eq!(session.step(SECOND * 3 / 2, &mut desk).messages, [], "before its time");
        let first = session.step(SECOND * 2, &mut desk).messages;
        assert_eq!((report(&first[0]).sequence, report(&first[0]).deltas[0].span), (1, span(0, 1)));
        count(&mut desk);
        let again = session.connect(Duration::ZERO, &desk);
        assert_eq!(named(&again), [span(0, 1), span(1, 2), span(2, 9)]);
        assert_eq!(again[1..], first);
        let second = session.step(SECOND, &mut desk).messages;
        assert_eq!((report(&second[0]).sequence, report(&second[0]).deltas[0].span), (2, span(1, 2)));
        session.hear(SECOND, ToWorker::Acknowledge { sequence: 1 }, &mut desk);
        let again = session.connect(Duration::ZERO, &desk);
        assert_eq!((named(&again), &again[1..]), (vec![span(1, 2), span(2, 9)], &second[..]));
    }

    #[test]
    fn an_idle_worker_says_now_and_then_that_it_lives_and_a_busy_one_each_second() {
        let (mut session, mut desk) = (session(), Desk::default());
        session.connect(Duration::ZERO, &desk);
        let said = |session: &mut WorkerSession, desk: &mut Desk| {
            let says = |second: &u32| !session.step(SECOND * *second, desk).messages.is_empty();
            (0..12).filter(says).collect::<Vec<u32>>()
        };
        assert_eq!(said(&mut session, &mut desk), [5, 10]);
        session.connect(Duration::ZERO, &desk);
        session.hear(Duration::ZERO, lease(&[span(0, 9)]), &mut desk);
        assert_eq!(said(&mut session, &mut desk), (1..12).collect::<Vec<u32>>());
    }

    #[test]
    fn a_lease_that_has_ended_is_reported_at_once_and_what_failed_before_it() {
        let (mut session, mut desk) = (session(), Desk::default());
        session.connect(Duration::ZERO, &desk);
        session.hear(Duration::ZERO, lease(&[span(0, 9)]), &mut desk);
        assert_eq!(session.step(Duration::ZERO, &mut desk).next, AfterStep::Wait { until: SECOND });
        desk.next_lease().expect("was heard");
        count(&mut desk);
        desk.fail(LEASE, "no".to_owned());
        desk.end(LEASE);
        let messages = session.step(SECOND / 10, &mut desk).messages;
        assert!(matches!(&messages[0], ToCoordinator::Failure(failure) if failure.span == span(1, 9)));
        let report = report(&messages[1]);
        assert_eq!((report.deltas.len(), &report.finished[..], messages.len()), (1, &[LEASE][..], 2));
    }

    #[test]
    fn long_reports_are_cut_and_the_last_ends_the_lease() {
        let (mut session, mut desk) = (session(), Desk::default());
        session.connect(Duration::ZERO, &desk);
        // Spans that don't touch, so that each is a delta.
        let n_deltas = u64::try_from(MOST_DELTAS).expect("fits") + 1;
        let spans: Vec<Span> = (0..n_deltas).map(|i| span(2 * i, 2 * i + 1)).collect();
        session.hear(Duration::ZERO, lease(&spans), &mut desk);
        desk.next_lease().expect("was heard");
        spans.iter().for_each(|_| count(&mut desk));
        desk.end(LEASE);
        let messages = session.step(Duration::ZERO, &mut desk).messages;
        let sizes: Vec<(usize, usize)> =
            messages.iter().map(report).map(|report| (report.deltas.len(), report.finished.len())).collect();
        assert_eq!(sizes, [(MOST_DELTAS, 0), (1, 1)]);
    }

    #[test]
    fn a_worker_that_nobody_answers_reports_no_more_and_connects_again() {
        let (mut session, mut desk) = (session(), Desk::default());
        session.connect(Duration::ZERO, &desk);
        session.hear(Duration::ZERO, lease(&[span(0, u64::MAX)]), &mut desk);
        desk.next_lease().expect("was heard");
        let mut n_deltas = 0;
        for second in 1..=60 {
            count(&mut desk);
            let step = session.step(SECOND * second, &mut desk);
            assert_eq!(step.next, AfterStep::Wait { until: SECOND * (second + 1) });
            n_deltas += report(&step.messages[0]).deltas.len();
        }
        assert_eq!(n_deltas, 16, "reports that wait to be acknowledged");
        let step = session.step(SECOND * 61, &mut desk);
        assert_eq!((step.next, step.remark), (AfterStep::Reconnect, Some(Remark::Stuck)));
        // Whatever comes is an answer.
        session.hear(SECOND * 61, ToWorker::Notice("well".to_owned()), &mut desk);
        assert_eq!(session.step(SECOND * 62, &mut desk).next, AfterStep::Wait { until: SECOND * 63 });
    }

    #[test]
    fn a_worker_that_is_sent_home_counts_what_is_in_hand_and_leaves_when_that_is_acknowledged() {
        let (mut session, mut desk) = (session(), Desk::default());
        session.connect(Duration::ZERO, &desk);
        session.hear(Duration::ZERO, lease(&[span(0, 9)]), &mut desk);
        desk.next_lease().expect("was heard");
        assert!(desk.begin(LEASE).is_some());
        assert_eq!(session.hear(Duration::ZERO, ToWorker::Drain, &mut desk), Some(Remark::SentHome));
        session.hear(Duration::ZERO, lease(&[span(20, 29)]), &mut desk);
        assert_eq!(session.step(Duration::ZERO, &mut desk).next, AfterStep::Wait { until: SECOND });
        desk.finish(LEASE, Count::default(), SECOND);
        assert!(desk.begin(LEASE).is_none());
        desk.end(LEASE);
        assert!(!session.is_leaving());
        let step = session.step(SECOND / 2, &mut desk);
        assert_eq!(report(&step.messages[0]).finished, [LEASE]);
        assert_eq!((step.messages.len(), step.next), (1, AfterStep::Wait { until: SECOND * 3 / 2 }));
        session.hear(SECOND, ToWorker::Acknowledge { sequence: 1 }, &mut desk);
        let step = session.step(SECOND, &mut desk);
        assert_eq!(
            (step.messages, step.next),
            (vec![ToCoordinator::Goodbye], AfterStep::Left { until: SECOND * 3 / 2 })
        );
    }

    #[test]
    fn a_worker_that_is_told_to_leave_waits_for_its_coordinator_but_not_for_ever() {
        let (mut session, mut desk) = (session(), Desk::default());
        session.connect(Duration::ZERO, &desk);
        session.hear(Duration::ZERO, lease(&[span(0, 9)]), &mut desk);
        let stop = desk.next_lease().expect("was heard").stop;
        count(&mut desk);
        session.leave(Duration::ZERO, &mut desk);
        assert!(stop.load(std::sync::atomic::Ordering::Relaxed) && desk.begin(LEASE).is_none());
        assert_eq!(report(&session.step(Duration::ZERO, &mut desk).messages[0]).deltas.len(), 1);
        desk.end(LEASE);
        assert_eq!(report(&session.step(SECOND / 2, &mut desk).messages[0]).finished, [LEASE]);
        let step = session.step(SECOND, &mut desk);
        assert_eq!(
            (step.remark, step.next),
            (Some(Remark::WaitsToLeave), AfterStep::Wait { until: SECOND * 11 })
        );
        assert_eq!(session.step(SECOND * 5, &mut desk).next, AfterStep::Wait { until: SECOND * 11 });
        let step = session.step(SECOND * 11, &mut desk);
        assert_eq!(step.remark, Some(Remark::LeavesUnacknowledged { n_reports: 2 }));
        assert_eq!((step.messages, step.next), (vec![], AfterStep::Left { until: SECOND * 11 }));
    }
}
