//! Handles workers' reports.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{Delta, JobId, JobIdentity, LeaseId, Party, Report, ToWorker, WorkerId};
use queens_solver::Span;

use crate::effects::Comparison;
use crate::handlers::jobs::finish_if_complete;
use crate::handlers::recounts;
use crate::handlers::worker_refusal::WorkerRefusal;
use crate::jobs::counting::Overlap;
use crate::leases::live_lease::{LiveLease, Reported};
use crate::ledger::Ledger;
use crate::schedule::assign::assign;
use crate::schedule::interval_notices::tell_interval;
use crate::store::record::can_be_recorded;
use crate::store::{Phase, Record, SecondCount, Source};
use crate::work::work_of;
use crate::workers::worker::Worker;

/// The outcome of a reported span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanOutcome {
    /// It is new and part of the total.
    Recorded,
    /// It was leased as a recount, and is counted.
    CountedAgain,
    /// It was leased to two workers, and the other one was faster. If it repeats a record exactly, the two are
    /// compared. The total is unchanged.
    Repeated,
    /// It overlaps recorded spans, or its job is cancelled: it was dropped.
    Discarded,
    /// It was not granted to this worker under this lease: it was dropped.
    Unleased,
}

impl Ledger {
    /// Handles a worker's report. A report is acknowledged whatever the outcome of its spans; an empty one is not.
    ///
    /// # Errors
    /// If it is invalid; then nothing of it is recorded.
    pub fn report(
        &mut self,
        now: Duration,
        worker: WorkerId,
        report: &Report,
    ) -> Result<Vec<SpanOutcome>, WorkerRefusal> {
        self.advance(now);
        let known = self.note_contact(worker).ok_or(WorkerRefusal::Unknown(worker))?;
        let (source, was_stuck, interval) = (known.source().clone(), known.stuck, known.interval.get());
        if was_stuck && !report.deltas.is_empty() {
            self.change_worker(worker, |worker| worker.set_stuck(false));
        }
        report.deltas.iter().try_for_each(|delta| check(self, delta))?;
        let outcomes: Vec<SpanOutcome> =
            report.deltas.iter().map(|delta| record(self, (worker, interval), delta, &source)).collect();
        if outcomes.iter().any(|it| matches!(it, SpanOutcome::Recorded | SpanOutcome::CountedAgain)) {
            self.change_worker(worker, |worker| worker.forgive());
        }
        for id in report.deltas.iter().map(|delta| delta.lease).collect::<BTreeSet<_>>() {
            let is_over = |lease: &LiveLease| lease.worker == worker && lease.spans.is_empty();
            if self.leases.get(id).is_some_and(is_over) {
                self.end_lease(id, false);
            }
        }
        for &id in &report.finished {
            finish(self, worker, id);
        }
        if !report.is_empty() {
            self.effects.send(worker, ToWorker::Acknowledge { sequence: report.sequence });
        }
        tell_interval(self, worker);
        let touched: BTreeSet<JobIdentity> = report.deltas.iter().map(|delta| delta.job).collect();
        let touched: BTreeSet<JobId> =
            touched.into_iter().filter_map(|identity| Some(self.jobs.identified(identity)?.id())).collect();
        touched.into_iter().for_each(|job| finish_if_complete(self, job));
        assign(self);
        Ok(outcomes)
    }
}

fn check(ledger: &Ledger, delta: &Delta) -> Result<(), WorkerRefusal> {
    check_span(ledger, delta.job, delta.span)?;
    let possible = can_be_recorded(delta.count, delta.duration);
    if possible { Ok(()) } else { Err(WorkerRefusal::Impossible(delta.span)) }
}

/// Checks that a span exists. Passes if the job is unknown or has no plan: the store may have gone back since the
/// worker got its lease. Such a report is dropped later.
pub(crate) fn check_span(ledger: &Ledger, identity: JobIdentity, span: Span) -> Result<(), WorkerRefusal> {
    let job = ledger.jobs.identified(identity);
    let Some((job, counting)) = job.and_then(|job| Some((job.id(), job.counting()?))) else { return Ok(()) };
    if counting.has(span) { Ok(()) } else { Err(WorkerRefusal::UnknownSpan { job, span }) }
}

/// Records one checked delta of a worker with this report interval.
fn record(
    ledger: &mut Ledger,
    (worker, interval): (WorkerId, Duration),
    delta: &Delta,
    source: &Arc<Source>,
) -> SpanOutcome {
    let &Delta { job: identity, lease, span, .. } = delta;
    let Some(job) = ledger.jobs.identified(identity) else { return SpanOutcome::Unleased };
    let (id, phase, Some(counting)) = (job.id(), job.phase(), job.counting()) else {
        return SpanOutcome::Unleased;
    };
    let (overlap, work) = (counting.overlap(span), work_of(counting.plan(), span));
    let method = job.method();
    // Looked up once: a report may have thousands of deltas.
    let held = ledger.leases.get(lease);
    // The first report on a lease proves that one more thread counts.
    let is_first = held.is_some_and(|lease| !lease.has_reported);
    let is_timed = held.is_some_and(|lease| could_take(ledger.now, interval, lease, delta));
    let granted = report_on(ledger, worker, id, delta, work);
    if phase == Phase::Cancelled {
        return SpanOutcome::Discarded;
    }
    if granted.is_some() {
        ledger.proofs.note_work(source.party, method, work);
    }
    let note_counted = |worker: &mut Worker| {
        if is_timed {
            worker.note_counted(method, work, delta.count.work, delta.duration);
        }
        if is_first {
            worker.prove_thread();
        }
    };
    if let Some(reported) = granted.as_ref().filter(|reported| reported.is_again) {
        ledger.change_worker(worker, note_counted);
        if let Some(whole) = reported.whole {
            recounts::count(ledger, id, whole, source);
        }
        return SpanOutcome::CountedAgain;
    }
    match (granted, overlap) {
        // Most often a report that came twice.
        (None, Overlap::Whole) => SpanOutcome::Discarded,
        (None, _) => SpanOutcome::Unleased,
        (Some(Reported { given_back, .. }), Overlap::Partial) => {
            // The worker won't count the span again, so its unrecorded subproblems become free.
            ledger.change_job(id, |job| {
                let Some(counting) = job.counting_mut() else { return };
                given_back.into_iter().for_each(|span| counting.release(span));
            });
            SpanOutcome::Discarded
        }
        (Some(Reported { duration, .. }), Overlap::Whole) => {
            // Another was faster.
            ledger.proofs.note_part(source.party, method);
            let (source, at_ms) = (Arc::clone(source), ledger.date_ms());
            let second = SecondCount { span, count: delta.count, duration, source, at_ms };
            ledger.effects.compare(Comparison { job: id, second });
            SpanOutcome::Repeated
        }
        (Some(Reported { duration, .. }), Overlap::None) => {
            let has_answered = ledger.change_job(id, |job| {
                let counting = job.counting_mut()?;
                counting.record(span, delta.count, source.party);
                Some(counting.has_drawn_part(source.party, span.part()))
            });
            if has_answered.flatten() == Some(true) {
                ledger.proofs.note_answer(source.party);
            }
            ledger.change_worker(worker, |worker| {
                note_counted(worker);
                worker.note_recorded();
            });
            ledger.proofs.note_part(source.party, method);
            note_parties_at_end(ledger, id);
            write_record(ledger, worker, id, &Delta { duration, ..*delta }, source);
            SpanOutcome::Recorded
        }
    }
}

/// Once all of a job is recorded, notes that the connected parties have taken part in it.
fn note_parties_at_end(ledger: &mut Ledger, id: JobId) {
    let Some(job) = ledger.jobs.get(id).filter(|job| job.is_verifying()) else { return };
    let method = job.method();
    let there: Vec<Party> = ledger.workers.readiness(method).candidates().keys().copied().collect();
    there.into_iter().for_each(|party| ledger.proofs.note_part(party, method));
}

/// How much longer a span may have taken than the time since its lease was last heard of.
const LEEWAY: Duration = Duration::from_secs(1);

/// Whether a worker with this report interval can have taken as long as it says. Other durations measure no speed, so
/// that nobody waits for a worker that claims to be slow. Nor do ended leases, whose last report is unknown.
fn could_take(now: Duration, interval: Duration, lease: &LiveLease, delta: &Delta) -> bool {
    delta.duration <= now.saturating_sub(lease.heard) + interval + LEEWAY
}

/// Takes a reported span off its lease. Returns `None` if this worker was not granted the span under this lease, or has
/// reported it before.
fn report_on(
    ledger: &mut Ledger,
    worker: WorkerId,
    job: JobId,
    delta: &Delta,
    work: u128,
) -> Option<Reported> {
    let &Delta { lease: id, span, .. } = delta;
    let now = ledger.now;
    let Some(lease) = ledger.leases.get(id) else {
        return ledger.report_former(worker, job, delta);
    };
    if !lease.is_of(worker, job) || !lease.may_report(span) {
        return None;
    }
    ledger.change_lease(id, |lease| lease.report(now, delta, work))
}

/// Extends the lease's open record if the delta continues it; begins a new record otherwise.
fn write_record(ledger: &mut Ledger, worker: WorkerId, job: JobId, delta: &Delta, source: &Arc<Source>) {
    let &Delta { lease, span, count, duration, .. } = delta;
    let mut record = Record { span, count, duration, lease, source: source.clone() };
    if ledger.leases.get(lease).is_some_and(|lease| lease.is_of(worker, job)) {
        record = ledger.change_lease(lease, |lease| lease.extend(&record)).unwrap_or(record);
    }
    ledger.effects.record(job, record);
}

/// Ends a lease whose worker has reported all that it counted.
fn finish(ledger: &mut Ledger, worker: WorkerId, id: LeaseId) {
    if let Some(lease) = ledger.leases.get(id).filter(|lease| lease.worker == worker) {
        if !lease.has_reported && !lease.recalled && !lease.spans.is_empty() {
            ledger.workers.note_given_back(ledger.now, worker);
        }
        ledger.end_lease(id, false);
    }
    ledger.finish_former(id, worker);
}
