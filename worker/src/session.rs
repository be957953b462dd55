//! One session with a coordinator.

use std::collections::BTreeMap;
use std::time::Duration;

use queens_messages::{Delta, Held, Hello, JobId, LeaseId, Name, Report, ToCoordinator, ToWorker};
use queens_process::VERSION;
use queens_proto::Link;
use queens_solver::{DECOMPOSITION_VERSION, Span};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::desk::Collected;
use crate::{End, Worker};

/// How often a worker reports when no lease ends: what a crash loses.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// How often a worker without leases says that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Deltas in one report, which keeps it far below what gRPC accepts.
const MOST_DELTAS: usize = 4096;

/// Reports that may wait to be acknowledged. Beyond that, what is counted is kept until some are.
const MOST_UNACKNOWLEDGED: usize = 16;

/// How long a report may wait to be acknowledged while nothing comes from the coordinator. After that, a new connection
/// is tried: the old one looks alive, but something on it is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a leaving worker waits for its threads and for its last acknowledgement before it says so.
const USUAL_FAREWELL: Duration = Duration::from_secs(1);

/// How long it then goes on waiting.
const FAREWELL: Duration = Duration::from_secs(10);

/// Holds a session until the link breaks or the worker has left.
pub(crate) async fn run(
    worker: &mut Worker,
    link: Link<ToCoordinator, ToWorker>,
    drain: &CancellationToken,
) -> End {
    let now = Instant::now();
    let mut session = Session { worker, link, sent: now, answered: now };
    let mut interval = tokio::time::interval(REPORT_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    if session.greet().await.is_none() {
        return End::LinkLost;
    }
    loop {
        let desk = session.worker.desk.clone();
        if session.worker.sent_home && desk.is_empty() {
            break;
        }
        let lives = tokio::select! {
            () = drain.cancelled() => break,
            message = session.link.receiver.recv() => message.map(|message| session.hear(message)),
            () = desk.lease_ended.notified() => session.report().await,
            _ = interval.tick() => match session.is_stuck() {
                true => None,
                false => session.report_or_live().await,
            },
        };
        if lives.is_none() {
            return End::LinkLost;
        }
    }
    session.leave().await;
    End::Drained
}

struct Session<'a> {
    worker: &'a mut Worker,
    link: Link<ToCoordinator, ToWorker>,
    /// When the last message went out.
    sent: Instant,
    /// When the last message came or, if nothing waited to be acknowledged, the first went out that does.
    answered: Instant,
}

/// Its methods return `None` when the link is broken.
impl Session<'_> {
    /// Says who the worker is and what it holds, and repeats what was not acknowledged.
    async fn greet(&mut self) -> Option<()> {
        let worker = &self.worker;
        let config = &worker.config;
        let unacknowledged = worker.unacknowledged.iter().flat_map(|report| &report.deltas);
        let hello = Hello {
            worker: worker.id,
            name: config.name.clone(),
            build: Name::of_any(VERSION),
            kernel: Name::of_any(config.kernel.name()),
            n_threads: u32::try_from(config.n_threads.get()).unwrap_or(u32::MAX),
            rate: config.kernel.typical_rate(),
            decomposition: DECOMPOSITION_VERSION,
            held: with_unacknowledged(worker.desk.held(), unacknowledged),
        };
        self.send(ToCoordinator::Hello(hello)).await?;
        for report in self.worker.unacknowledged.clone() {
            self.send(ToCoordinator::Report(report)).await?;
        }
        Some(())
    }

    fn is_stuck(&self) -> bool {
        let stuck = !self.worker.unacknowledged.is_empty() && self.answered.elapsed() >= PATIENCE;
        if stuck {
            warn!("no answer to the last reports, trying another connection");
        }
        stuck
    }

    fn hear(&mut self, message: ToWorker) {
        debug!(?message, "heard");
        self.answered = Instant::now();
        let desk = &self.worker.desk;
        match message {
            // The goodbye gives it back.
            ToWorker::Lease(_) if self.worker.sent_home => {}
            ToWorker::Lease(lease) => desk.add(lease),
            ToWorker::Shorten { lease, spans } => desk.shorten(lease, &spans),
            ToWorker::Cancel(lease) => desk.cancel(lease),
            ToWorker::Acknowledge { sequence } => {
                self.worker.unacknowledged.retain(|report| report.sequence > sequence);
            }
            ToWorker::Drain => {
                info!("sent home by the coordinator: leaving when the chunks in hand are counted");
                desk.begin_no_more();
                self.worker.sent_home = true;
            }
            ToWorker::Notice(text) => warn!("the coordinator says: {text}"),
        }
    }

    /// Reports what was counted since the last time, or at least that the worker is alive.
    async fn report_or_live(&mut self) -> Option<()> {
        let reported = self.worker.next_sequence;
        self.report().await?;
        let patience = if self.worker.desk.is_empty() { SIGN_OF_LIFE } else { REPORT_INTERVAL };
        if self.worker.next_sequence == reported && self.sent.elapsed() + REPORT_INTERVAL / 2 >= patience {
            self.send_report(Vec::new(), Vec::new()).await?;
        }
        Some(())
    }

    /// Reports what was counted since the last time, if anything was.
    async fn report(&mut self) -> Option<()> {
        if self.worker.unacknowledged.len() >= MOST_UNACKNOWLEDGED {
            return Some(());
        }
        let Collected { deltas, failures, ended: finished } = self.worker.desk.collect();
        // First: with its lease, what failed would be anybody's again.
        for failure in failures {
            self.send(ToCoordinator::Failure(failure)).await?;
        }
        if deltas.is_empty() && finished.is_empty() {
            return Some(());
        }
        let mut parts: Vec<&[Delta]> = deltas.chunks(MOST_DELTAS).collect();
        // Leases are finished by the last part, when all that was counted of them is reported.
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            self.send_report(part.to_vec(), Vec::new()).await?;
        }
        self.send_report(last.to_vec(), finished).await
    }

    async fn send_report(&mut self, deltas: Vec<Delta>, finished: Vec<LeaseId>) -> Option<()> {
        let report = Report { sequence: self.worker.next_sequence, deltas, finished };
        self.worker.next_sequence += 1;
        if !report.is_empty() {
            if self.worker.unacknowledged.is_empty() {
                self.answered = Instant::now();
            }
            self.worker.unacknowledged.push(report.clone());
        }
        self.send(ToCoordinator::Report(report)).await
    }

    /// Stops counting, reports what is counted, waits until that is acknowledged and says goodbye.
    async fn leave(&mut self) {
        if tokio::time::timeout(USUAL_FAREWELL, self.settle()).await.is_ok() {
            return;
        }
        warn!("waiting for the last reports to be acknowledged; another signal ends this at once");
        if tokio::time::timeout(FAREWELL, self.settle()).await.is_err() {
            let n_reports = self.worker.unacknowledged.len();
            warn!(n_reports, "leaving although the last reports are not acknowledged");
        }
    }

    async fn settle(&mut self) -> Option<()> {
        let desk = self.worker.desk.clone();
        self.worker.sent_home = true;
        desk.cancel_all();
        loop {
            self.report().await?;
            if desk.is_empty() && self.worker.unacknowledged.is_empty() {
                return self.send(ToCoordinator::Goodbye).await;
            }
            tokio::select! {
                message = self.link.receiver.recv() => self.hear(message?),
                () = desk.lease_ended.notified() => {}
            }
        }
    }

    async fn send(&mut self, message: ToCoordinator) -> Option<()> {
        self.sent = Instant::now();
        self.link.sender.send(message).await.ok()
    }
}

/// What a worker holds together with what it has reported but not seen acknowledged: a coordinator that was
/// restarted may know neither.
fn with_unacknowledged<'a>(held: Vec<Held>, unacknowledged: impl Iterator<Item = &'a Delta>) -> Vec<Held> {
    let mut spans: BTreeMap<(LeaseId, JobId), Vec<Span>> = BTreeMap::new();
    for delta in unacknowledged {
        spans.entry((delta.lease, delta.job)).or_default().push(delta.span);
    }
    for mut held in held {
        spans.entry((held.lease, held.job)).or_default().append(&mut held.spans);
    }
    spans.into_iter().map(|((lease, job), spans)| Held { lease, job, spans }).collect()
}
