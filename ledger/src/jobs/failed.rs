//! Spans that workers can't count: they are tried by other workers, and set aside when three have failed.
//!
//! A failure is a hint like a lease: it is not stored, so that all is tried again after a restart. It counts as long as
//! the worker that failed is there and not blocked: nobody can keep a span from the others by failing and leaving.

use std::collections::{BTreeMap, BTreeSet};

use queens_messages::WorkerId;
use queens_solver::Span;

/// Workers that try a span before it is set aside.
const MOST_TRIES: usize = 3;

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
    reason: Option<String>,
}

/// A span's cross and its first subproblem.
type Key = (u32, u64);

#[derive(Clone, Debug)]
struct FailedSpan {
    to: u64,
    tried: BTreeSet<WorkerId>,
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
            held.without(&[span]).into_iter().for_each(|left| self.insert(left, failed.tried.clone()));
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

    /// Whether a worker that fails on so many more has failed on too many.
    pub(crate) fn would_be_too_many(&self, worker: WorkerId, n_more: usize) -> bool {
        self.by_worker.get(&worker).map_or(0, BTreeSet::len) + n_more > MOST_OF_A_WORKER
    }

    /// What the worker that failed last had to say.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    pub(crate) fn note_reason(&mut self, reason: String) {
        self.reason = Some(reason);
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
