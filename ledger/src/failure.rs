//! Spans that workers can't count: they are tried by other workers, and set aside when three have failed.
//!
//! A failure is a hint like a lease: it is not stored, so that all is tried again after a restart. It counts as long as
//! the worker that failed is there and not blocked: nobody can keep a span from the others by failing and leaving.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_messages::{Failure, JobId, ToWorker, WorkerId};
use queens_solver::Span;

use crate::ledger::Ledger;
use crate::session::Refusal;

/// Workers that try a span before it is set aside.
const MOST_TRIES: usize = 3;

/// Failures of a worker in a row, after which it gets no more leases.
const MOST_IN_A_ROW: u32 = 8;

/// Spans of one job that a worker has failed on and nobody has counted since, after which it gets no more leases: one
/// that reports something now and then must not fail on all the rest.
const MOST_OF_A_WORKER: usize = 32;

/// The spans of a job that workers failed to count. Nobody holds them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedSpans {
    spans: BTreeMap<Key, FailedSpan>,
    /// Those that some worker may still try.
    to_try: BTreeSet<Key>,
    /// Those that each worker has tried.
    by_worker: BTreeMap<WorkerId, BTreeSet<Key>>,
    /// What the worker that failed last had to say.
    pub(crate) reason: Option<String>,
}

/// A span's cross and its first subproblem.
type Key = (u32, u64);

#[derive(Clone, Debug)]
struct FailedSpan {
    to: u64,
    tried: BTreeSet<WorkerId>,
}

/// How often a worker has failed, and what it had to say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    in_a_row: u32,
    too_many_spans: bool,
    pub(crate) reason: Option<String>,
}

impl FailedSpans {
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// How many are set aside.
    pub(crate) fn n_given_up(&self) -> usize {
        self.spans.len() - self.to_try.len()
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        self.spans.iter().filter_map(|(&(cross, from), failed)| Span::new(cross, from, failed.to).ok())
    }

    /// Adds a span, none of which may be there already.
    pub(crate) fn insert(&mut self, span: Span, tried: BTreeSet<WorkerId>) {
        let key = (span.cross(), span.from());
        for &worker in &tried {
            self.by_worker.entry(worker).or_default().insert(key);
        }
        if tried.len() < MOST_TRIES {
            self.to_try.insert(key);
        }
        self.spans.insert(key, FailedSpan { to: span.to(), tried });
    }

    /// Takes out what of `span` is there: it is recorded.
    pub(crate) fn take(&mut self, span: Span) {
        let key = (span.cross(), span.from());
        let before = self.spans.range((span.cross(), 0)..key).next_back().map(|(&key, _)| key);
        let inside = self.spans.range(key..(span.cross(), span.to())).map(|(&key, _)| key);
        for key in before.into_iter().chain(inside).collect::<Vec<_>>() {
            let Some(failed) = self.remove(key) else { continue };
            let Ok(held) = Span::new(key.0, key.1, failed.to) else { continue };
            let (before, rest) = held.split_at(span.from());
            let after = rest.and_then(|rest| rest.split_at(span.to()).1);
            before.into_iter().chain(after).for_each(|left| self.insert(left, failed.tried.clone()));
        }
    }

    fn remove(&mut self, key: Key) -> Option<FailedSpan> {
        let failed = self.spans.remove(&key)?;
        self.to_try.remove(&key);
        for worker in &failed.tried {
            self.forget_try(*worker, key);
        }
        Some(failed)
    }

    fn forget_try(&mut self, worker: WorkerId, key: Key) {
        if let Some(keys) = self.by_worker.get_mut(&worker) {
            keys.remove(&key);
            if keys.is_empty() {
                self.by_worker.remove(&worker);
            }
        }
    }

    /// Whether there are spans that some worker may still try.
    pub(crate) fn are_there_to_try(&self) -> bool {
        !self.to_try.is_empty()
    }

    /// A span that this worker may still try. A worker has few that it may not.
    pub(crate) fn to_try(&self, worker: WorkerId) -> Option<Span> {
        let tried = self.by_worker.get(&worker);
        let mut may_try = self.to_try.iter().filter(|key| tried.is_none_or(|tried| !tried.contains(key)));
        let &(cross, from) = may_try.next()?;
        Span::new(cross, from, self.spans.get(&(cross, from))?.to).ok()
    }

    /// Takes out a whole span to have it tried again, and returns who has tried before.
    pub(crate) fn begin(&mut self, span: Span) -> BTreeSet<WorkerId> {
        self.remove((span.cross(), span.from())).map(|failed| failed.tried).unwrap_or_default()
    }

    /// What this worker has failed on is as if it had not tried. Returns spans that nobody has tried then.
    pub(crate) fn forget_worker(&mut self, worker: WorkerId) -> Vec<Span> {
        let mut untried = Vec::new();
        for key in self.by_worker.remove(&worker).unwrap_or_default() {
            let Some(mut failed) = self.remove(key) else { continue };
            failed.tried.remove(&worker);
            let Ok(span) = Span::new(key.0, key.1, failed.to) else { continue };
            if failed.tried.is_empty() { untried.push(span) } else { self.insert(span, failed.tried) }
        }
        untried
    }

    fn n_tried_by(&self, worker: WorkerId) -> usize {
        self.by_worker.get(&worker).map_or(0, BTreeSet::len)
    }
}

impl Failures {
    /// Whether its worker gets no more leases.
    pub(crate) fn are_too_many(&self) -> bool {
        self.in_a_row >= MOST_IN_A_ROW || self.too_many_spans
    }
}

impl Ledger {
    /// A worker can't count a span. Others try, and the rest of the lease goes on.
    ///
    /// # Errors
    /// If it makes no sense; then nothing changes.
    pub fn fail(&mut self, now: Duration, worker: WorkerId, failure: &Failure) -> Result<(), Refusal> {
        self.advance(now);
        let now = self.now;
        let member = self.fleet.hear(now, worker).ok_or(Refusal::Unknown(worker))?;
        let name = member.source.worker.clone();
        if !self.is_ours(failure.lease) {
            return Ok(());
        }
        self.check_span(failure.job, failure.span)?;
        let is_its = |lease: &crate::lease::LiveLease| lease.is_of(worker, failure.job);
        let Some(lease) = self.fleet.lease(failure.lease).filter(|lease| is_its(lease)) else {
            return Ok(());
        };
        let mut tried = self.still_there(&lease.tried);
        tried.insert(worker);
        let Some(counting) = self.jobs.get(failure.job).and_then(|job| job.counting.as_ref()) else {
            return Ok(());
        };
        let failed = self.fleet.change_lease(now, failure.lease, |lease| {
            let failed = lease.spans.take(failure.span);
            let work = failed.iter().map(|&span| counting.work(span)).sum();
            lease.work = lease.work.saturating_sub(work);
            lease.heard = now;
            failed.iter().for_each(|&span| lease.cut.insert(span));
            failed
        });
        let failed = failed.unwrap_or_default();
        if failed.is_empty() {
            return Ok(());
        }
        let too_many_spans = self.jobs.change(failure.job, |job| {
            let counting = job.counting.as_mut()?;
            let too_many = counting.failed.n_tried_by(worker) + failed.len() > MOST_OF_A_WORKER;
            let Failure { span, reason, .. } = failure;
            counting.failed.reason = Some(format!("{name} failed on {span}: {reason}"));
            for span in failed {
                if too_many { counting.release(span) } else { counting.fail(span, &tried) }
            }
            Some(too_many)
        });
        let too_many_spans = too_many_spans.flatten().unwrap_or(false);
        let is_useless = self.fleet.change_member(now, worker, |member| {
            let failures = &mut member.failures;
            failures.in_a_row = failures.in_a_row.saturating_add(1);
            failures.too_many_spans |= too_many_spans;
            failures.reason = Some(failure.reason.clone());
            failures.are_too_many()
        });
        if is_useless == Some(true) {
            self.take_back_all(worker);
        }
        self.feed();
        Ok(())
    }

    /// Takes all leases from a worker that is there: others count them.
    pub(crate) fn take_back_all(&mut self, worker: WorkerId) {
        for id in self.fleet.leases_of(worker) {
            if let Some(spans) = self.end_lease(id) {
                self.changes.messages.push((worker, ToWorker::Shorten { lease: id, spans }));
            }
        }
    }

    /// Those of the workers that are there and not blocked: only their failures count.
    pub(crate) fn still_there(&self, tried: &BTreeSet<WorkerId>) -> BTreeSet<WorkerId> {
        let counts = |worker: &WorkerId| self.fleet.member(*worker).is_some_and(|member| !member.blocked);
        tried.iter().copied().filter(counts).collect()
    }

    /// What a worker has failed on, which has left or is blocked, is as if it had not tried.
    pub(crate) fn forget_failures_of(&mut self, worker: WorkerId) {
        let jobs: Vec<JobId> = self.jobs.with_failed().collect();
        for job in jobs {
            self.jobs.change(job, |job| {
                let Some(counting) = job.counting.as_mut() else { return };
                for span in counting.failed.forget_worker(worker) {
                    counting.release(span);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64) -> Span {
        Span::new(3, from, to).expect("not empty")
    }

    #[test]
    fn a_span_is_tried_by_three_workers_and_no_worker_twice() {
        let mut failed = FailedSpans::default();
        let mut tried = BTreeSet::new();
        for worker in (1..=3).map(WorkerId) {
            tried.insert(worker);
            failed.insert(span(10, 20), tried.clone());
            assert_eq!(failed.to_try(worker), None);
            let another = failed.to_try(WorkerId(9));
            assert_eq!(another, (worker.0 < 3).then(|| span(10, 20)), "after {worker}");
            assert_eq!(failed.are_there_to_try(), worker.0 < 3);
            if let Some(span) = another {
                assert_eq!(failed.begin(span), tried);
                assert!(failed.is_empty());
            }
        }
        assert_eq!((failed.len(), failed.n_given_up()), (1, 1));
    }

    #[test]
    fn what_is_recorded_after_all_has_not_failed() {
        let mut failed = FailedSpans::default();
        failed.insert(span(10, 20), BTreeSet::from([WorkerId(1)]));
        failed.insert(span(20, 30), BTreeSet::new());
        failed.take(span(12, 15));
        failed.take(span(19, 40));
        assert_eq!(failed.spans().collect::<Vec<_>>(), [span(10, 12), span(15, 19)]);
        assert_eq!(failed.to_try(WorkerId(1)), None);
    }
}
