//! Spans that workers can't count: they are tried by other workers, and set aside when three have failed.
//!
//! A failure is a hint like a lease: it is not stored, so that all is tried again after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_proto::{Failure, WorkerId};
use queens_solver::Span;

use super::{Ledger, Refusal};

/// Workers that try a span before it is set aside.
const MOST_TRIES: usize = 3;

/// Failed spans of one job. If there are more, it is not the spans: the job gets no more leases until it is resumed.
const MOST_SPANS: usize = 1000;

/// Failures of a worker in a row, after which it gets no more leases.
const MOST_IN_A_ROW: u32 = 8;

/// The spans of a job that workers failed to count. Nobody holds them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedSpans {
    /// By cross and first subproblem: where they end, and who has tried.
    spans: BTreeMap<(u32, u64), (u64, BTreeSet<WorkerId>)>,
    /// What the worker that failed last had to say.
    pub(crate) reason: Option<String>,
}

/// How often a worker has failed, and what it had to say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    in_a_row: u32,
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
        self.spans.values().filter(|(_, tried)| tried.len() >= MOST_TRIES).count()
    }

    pub(crate) fn are_too_many(&self) -> bool {
        self.spans.len() > MOST_SPANS
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        self.spans.iter().filter_map(|(&(cross, from), &(to, _))| Span::new(cross, from, to).ok())
    }

    /// Adds a span, none of which may be there already.
    pub(crate) fn insert(&mut self, span: Span, tried: BTreeSet<WorkerId>) {
        self.spans.insert((span.cross(), span.from()), (span.to(), tried));
    }

    /// Takes out what of `span` is there: it is recorded.
    pub(crate) fn take(&mut self, span: Span) {
        if self.is_empty() {
            return;
        }
        for failed in self.spans().filter(|failed| failed.intersection(span).is_some()).collect::<Vec<_>>() {
            let Some((_, tried)) = self.spans.remove(&(failed.cross(), failed.from())) else { continue };
            let (before, rest) = failed.split_at(span.from());
            let after = rest.and_then(|rest| rest.split_at(span.to()).1);
            before.into_iter().chain(after).for_each(|left| self.insert(left, tried.clone()));
        }
    }

    /// Whether there are spans that some worker may still try.
    pub(crate) fn are_there_to_try(&self) -> bool {
        self.spans.values().any(|(_, tried)| tried.len() < MOST_TRIES)
    }

    /// A span that this worker may still try.
    pub(crate) fn to_try(&self, worker: WorkerId) -> Option<Span> {
        let may_try = |tried: &BTreeSet<WorkerId>| tried.len() < MOST_TRIES && !tried.contains(&worker);
        let (&(cross, from), &(to, _)) = self.spans.iter().find(|(_, (_, tried))| may_try(tried))?;
        Span::new(cross, from, to).ok()
    }

    /// Takes out a whole span to have it tried again, and returns who has tried before.
    pub(crate) fn begin(&mut self, span: Span) -> BTreeSet<WorkerId> {
        self.spans.remove(&(span.cross(), span.from())).map(|(_, tried)| tried).unwrap_or_default()
    }
}

impl Failures {
    /// Whether its worker gets no more leases.
    pub(crate) fn are_too_many(&self) -> bool {
        self.in_a_row >= MOST_IN_A_ROW
    }
}

impl Ledger {
    /// A worker can't count a span. Others try, and the rest of the lease goes on.
    ///
    /// # Errors
    /// If it makes no sense; then nothing changes.
    pub fn fail(&mut self, now: Duration, worker: WorkerId, failure: &Failure) -> Result<(), Refusal> {
        self.advance(now);
        let member = self.workers.get_mut(&worker).ok_or(Refusal::Unknown(worker))?;
        member.heard = self.now;
        if !self.is_ours(failure.lease) {
            return Ok(());
        }
        self.check_span(failure.job, failure.span)?;
        let lease = self.leases.get_mut(&failure.lease).filter(|lease| lease.is_of(worker, failure.job));
        let counting = self.jobs.get_mut(&failure.job).and_then(|job| job.counting.as_mut());
        let (Some(lease), Some(counting), Some(member)) = (lease, counting, self.workers.get_mut(&worker))
        else {
            return Ok(());
        };
        let failed = lease.remove(failure.span);
        if failed.is_empty() {
            return Ok(());
        }
        let work: u128 = failed.iter().map(|&span| counting.work(span)).sum();
        lease.work = lease.work.saturating_sub(work);
        lease.heard = self.now;
        let mut tried = lease.tried.clone();
        tried.insert(worker);
        failed.into_iter().for_each(|span| counting.fail(span, &tried));
        let (name, Failure { span, reason, .. }) = (&member.source.worker, failure);
        counting.failed.reason = Some(format!("{name} failed on {span}: {reason}"));
        member.failures.in_a_row = member.failures.in_a_row.saturating_add(1);
        member.failures.reason = Some(reason.clone());
        self.feed();
        Ok(())
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
