//! Applies the messages of workers to the core.

use queens_ledger::{Session, SpanOutcome, WorkerRefusal};
use queens_model::{Report, ToCoordinator};
use tokio::time::Instant;
use tracing::debug;

use super::EventLoop;
use crate::metrics::Fate;

impl EventLoop {
    /// Applies a message that came at this time. The error refuses the worker.
    pub(super) fn hear(
        &mut self,
        session: Session,
        message: ToCoordinator,
        came: Instant,
    ) -> Result<(), WorkerRefusal> {
        match message {
            ToCoordinator::Hello(_) => Err(WorkerRefusal::SecondHello),
            ToCoordinator::Report(report) => {
                self.reports.push(came);
                self.report(session, &report)
            }
            ToCoordinator::Failure(failure) => self.core.fail(session, &failure),
            ToCoordinator::Notice(text) => self.core.notice(session, text),
            ToCoordinator::Sensors(sensors) => self.core.note_sensors(session, sensors),
            ToCoordinator::Goodbye => {
                self.core.goodbye(session);
                Ok(())
            }
        }
    }

    fn report(&mut self, session: Session, report: &Report) -> Result<(), WorkerRefusal> {
        let worker = session.worker();
        let outcomes = self.core.report(session, report)?;
        let (mut n_accepted, mut n_again) = (0, 0);
        for (delta, outcome) in report.deltas.iter().zip(outcomes) {
            self.traces.reported(worker, delta, outcome);
            match outcome {
                SpanOutcome::Recorded => {
                    n_accepted += 1;
                    let ledger = self.core.ledger();
                    let method = ledger.job_of(delta.job).and_then(|job| ledger.method(job));
                    method.into_iter().for_each(|it| self.counters.add_work(it, delta.count.work));
                    continue;
                }
                SpanOutcome::CountedAgain => {
                    n_again += 1;
                    continue;
                }
                // The comparison with the record decides its fate.
                SpanOutcome::Repeated => {}
                SpanOutcome::Discarded => self.counters.add_spans(Fate::Discarded, 1),
                SpanOutcome::Unleased => self.counters.add_spans(Fate::Unleased, 1),
            }
            self.drops = true;
            debug!(%worker, job = %delta.job, span = %delta.span, ?outcome, "span not added");
        }
        self.counters.add_spans(Fate::Accepted, n_accepted);
        self.counters.add_spans(Fate::CountedAgain, n_again);
        Ok(())
    }
}
