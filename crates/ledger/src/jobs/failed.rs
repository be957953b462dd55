//! The spans that workers failed to count. Other workers try them, until no suitable worker is left.
//!
//! Workers of one party may be one person, or run one broken program on many machines. So a span is given up only after
//! three parties have failed on it, and each other party that could count it was asked once. No more than three workers
//! of a party are asked.
//!
//! A failure is a hint like a lease: it is not stored, so that everything is tried again after a restart. It counts
//! while the worker that failed is there and not blocked. So nobody can keep a span from others by failing and leaving.

use std::collections::{BTreeMap, BTreeSet};

use queens_model::{Party, WorkerId};
use queens_solver::Span;

/// After this many parties have failed on a span, each other party is asked only once.
const FEW_PARTIES: usize = 3;

/// The most workers of a party that try a span.
const MOST_OF_A_PARTY: usize = 3;

/// The most groups of spans that are searched for one that a worker may try. Each set of excluded parties has a group.
const MOST_GROUPS: usize = 256;

/// The most uncounted spans of one job that a worker may have failed on; with more it gets no leases. So a worker that
/// reports something now and then can't fail on all the rest.
const MOST_OF_A_WORKER: usize = 32;

/// The spans of a job that workers failed to count. Nobody holds them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedSpans {
    spans: BTreeMap<Key, FailedSpan>,
    /// The same spans, by the parties that may no longer try them.
    by_closed: BTreeMap<BTreeSet<Party>, BTreeSet<Key>>,
    /// The spans that each worker has tried.
    by_worker: BTreeMap<WorkerId, BTreeSet<Key>>,
    /// The message of the worker that failed last.
    reason: Option<String>,
}

/// The workers that have failed on a span, with their parties.
pub(crate) type Tried = BTreeMap<WorkerId, Party>;

/// A span's part and first subproblem.
type Key = (u32, u64);

#[derive(Clone, Debug)]
struct FailedSpan {
    to: u64,
    tried: Tried,
}

impl FailedSpan {
    /// Returns the parties that may no longer try the span: those with three workers that have failed. If three parties
    /// have failed, none of them may.
    fn closed(&self) -> BTreeSet<Party> {
        let mut n_tried: BTreeMap<Party, usize> = BTreeMap::new();
        self.tried.values().for_each(|party| *n_tried.entry(*party).or_default() += 1);
        let are_few = n_tried.len() < FEW_PARTIES;
        n_tried
            .into_iter()
            .filter(|(_, n)| !are_few || *n >= MOST_OF_A_PARTY)
            .map(|(party, _)| party)
            .collect()
    }
}

impl FailedSpans {
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns the number of spans that are closed to all connected parties, which the predicate decides.
    pub(crate) fn n_given_up(&self, is_closed_to_all: impl Fn(&BTreeSet<Party>) -> bool) -> usize {
        let given_up =
            self.by_closed.iter().filter(|(closed, _)| !closed.is_empty() && is_closed_to_all(closed));
        given_up.map(|(_, keys)| keys.len()).sum()
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        self.spans.iter().filter_map(|(&(part, from), failed)| Span::new(part, from, failed.to).ok())
    }

    /// Adds a span that is not in the set, not even in part.
    pub(crate) fn insert(&mut self, span: Span, tried: Tried) {
        let key = (span.part(), span.from());
        for &worker in tried.keys() {
            self.by_worker.entry(worker).or_default().insert(key);
        }
        let failed = FailedSpan { to: span.to(), tried };
        self.by_closed.entry(failed.closed()).or_default().insert(key);
        self.spans.insert(key, failed);
    }

    /// Removes the subproblems of a span that is recorded.
    pub(crate) fn take(&mut self, span: Span) {
        let key = (span.part(), span.from());
        let before = self.spans.range((span.part(), 0)..key).next_back().map(|(&key, _)| key);
        let inside = self.spans.range(key..(span.part(), span.to())).map(|(&key, _)| key);
        for key in before.into_iter().chain(inside).collect::<Vec<_>>() {
            let Some(failed) = self.remove(key) else { continue };
            let Ok(held) = Span::new(key.0, key.1, failed.to) else { continue };
            held.without(&[span]).into_iter().for_each(|left| self.insert(left, failed.tried.clone()));
        }
    }

    fn remove(&mut self, key: Key) -> Option<FailedSpan> {
        let failed = self.spans.remove(&key)?;
        let closed = failed.closed();
        if let Some(keys) = self.by_closed.get_mut(&closed) {
            keys.remove(&key);
            if keys.is_empty() {
                self.by_closed.remove(&closed);
            }
        }
        for worker in failed.tried.keys() {
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

    /// Returns a span that this worker of this party may try. Few spans are closed to a worker but not to its party.
    pub(crate) fn to_try(&self, worker: WorkerId, party: Party) -> Option<Span> {
        let tried = self.by_worker.get(&worker);
        let may_try = |key: &&Key| tried.is_none_or(|tried| !tried.contains(*key));
        let groups = self.by_closed.iter().take(MOST_GROUPS).filter(|(closed, _)| !closed.contains(&party));
        let &(part, from) = groups.filter_map(|(_, keys)| keys.iter().find(may_try)).next()?;
        Span::new(part, from, self.spans.get(&(part, from))?.to).ok()
    }

    /// Removes a whole span to retry it, and returns the workers that have tried it.
    pub(crate) fn begin(&mut self, span: Span) -> Tried {
        self.remove((span.part(), span.from())).map(|failed| failed.tried).unwrap_or_default()
    }

    /// Drops the failures of this worker. Returns the spans that no worker has tried any more.
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

    /// Whether `n_more` failures of a worker would be too many.
    pub(crate) fn would_be_too_many(&self, worker: WorkerId, n_more: usize) -> bool {
        self.by_worker.get(&worker).map_or(0, BTreeSet::len) + n_more > MOST_OF_A_WORKER
    }

    /// Returns the message of the worker that failed last.
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

    const fn party(number: u8) -> Party {
        Party::from_bytes([number; 16])
    }

    /// Lets these workers of these parties fail one after the other, which must each be allowed to try. Then checks
    /// whether the others may try.
    #[track_caller]
    fn check(tried: &[(u64, u8)], others: &[(u64, u8, bool)]) {
        let (mut failed, mut so_far) = (FailedSpans::default(), Tried::new());
        failed.insert(span(10, 20), so_far.clone());
        for &(worker, of) in tried {
            assert_eq!(failed.to_try(WorkerId(worker), party(of)), Some(span(10, 20)), "worker {worker}");
            assert_eq!(failed.begin(span(10, 20)), so_far);
            assert!(failed.is_empty());
            so_far.insert(WorkerId(worker), party(of));
            failed.insert(span(10, 20), so_far.clone());
            assert_eq!(failed.to_try(WorkerId(worker), party(of)), None, "worker {worker} again");
        }
        for &(worker, of, may) in others {
            let to_try = failed.to_try(WorkerId(worker), party(of));
            assert_eq!(to_try.is_some(), may, "worker {worker} of {of} after {tried:?}");
        }
        let n_given_up =
            failed.n_given_up(|closed| others.iter().all(|(_, of, _)| closed.contains(&party(*of))));
        assert_eq!(n_given_up, usize::from(others.iter().all(|(.., may)| !may)), "after {tried:?}");
    }

    #[test]
    fn three_workers_of_a_party_are_asked_and_then_another_party() {
        check(&[(1, 1)], &[(2, 1, true), (3, 2, true)]);
        check(&[(1, 1), (2, 1), (3, 1)], &[(4, 1, false), (5, 2, true)]);
        check(&[(1, 1), (2, 1), (3, 1)], &[(4, 1, false), (5, 1, false)]);
        check(&[(1, 1), (2, 1), (3, 1), (4, 2)], &[(5, 1, false), (6, 2, true), (7, 3, true)]);
    }

    #[test]
    fn when_three_parties_have_failed_each_other_is_asked_once() {
        check(&[(1, 1), (2, 2), (3, 3)], &[(4, 1, false), (5, 2, false), (6, 4, true)]);
        check(&[(1, 1), (2, 2), (3, 3), (4, 4)], &[(5, 4, false), (6, 1, false)]);
        check(&[(1, 1), (2, 2), (3, 3), (4, 4)], &[(5, 4, false), (6, 5, true)]);
    }

    #[test]
    fn what_is_recorded_after_all_has_not_failed() {
        let mut failed = FailedSpans::default();
        failed.insert(span(10, 20), Tried::from([(WorkerId(1), party(1))]));
        failed.insert(span(20, 30), Tried::new());
        failed.take(span(12, 15));
        failed.take(span(19, 40));
        assert_eq!(failed.spans().collect::<Vec<_>>(), [span(10, 12), span(15, 19)]);
        assert_eq!(failed.to_try(WorkerId(1), party(1)), None);
        assert_eq!(failed.forget_worker(WorkerId(1)), [span(10, 12), span(15, 19)]);
        assert!(failed.is_empty() && failed.by_closed.is_empty());
    }
}
