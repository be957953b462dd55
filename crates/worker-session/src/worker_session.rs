//! A worker's side of all its sessions: decides which messages to send and when, and repeats unacknowledged reports.

#[cfg(test)]
mod tests;

use std::time::Duration;

use queens_model::{Delta, Hello, LeaseId, MOST_DELTAS, ToCoordinator, ToWorker, WorkerId};

use crate::held_lease::HeldLease;
use crate::lease_queue::{Collected, LeaseQueue};
use crate::report_times::ReportTimes;
use crate::unacknowledged::Unacknowledged;

/// The heartbeat interval of a worker without leases, unless the report interval is longer.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// The maximum delay of a heartbeat.
const LEEWAY: Duration = Duration::from_millis(500);

/// The timeout for an acknowledgement while the coordinator sends nothing. After it, the worker reconnects: the old
/// connection looks alive, but is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a leaving worker waits for its threads and its last acknowledgement before it logs a remark.
const USUAL_FAREWELL: Duration = Duration::from_secs(1);

/// How much longer it then waits.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout for the answer to a goodbye. A coordinator answers when all reports are durable, so it takes as long as
/// an acknowledgement.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(10);

/// A worker's side of its sessions. It outlives each of them, and repeats unacknowledged reports in the next one.
///
/// The caller calls [`connect`](Self::connect) on a new link, then [`step`](Self::step) repeatedly. A step is due after
/// each [received](Self::hear) message, when a lease has ended, and at the time that the last step returned. Times
/// count from any fixed moment before the link.
#[derive(Debug)]
pub struct WorkerSession {
    hello: Hello,
    unacknowledged: Unacknowledged,
    /// Whether it leaves for good, and begins no new chunk.
    is_sent_home: bool,
    /// Whether it leaves for a while, and begins no new chunk.
    is_paused: bool,
    /// The condition that a leaving worker waits for, once it does nothing else.
    leaving: Option<Leaving>,
    /// When it reports counts. It reports ended leases at once.
    times: ReportTimes,
    /// When the last message went out.
    sent: Duration,
    /// When the last message arrived, or when the oldest unacknowledged report went out if that was later.
    answered: Duration,
}

/// The condition that a leaving worker waits for.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    /// Its threads and last acknowledgements, until this time. Then it logs a remark, if the wait was of usual length.
    Reports { until: Duration, is_usual: bool },
    /// The answer to its goodbye, until this time.
    Answer { until: Duration },
    /// Nothing: its goodbye is answered.
    Nothing,
}

/// The outcome of a step.
#[derive(Debug)]
pub struct SessionStep {
    /// The messages to send, in this order.
    pub messages: Vec<ToCoordinator>,
    /// A remark for the log.
    pub remark: Option<Remark>,
    /// The caller's next action.
    pub next: AfterStep,
}

/// The caller's next action after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterStep {
    /// Another step, at this time at the latest.
    Wait {
        /// The time.
        until: Duration,
    },
    /// Another session: this one is stuck.
    Reconnect,
    /// Nothing: the worker has left, after it has tried to send its last messages.
    Left,
}

/// A remark for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// The coordinator's message to the worker's owner.
    Notice(String),
    /// The coordinator drains the worker.
    Drained,
    /// No acknowledgements arrive.
    Stuck,
    /// The last reports are not acknowledged yet, and the worker goes on waiting.
    WaitsToLeave,
    /// The worker leaves although its last reports are not acknowledged.
    LeavesUnacknowledged {
        /// The number of these reports.
        n_reports: usize,
    },
}

impl WorkerSession {
    /// Creates the sessions of a worker.
    #[must_use]
    pub fn new(hello: Hello) -> Self {
        Self {
            times: ReportTimes::of(hello.worker),
            hello,
            unacknowledged: Unacknowledged::default(),
            is_sent_home: false,
            is_paused: false,
            leaving: None,
            sent: Duration::ZERO,
            answered: Duration::ZERO,
        }
    }

    /// Changes the worker's number for the next session, because another worker has the old one. Leases and
    /// unacknowledged reports are kept.
    pub fn renumber(&mut self, worker: WorkerId) {
        self.hello.worker = worker;
        self.times = ReportTimes::of(worker);
    }

    /// Starts a session on a new link: sends the worker's identity and leases, and repeats unacknowledged reports.
    pub fn connect(&mut self, now: Duration, queue: &LeaseQueue) -> Vec<ToCoordinator> {
        self.times.begin(now);
        (self.sent, self.answered) = (now, now);
        self.leaving = None;
        let held = self.unacknowledged.with_held(queue.held());
        let hello = Hello { held, ..self.hello.clone() };
        let repeated = self.unacknowledged.reports().iter().cloned().map(ToCoordinator::Report);
        [ToCoordinator::Hello(Box::new(hello))].into_iter().chain(repeated).collect()
    }

    /// Processes a message.
    pub fn hear(&mut self, now: Duration, message: ToWorker, queue: &mut LeaseQueue) -> Option<Remark> {
        self.answered = now;
        match message {
            // The goodbye returns the lease.
            ToWorker::Lease(_) if self.begins_nothing() => {}
            ToWorker::Lease(lease) => queue.add(lease),
            ToWorker::Shorten { lease, spans } => _ = queue.change(lease, |held| held.shorten(&spans)),
            ToWorker::Cancel(lease) => _ = queue.change(lease, HeldLease::cancel),
            ToWorker::Acknowledge { sequence } => self.unacknowledged.acknowledge(sequence),
            ToWorker::Drain => {
                queue.begin_no_more();
                self.is_sent_home = true;
                return Some(Remark::Drained);
            }
            ToWorker::Notice(text) => return Some(Remark::Notice(text)),
            ToWorker::ReportEvery(interval) => self.times.change(now, interval),
            ToWorker::Farewell => {
                // A worker that has not said goodbye ignores it.
                if matches!(self.leaving, Some(Leaving::Answer { .. })) {
                    self.leaving = Some(Leaving::Nothing);
                }
            }
        }
        None
    }

    /// Stops counting. From now on, the worker only waits for acknowledgements of its counts.
    pub fn leave(&mut self, now: Duration, queue: &mut LeaseQueue) {
        self.is_sent_home = true;
        self.wait_for_reports(now, queue);
    }

    fn wait_for_reports(&mut self, now: Duration, queue: &mut LeaseQueue) {
        queue.cancel_all();
        self.leaving.get_or_insert(Leaving::Reports { until: now + USUAL_FAREWELL, is_usual: true });
    }

    /// Stops counting for a while. The worker gives its leases back, stays until all its counts are acknowledged, and
    /// then says goodbye. Sessions that begin before [`resume`](Self::resume) do only that.
    pub fn pause(&mut self, queue: &mut LeaseQueue) {
        self.is_paused = true;
        queue.cancel_all();
    }

    /// Lets the next session count again. Only between sessions: a paused one has ignored leases.
    pub fn resume(&mut self) {
        self.is_paused = false;
    }

    /// Returns whether the worker leaves for a while only.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused && !self.is_sent_home
    }

    /// Returns whether the worker leaves, for good or for a while, and begins no new chunk.
    #[must_use]
    pub fn begins_nothing(&self) -> bool {
        self.is_sent_home || self.is_paused
    }

    /// Returns whether it waits only for its last acknowledgements or the answer to its goodbye.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Returns whether its goodbye is answered: the coordinator knows of its departure, and all is recorded.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        matches!(self.leaving, Some(Leaving::Nothing))
    }

    /// Returns whether there are counts that no coordinator has acknowledged.
    #[must_use]
    pub fn has_counted(&self, queue: &LeaseQueue) -> bool {
        queue.has_counted() || self.unacknowledged.reports().iter().any(|report| !report.deltas.is_empty())
    }

    /// Returns whether the worker would lose anything if it ended now: a lease, or an unacknowledged report.
    #[must_use]
    pub fn has_something(&self, queue: &LeaseQueue) -> bool {
        !queue.is_empty() || !self.unacknowledged.reports().is_empty()
    }

    /// Returns the messages due now.
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
        // A drained worker stays until all its counts are recorded, so that no coordinator can make it lose them. So
        // does a paused one, as others should count its leases at once.
        if self.begins_nothing() && is_done {
            self.wait_for_reports(now, queue);
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

    /// Waits for the last acknowledgements and for the answer to the goodbye, with timeouts.
    fn wait_to_leave(&mut self, now: Duration, leaving: Leaving) -> (Option<Remark>, AfterStep) {
        match leaving {
            Leaving::Nothing => (None, AfterStep::Left),
            Leaving::Reports { until, .. } | Leaving::Answer { until } if now < until => {
                (None, AfterStep::Wait { until })
            }
            Leaving::Reports { is_usual: true, .. } => {
                let until = now + DRAIN_TIMEOUT;
                self.leaving = Some(Leaving::Reports { until, is_usual: false });
                (Some(Remark::WaitsToLeave), AfterStep::Wait { until })
            }
            Leaving::Reports { is_usual: false, .. } => {
                let n_reports = self.unacknowledged.reports().len();
                (Some(Remark::LeavesUnacknowledged { n_reports }), AfterStep::Left)
            }
            Leaving::Answer { .. } => (None, AfterStep::Left),
        }
    }

    /// Returns when to reconnect if no message arrives before.
    fn gives_up(&self) -> Option<Duration> {
        (!self.unacknowledged.reports().is_empty()).then(|| self.answered + PATIENCE)
    }

    /// Reports new counts, or sends a heartbeat.
    fn report_or_live(&mut self, now: Duration, queue: &mut LeaseQueue) -> Vec<ToCoordinator> {
        let mut messages = self.report(now, queue, LeaseQueue::collect);
        let interval = self.times.interval();
        let silence = if queue.is_empty() { interval.max(SIGN_OF_LIFE) } else { interval };
        // No heartbeat if the next report time is early enough.
        if messages.is_empty() && now.saturating_sub(self.sent) + interval > silence + LEEWAY {
            messages.push(self.make_report(now, Vec::new(), Vec::new()));
        }
        messages
    }

    /// Reports the collected counts and ended leases, if there are any.
    fn report(
        &mut self,
        now: Duration,
        queue: &mut LeaseQueue,
        collect: impl FnOnce(&mut LeaseQueue) -> Collected,
    ) -> Vec<ToCoordinator> {
        if self.unacknowledged.is_full() {
            return Vec::new();
        }
        let Collected { deltas, failures, notices, ended } = collect(queue);
        let mut messages: Vec<ToCoordinator> = notices.into_iter().map(ToCoordinator::Notice).collect();
        // Failures go before reports: a report ends the lease, and the coordinator would grant a failed span again.
        messages.extend(failures.into_iter().map(ToCoordinator::Failure));
        if deltas.is_empty() && ended.is_empty() {
            return messages;
        }
        let mut parts: Vec<&[Delta]> = deltas.chunks(MOST_DELTAS).collect();
        // Only the last report of a batch ends leases, when all their counts are reported.
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
