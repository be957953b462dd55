//! A live lease: what a worker holds and has not reported yet.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{Delta, JobId, LeaseId, WorkerId};
use queens_solver::{Method, Plan, Span};

use crate::lease_load::Load;
use crate::leases::recount_sums::{Sums, WholeCount};
use crate::records::merged;
use crate::spans::SpanSet;
use crate::store::Record;
use crate::work::{n_subproblems_of, work_of};

/// A lease that is being counted or waits at its worker to be counted.
#[derive(Clone, Debug)]
pub(crate) struct LiveLease {
    id: LeaseId,
    job: JobId,
    method: Method,
    worker: WorkerId,
    /// What is not reported yet. It is counted in this order.
    spans: SpanSet,
    /// What was taken off the lease: its worker may have begun it, and may report it still.
    cut: SpanSet,
    /// The estimated work of `spans`.
    work: u128,
    /// The record its next report extends, if that goes on where the last one ended.
    open: Option<Box<Record>>,
    /// Workers that have failed on its spans before.
    tried: BTreeSet<WorkerId>,
    /// What has come of it so far, if it counts records again.
    again: Option<Box<Sums>>,
    /// Whether its worker was told to give back all that it has not begun.
    recalled: bool,
    /// When its last report came, or else when it was granted or, if it had to wait, begun.
    heard: Duration,
    /// When it was granted or, if it had to wait, begun, and its estimated work then.
    begun: Duration,
    begun_work: u128,
    /// Whether something was reported of it.
    has_reported: bool,
    /// Whether its tail could not be cut since it was last heard of.
    indivisible: bool,
}

/// What is left of a lease that has ended.
#[derive(Debug)]
pub(crate) struct EndedLease {
    /// What nobody holds now.
    pub(crate) spans: SpanSet,
    /// Workers that have failed on it before.
    pub(crate) tried: BTreeSet<WorkerId>,
    /// Records that it was to count again and has not, by their crosses and first subproblems.
    pub(crate) again: Vec<(u32, u64)>,
}

/// What a lease is for. Its worker can't tell.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// To count what is not recorded. These workers have failed on it before.
    First {
        /// The workers.
        tried: BTreeSet<WorkerId>,
    },
    /// To count records again.
    Again,
}

impl LiveLease {
    /// A lease of `spans`, which are in the plan.
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
            recalled: false,
            heard: now,
            begun: now,
            begun_work: work,
            has_reported: false,
            indivisible: false,
        }
    }

    /// The same lease for this purpose.
    pub(crate) fn with_purpose(self, purpose: Purpose) -> Self {
        match purpose {
            Purpose::First { tried } => Self { tried, ..self },
            Purpose::Again => Self { again: Some(Box::new(Sums::of(&self.spans))), ..self },
        }
    }

    /// The same lease, of which this was taken off: its worker may still report it.
    pub(crate) fn without(self, cut: SpanSet) -> Self {
        Self { cut, ..self }
    }

    pub(crate) fn id(&self) -> LeaseId {
        self.id
    }

    pub(crate) fn job(&self) -> JobId {
        self.job
    }

    pub(crate) fn method(&self) -> Method {
        self.method
    }

    pub(crate) fn worker(&self) -> WorkerId {
        self.worker
    }

    /// What is not reported yet.
    pub(crate) fn spans(&self) -> &SpanSet {
        &self.spans
    }

    /// The estimated work of that.
    pub(crate) fn work(&self) -> u128 {
        self.work
    }

    /// When its last report came, or else when it was granted or, if it had to wait, begun.
    pub(crate) fn heard(&self) -> Duration {
        self.heard
    }

    /// When a thread of its worker began it, as far as is known, and its estimated work then.
    pub(crate) fn begun(&self) -> (Duration, u128) {
        (self.begun, self.begun_work)
    }

    /// Whether something was reported of it.
    pub(crate) fn has_reported(&self) -> bool {
        self.has_reported
    }

    /// Workers that have failed on its spans before.
    pub(crate) fn tried(&self) -> &BTreeSet<WorkerId> {
        &self.tried
    }

    /// Whether it counts records again.
    pub(crate) fn counts_again(&self) -> bool {
        self.again.is_some()
    }

    pub(crate) fn is_recalled(&self) -> bool {
        self.recalled
    }

    /// What it adds to the load of its worker and of its job.
    pub(crate) fn load(&self) -> Load {
        let Self { method, work, heard, recalled, .. } = *self;
        Load { method, work, heard, recalled, can_be_cut: self.can_be_cut() }
    }

    /// Whether a report of this worker on this job can be about this lease.
    pub(crate) fn is_of(&self, worker: WorkerId, job: JobId) -> bool {
        self.worker == worker && self.job == job
    }

    /// Whether all of `span` was granted under this lease and is not reported yet.
    pub(crate) fn may_report(&self, span: Span) -> bool {
        // A chunk that was begun before its end was taken off lies in both.
        let mut at = span.from();
        while at < span.to() {
            let end = self.spans.end_of(span.cross(), at).or_else(|| self.cut.end_of(span.cross(), at));
            let Some(end) = end else { return false };
            at = end;
        }
        true
    }

    /// Whether its tail may go to somebody else. What is on its way back needs no cutting, what has failed may only be
    /// tried by few, and a record is counted again as a whole.
    fn can_be_cut(&self) -> bool {
        !self.recalled && self.tried.is_empty() && self.again.is_none() && !self.indivisible
    }

    /// A thread begins it.
    pub(crate) fn begin(&mut self, now: Duration) {
        (self.heard, self.begun, self.begun_work) = (now, now, self.work);
    }

    /// A span of this estimated work is reported. Returns what the lease held of it, without what was cut off.
    pub(crate) fn report(&mut self, now: Duration, span: Span, work: u128) -> Vec<Span> {
        self.cut.take(span);
        self.work = self.work.saturating_sub(work);
        self.heard = now;
        self.has_reported = true;
        self.indivisible = false;
        self.spans.take(span)
    }

    /// Adds what was reported to the sum of the record that is counted again. Returns that if it is whole.
    pub(crate) fn add_again(&mut self, delta: &Delta) -> Option<WholeCount> {
        self.again.as_mut()?.add(delta.span, delta.count, delta.duration)
    }

    /// The record that a span is of is not going to be counted again under this lease.
    pub(crate) fn give_up_again(&mut self, span: Span) -> Option<(u32, u64)> {
        self.again.as_mut()?.give_up(span)
    }

    /// The record to write for what a worker has told: it extends the last record if it goes on where that ended.
    pub(crate) fn extend(&mut self, told: &Record) -> Record {
        let extended = self.open.take().and_then(|open| merged(&open, told));
        let record = extended.unwrap_or_else(|| told.clone());
        self.open = Some(Box::new(record.clone()));
        record
    }

    /// A span can't be counted. Takes off what is held of it; the worker may report it still.
    pub(crate) fn fail(&mut self, now: Duration, plan: &Plan, span: Span) -> Vec<Span> {
        let failed = self.spans.take(span);
        let work = failed.iter().map(|&span| work_of(plan, span)).sum();
        self.work = self.work.saturating_sub(work);
        self.heard = now;
        failed.iter().for_each(|&span| self.cut.insert(span));
        failed
    }

    /// Its worker is to give back all that it has not begun.
    pub(crate) fn recall(&mut self) {
        self.recalled = true;
    }

    /// Takes whole subproblems that come to at most `work` off the end. The worker may report them still.
    pub(crate) fn cut_tail(&mut self, plan: &Plan, work: u128) -> Vec<Span> {
        let tail = self.cut_off(plan, work);
        tail.iter().for_each(|&span| self.cut.insert(span));
        self.work = self.spans.iter().map(|span| work_of(plan, span)).sum();
        self.indivisible = tail.is_empty();
        tail
    }

    /// Takes all of it. The worker may report it still.
    pub(crate) fn cut_all(&mut self) -> Vec<Span> {
        let all = std::mem::take(&mut self.spans);
        all.iter().for_each(|span| self.cut.insert(span));
        self.work = 0;
        all.iter().collect()
    }

    fn cut_off(&mut self, plan: &Plan, work: u128) -> Vec<Span> {
        let (mut tail, mut left) = (Vec::new(), work);
        while let Some(span) = self.spans.pop_last() {
            let fits = n_subproblems_of(plan, span.cross(), left).min(span.n_subproblems());
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

    /// Ends it: what is left, and all that its worker may still report.
    pub(crate) fn end(self) -> (EndedLease, SpanSet) {
        let Self { spans, mut cut, tried, again, .. } = self;
        spans.iter().for_each(|span| cut.insert(span));
        let again = again.iter().flat_map(|sums| sums.missing()).collect();
        (EndedLease { spans, tried, again }, cut)
    }
}
