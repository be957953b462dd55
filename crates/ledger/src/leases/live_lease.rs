//! A live lease: the spans that a worker holds and has not reported yet.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{Delta, JobId, LeaseId, WorkerId};
use queens_solver::{Method, Plan, Span};

use crate::lease_load::Load;
use crate::leases::recount_sums::{Sums, WholeCount};
use crate::spans::SpanSet;
use crate::store::Record;
use crate::store::record::merged;
use crate::work::{n_subproblems_of, work_of};

/// A lease that is being counted, or waits at its worker.
#[derive(Clone, Debug)]
pub(crate) struct LiveLease {
    pub(crate) id: LeaseId,
    pub(crate) job: JobId,
    pub(crate) method: Method,
    pub(crate) worker: WorkerId,
    /// The unreported spans, in the order of counting.
    pub(crate) spans: SpanSet,
    /// Spans that were cut off: the worker may have begun them, and may still report them.
    cut: SpanSet,
    /// The estimated work of `spans`.
    pub(crate) work: u128,
    /// The record that the next report extends if it continues the last one.
    open: Option<Box<Record>>,
    /// Workers that have failed on its spans before.
    pub(crate) tried: BTreeSet<WorkerId>,
    /// The sums of its records, if it is a recount.
    again: Option<Box<Sums>>,
    /// When its worker is late, if its party was drawn for it.
    pub(crate) due: Option<Duration>,
    /// Whether its worker was told to return everything that it has not begun.
    pub(crate) recalled: bool,
    /// When it was last reported on; before the first report, when it was granted or, if it had to wait, begun.
    pub(crate) heard: Duration,
    /// When it was granted or, if it had to wait, begun, and its estimated work then.
    begun: Duration,
    begun_work: u128,
    /// Whether something was reported on it.
    pub(crate) has_reported: bool,
    /// How long counting it can have taken so far.
    allowance: Allowance,
    /// Whether its tail could not be cut since it was last heard of.
    indivisible: bool,
}

/// The remains of a lease that has ended.
#[derive(Debug)]
pub(crate) struct EndedLease {
    /// The spans that nobody holds now.
    pub(crate) spans: SpanSet,
    /// Workers that have failed on it before.
    pub(crate) tried: BTreeSet<WorkerId>,
    /// Records that it was to recount and has not, by part and first subproblem.
    pub(crate) again: Vec<(u32, u64)>,
    /// Whether its worker was told to return what it had not begun.
    pub(crate) recalled: bool,
}

/// A reported span that a lease granted.
#[derive(Debug)]
pub(crate) struct Reported {
    /// The part of it that the lease still held.
    pub(crate) given_back: Vec<Span>,
    /// How long counting it took, as far as that is possible.
    pub(crate) duration: Duration,
    /// Whether the lease is a recount.
    pub(crate) is_again: bool,
    /// The count of a whole record, if it completes one.
    pub(crate) whole: Option<WholeCount>,
}

/// How long counting a lease can have taken: one thread counts it, so no longer than since it was granted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    since: Duration,
    /// The durations that were reported.
    used: Duration,
}

/// How much longer counting a lease may have taken than the time since it was granted.
const LEEWAY: Duration = Duration::from_secs(1);

impl Allowance {
    pub(crate) fn since(since: Duration) -> Self {
        Self { since, used: Duration::ZERO }
    }

    /// Returns a reported duration, or as much of it as is possible.
    pub(crate) fn take(&mut self, now: Duration, duration: Duration) -> Duration {
        let left = (now.saturating_sub(self.since) + LEEWAY).saturating_sub(self.used);
        let taken = duration.min(left);
        self.used += taken;
        taken
    }
}

/// What the worker of an ended lease may still report.
#[derive(Clone, Debug)]
pub(crate) struct Unreported {
    pub(crate) spans: SpanSet,
    pub(crate) allowance: Allowance,
    /// When its worker was late, if its party was drawn for it.
    pub(crate) due: Option<Duration>,
    /// The sums of its records, if it was a recount.
    pub(crate) again: Option<Box<Sums>>,
}

impl Unreported {
    /// Creates that of a lease that was neither drawn nor a recount.
    pub(crate) fn first(spans: SpanSet, allowance: Allowance) -> Self {
        Self { spans, allowance, due: None, again: None }
    }
}

/// The purpose of a lease, which its worker does not learn.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// Counts unrecorded spans.
    First {
        /// Workers that have failed on them before.
        tried: BTreeSet<WorkerId>,
        /// When its worker is late, if its party was drawn for them.
        due: Option<Duration>,
    },
    /// Recounts records.
    Again {
        /// When its worker is late.
        due: Duration,
    },
}

impl LiveLease {
    /// Creates a lease of `spans`, which lie in the plan.
    pub(crate) fn new(
        id: LeaseId,
        worker: WorkerId,
        job: JobId,
        now: Duration,
        plan: &Plan,
        spans: SpanSet,
    ) -> Self {
        let work = spans.iter().map(|span| work_of(plan, span)).sum();
        Self {
            id,
            job,
            method: plan.method(),
            worker,
            spans,
            cut: SpanSet::default(),
            work,
            open: None,
            tried: BTreeSet::new(),
            again: None,
            due: None,
            recalled: false,
            heard: now,
            begun: now,
            begun_work: work,
            has_reported: false,
            allowance: Allowance::since(now),
            indivisible: false,
        }
    }

    /// Returns the lease with this purpose.
    pub(crate) fn with_purpose(self, purpose: Purpose) -> Self {
        match purpose {
            Purpose::First { tried, due } => Self { tried, due, ..self },
            Purpose::Again { due } => {
                Self { again: Some(Box::new(Sums::of(&self.spans))), due: Some(due), ..self }
            }
        }
    }

    /// Returns the lease as one that was granted earlier, and has to be counted by `due` if its party was drawn for it.
    pub(crate) fn granted_earlier(self, allowance: Allowance, due: Option<Duration>) -> Self {
        Self { allowance, due, ..self }
    }

    /// Returns the lease without the spans `cut`, which its worker may still report.
    pub(crate) fn without(self, cut: SpanSet) -> Self {
        Self { cut, ..self }
    }

    /// Returns when a thread of its worker began it, as far as known, and its estimated work then.
    pub(crate) fn begun(&self) -> (Duration, u128) {
        (self.begun, self.begun_work)
    }

    /// Returns one of the records that it has to recount, by part and first subproblem.
    pub(crate) fn record_to_recount(&self) -> Option<(u32, u64)> {
        self.again.as_ref()?.missing().next()
    }

    /// Returns the load that it adds to its worker and its job.
    pub(crate) fn load(&self) -> Load {
        let Self { method, work, heard, recalled, .. } = *self;
        Load { method, work, heard, recalled, can_be_cut: self.can_be_cut() }
    }

    /// Whether a report of this worker on this job can belong to this lease.
    pub(crate) fn is_of(&self, worker: WorkerId, job: JobId) -> bool {
        self.worker == worker && self.job == job
    }

    /// Whether all of `span` was granted under this lease and is not reported yet.
    pub(crate) fn may_report(&self, span: Span) -> bool {
        // A chunk that was begun before its end was cut off lies in both sets.
        let mut at = span.from();
        while at < span.to() {
            let end = self.spans.end_of(span.part(), at).or_else(|| self.cut.end_of(span.part(), at));
            let Some(end) = end else { return false };
            at = end;
        }
        true
    }

    /// Whether its tail may go to another worker. A recalled lease needs no cutting. Few workers may try a failed span.
    /// A draw gives spans to one party alone.
    fn can_be_cut(&self) -> bool {
        !self.recalled && self.tried.is_empty() && self.due.is_none() && !self.indivisible
    }

    /// Notes that a thread begins it.
    pub(crate) fn begin(&mut self, now: Duration) {
        (self.heard, self.begun, self.begun_work) = (now, now, self.work);
    }

    /// Removes a reported span of this estimated work.
    pub(crate) fn report(&mut self, now: Duration, delta: &Delta, work: u128) -> Reported {
        let span = delta.span;
        self.cut.take(span);
        self.work = self.work.saturating_sub(work);
        self.heard = now;
        self.has_reported = true;
        self.indivisible = false;
        let given_back = self.spans.take(span);
        let duration = self.allowance.take(now, delta.duration);
        let whole = self.again.as_mut().and_then(|sums| sums.add(span, delta.count, duration));
        Reported { given_back, duration, is_again: self.again.is_some(), whole }
    }

    /// Gives up the recount of the record that contains a span. Returns `None` if it recounts nothing, and no record if
    /// it gave that up before.
    pub(crate) fn give_up_again(&mut self, span: Span) -> Option<Option<(u32, u64)>> {
        self.again.as_mut().map(|sums| sums.give_up(span))
    }

    /// Returns the record to write for a report. It extends the last record if it continues that.
    pub(crate) fn extend(&mut self, told: &Record) -> Record {
        let extended = self.open.take().and_then(|open| merged(&open, told));
        let record = extended.unwrap_or_else(|| told.clone());
        self.open = Some(Box::new(record.clone()));
        record
    }

    /// Moves a span that can't be counted off the lease; the worker may still report it.
    pub(crate) fn fail(&mut self, now: Duration, plan: &Plan, span: Span) -> Vec<Span> {
        let failed = self.spans.take(span);
        let work = failed.iter().map(|&span| work_of(plan, span)).sum();
        self.work = self.work.saturating_sub(work);
        self.heard = now;
        failed.iter().for_each(|&span| self.cut.insert(span));
        failed
    }

    /// Marks the lease as recalled: its worker must return everything that it has not begun.
    pub(crate) fn recall(&mut self) {
        self.recalled = true;
    }

    /// Cuts whole subproblems of at most `work` off the end. The worker may still report them.
    pub(crate) fn cut_tail(&mut self, plan: &Plan, work: u128) -> Vec<Span> {
        let tail = self.cut_off(plan, work);
        tail.iter().for_each(|&span| self.cut.insert(span));
        self.work = self.spans.iter().map(|span| work_of(plan, span)).sum();
        self.indivisible = tail.is_empty();
        tail
    }

    /// Cuts off all spans. The worker may still report them.
    pub(crate) fn cut_all(&mut self) -> Vec<Span> {
        let all = std::mem::take(&mut self.spans);
        all.iter().for_each(|span| self.cut.insert(span));
        self.work = 0;
        all.iter().collect()
    }

    fn cut_off(&mut self, plan: &Plan, work: u128) -> Vec<Span> {
        let (mut tail, mut left) = (Vec::new(), work);
        while let Some(span) = self.spans.pop_last() {
            let fits = n_subproblems_of(plan, span.part(), left).min(span.n_subproblems());
            let (kept, taken) = span.split_at(span.to() - fits);
            left = left.saturating_sub(taken.map_or(0, |taken| work_of(plan, taken)));
            tail.extend(taken);
            if let Some(kept) = kept {
                self.spans.insert(kept);
                break;
            }
        }
        tail.reverse();
        tail
    }

    /// Ends it. Returns its remains, and what its worker may still report.
    pub(crate) fn end(self) -> (EndedLease, Unreported) {
        let Self { spans, mut cut, tried, again: sums, recalled, allowance, due, .. } = self;
        spans.iter().for_each(|span| cut.insert(span));
        let again = sums.iter().flat_map(|sums| sums.missing()).collect();
        (EndedLease { spans, tried, again, recalled }, Unreported { spans: cut, allowance, due, again: sums })
    }
}
