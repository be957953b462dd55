//! What a worker says to its coordinator, and when.

#[cfg(test)]
mod tests;

use std::time::Duration;

use queens_model::{Delta, LeaseId, ToCoordinator, ToWorker, WorkerId};

use crate::identity::Identity;
use crate::lease_queue::{Collected, LeaseQueue};
use crate::report_times::ReportTimes;
use crate::unacknowledged::Unacknowledged;

/// How often a worker without leases says that it is alive, unless it is to report less often.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// How much later than it should a sign of life may come.
const LEEWAY: Duration = Duration::from_millis(500);

/// Deltas in one report, which keeps it far below what gRPC accepts.
const MOST_DELTAS: usize = 4096;

/// How long a report may wait to be acknowledged while nothing comes from the coordinator. After that, a new connection
/// is tried: the old one looks alive, but something on it is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a leaving worker waits for its threads and for its last acknowledgement before it says so.
const USUAL_FAREWELL: Duration = Duration::from_secs(1);

/// How long it then goes on waiting.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a worker waits for the answer to its goodbye. A coordinator answers when all is durable, which takes as long
/// as the acknowledgement of a report does.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(10);

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
    /// What it waits for before it leaves, if it does nothing else any more.
    leaving: Option<Leaving>,
    /// When it reports what is counted. That leases have ended is said at once.
    times: ReportTimes,
    /// When the last message went out.
    sent: Duration,
    /// When the last message came or, if nothing waited to be acknowledged, the first went out that does.
    answered: Duration,
}

/// What a leaving worker waits for.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    /// Its threads and its last acknowledgements, until then. Before that it has said nothing of it, if it is usual.
    Reports { until: Duration, is_usual: bool },
    /// The answer to its goodbye, until then.
    Answer { until: Duration },
    /// Nothing: its goodbye is answered.
    Nothing,
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
            times: ReportTimes::of(identity.worker),
            identity,
            unacknowledged: Unacknowledged::default(),
            is_sent_home: false,
            leaving: None,
            sent: Duration::ZERO,
            answered: Duration::ZERO,
        }
    }

    /// Another worker has its number: from the next session on it has this one. It goes on with what it holds, and says
    /// again what is not acknowledged.
    pub fn renumber(&mut self, worker: WorkerId) {
        self.identity.worker = worker;
        self.times = ReportTimes::of(worker);
    }

    /// There is a link: says who the worker is and what it holds, and repeats what was not acknowledged.
    pub fn connect(&mut self, now: Duration, queue: &LeaseQueue) -> Vec<ToCoordinator> {
        self.times.begin(now);
        (self.sent, self.answered) = (now, now);
        self.leaving = None;
        let hello = self.identity.hello(self.unacknowledged.with_held(queue.held()));
        let repeated = self.unacknowledged.reports().iter().cloned().map(ToCoordinator::Report);
        [ToCoordinator::Hello(Box::new(hello))].into_iter().chain(repeated).collect()
    }

    /// Takes in a message.
    pub fn hear(&mut self, now: Duration, message: ToWorker, queue: &mut LeaseQueue) -> Option<Remark> {
        self.answered = now;
        match message {
            // The goodbye gives it back.
            ToWorker::Lease(_) if self.is_sent_home => {}
            ToWorker::Lease(lease) => queue.add(lease),
            ToWorker::Shorten { lease, spans } => queue.shorten(lease, &spans),
            ToWorker::Cancel(lease) => queue.cancel(lease),
            ToWorker::Acknowledge { sequence } => self.unacknowledged.acknowledge(sequence),
            ToWorker::Drain => {
                queue.begin_no_more();
                self.is_sent_home = true;
                return Some(Remark::SentHome);
            }
            ToWorker::Notice(text) => return Some(Remark::Notice(text)),
            ToWorker::ReportEvery(interval) => self.times.change(now, interval),
            ToWorker::Farewell => {
                // Said to a worker that has not said goodbye, it means nothing.
                if matches!(self.leaving, Some(Leaving::Answer { .. })) {
                    self.leaving = Some(Leaving::Nothing);
                }
            }
        }
        None
    }

    /// Stops counting. From now on, the worker only waits until what is counted is acknowledged.
    pub fn leave(&mut self, now: Duration, queue: &mut LeaseQueue) {
        self.is_sent_home = true;
        queue.cancel_all();
        self.leaving.get_or_insert(Leaving::Reports { until: now + USUAL_FAREWELL, is_usual: true });
    }

    /// Whether it only waits for its last acknowledgements, or for the answer to its goodbye.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Whether it has said goodbye and heard the answer: the coordinator knows that it is gone, and all is recorded.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        matches!(self.leaving, Some(Leaving::Nothing))
    }

    /// Whether something is counted that no coordinator has acknowledged.
    #[must_use]
    pub fn has_counted(&self, queue: &LeaseQueue) -> bool {
        queue.has_counted() || self.unacknowledged.reports().iter().any(|report| !report.deltas.is_empty())
    }

    /// Whether something would be lost if the worker ended now: it holds a lease, or a report that is not acknowledged.
    #[must_use]
    pub fn has_something(&self, queue: &LeaseQueue) -> bool {
        !queue.is_empty() || !self.unacknowledged.reports().is_empty()
    }

    /// Says what there is to say now.
    pub fn step(&mut self, now: Duration, queue: &mut LeaseQueue) -> SessionStep {
        let mut messages = Vec::new();
        if self.leaving.is_some() {
            messages = self.report(now, queue, LeaseQueue::collect);
        } else if self.gives_up().is_some_and(|gives_up| now >= gives_up) {
            return SessionStep { messages, remark: Some(Remark::Stuck), next: AfterStep::Reconnect };
        } else if now >= self.times.next() {
            self.times.report(now);
            messages = self.report_or_live(now, queue);
        } else if queue.has_ended_leases() {
            messages = self.report(now, queue, LeaseQueue::collect_ended);
        }
        let is_done = !self.has_something(queue);
        // Whoever is sent home by a coordinator stays until all that it has counted is recorded: it is no coordinator's
        // business to have it lost.
        if self.is_sent_home && is_done {
            self.leave(now, queue);
        }
        let (remark, next) = match self.leaving {
            None => {
                let next = self.times.next();
                (None, AfterStep::Wait { until: self.gives_up().map_or(next, |gives_up| next.min(gives_up)) })
            }
            Some(Leaving::Reports { .. }) if is_done => {
                messages.push(ToCoordinator::Goodbye);
                let until = now + GOODBYE_PATIENCE;
                self.leaving = Some(Leaving::Answer { until });
                (None, AfterStep::Wait { until })
            }
            Some(leaving) => self.wait_to_leave(now, leaving),
        };
        SessionStep { messages, remark, next }
    }

    /// Waits for the last acknowledgements and for the answer to the goodbye, but not for ever.
    fn wait_to_leave(&mut self, now: Duration, leaving: Leaving) -> (Option<Remark>, AfterStep) {
        match leaving {
            Leaving::Nothing => (None, AfterStep::Left { until: now }),
            Leaving::Reports { until, .. } | Leaving::Answer { until } if now < until => {
                (None, AfterStep::Wait { until })
            }
            Leaving::Reports { is_usual: true, .. } => {
                let until = now + DRAIN_TIMEOUT;
                self.leaving = Some(Leaving::Reports { until, is_usual: false });
                (Some(Remark::WaitsToLeave), AfterStep::Wait { until })
            }
            Leaving::Reports { until, is_usual: false } => {
                let n_reports = self.unacknowledged.reports().len();
                (Some(Remark::LeavesUnacknowledged { n_reports }), AfterStep::Left { until })
            }
            Leaving::Answer { until } => (None, AfterStep::Left { until }),
        }
    }

    /// When another connection is tried, if nothing comes before.
    fn gives_up(&self) -> Option<Duration> {
        (!self.unacknowledged.reports().is_empty()).then(|| self.answered + PATIENCE)
    }

    /// Reports what was counted since the last time, or at least that the worker is alive.
    fn report_or_live(&mut self, now: Duration, queue: &mut LeaseQueue) -> Vec<ToCoordinator> {
        let mut messages = self.report(now, queue, LeaseQueue::collect);
        let interval = self.times.interval();
        let silence = if queue.is_empty() { interval.max(SIGN_OF_LIFE) } else { interval };
        // Not if the next time is early enough.
        if messages.is_empty() && now.saturating_sub(self.sent) + interval > silence + LEEWAY {
            messages.push(self.make_report(now, Vec::new(), Vec::new()));
        }
        messages
    }

    /// Reports what there is to collect, if there is anything.
    fn report(
        &mut self,
        now: Duration,
        queue: &mut LeaseQueue,
        collect: impl FnOnce(&mut LeaseQueue) -> Collected,
    ) -> Vec<ToCoordinator> {
        if self.unacknowledged.is_full() {
            return Vec::new();
        }
        let Collected { deltas, failures, ended } = collect(queue);
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
