//! The leases a worker holds, between its counting threads and its session.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use queens_model::{Delta, Failure, Held, JobIdentity, Lease, LeaseId, LeasedSpan};
use queens_solver::{BoardSize, Count, Method, Span};

use crate::held_lease::HeldLease;

/// Where leases lie until they are counted and what is counted lies until it is reported.
///
/// A thread takes a lease ([`next_lease`](Self::next_lease)), takes chunks of it in hand and puts their counts here
/// ([`begin`](Self::begin), [`finish`](Self::finish)) until nothing is left of it, and lets go of it
/// ([`end`](Self::end)).
#[derive(Debug, Default)]
pub struct LeaseQueue {
    held: BTreeMap<LeaseId, HeldLease>,
    /// Those that no thread has taken.
    waiting: VecDeque<LeaseId>,
    /// Those that their threads have let go of, and whose end is not reported.
    ended: BTreeSet<LeaseId>,
}

/// A lease, for the thread that counts it.
#[derive(Clone, Debug)]
pub struct LeaseToCount {
    /// The lease.
    pub id: LeaseId,
    /// Its job.
    pub job: JobIdentity,
    /// The job's board.
    pub n: BoardSize,
    /// How to count it.
    pub method: Method,
    /// Is set when the lease is to be dropped, the chunk in hand included.
    pub stop: Arc<AtomicBool>,
}

/// What there is to report.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// What was counted.
    pub(crate) deltas: Vec<Delta>,
    /// What can't be counted.
    pub(crate) failures: Vec<Failure>,
    /// Leases that have ended.
    pub(crate) ended: Vec<LeaseId>,
}

impl Collected {
    fn take_from(&mut self, held: &mut HeldLease) {
        self.deltas.append(&mut held.take_counted());
        self.failures.extend(held.take_failed());
    }
}

/// What threads do.
impl LeaseQueue {
    /// Takes the lease that has waited longest.
    pub fn next_lease(&mut self) -> Option<LeaseToCount> {
        let held = self.held.get(&self.waiting.pop_front()?)?;
        let &Lease { id, job, n, method, .. } = held.lease();
        Some(LeaseToCount { id, job, n, method, stop: held.stop() })
    }

    /// Takes the next chunk of a lease in hand; `None` if nothing is left of it.
    pub fn begin(&mut self, lease: LeaseId) -> Option<LeasedSpan> {
        self.held.get_mut(&lease)?.begin()
    }

    /// The chunk in hand has been counted, in this time.
    pub fn finish(&mut self, lease: LeaseId, count: Count, duration: Duration) {
        if let Some(held) = self.held.get_mut(&lease) {
            held.finish(count, duration);
        }
    }

    /// The chunk in hand can't be counted, or what comes next if none is in hand: the lease is dropped.
    pub fn fail(&mut self, lease: LeaseId, reason: String) {
        if let Some(held) = self.held.get_mut(&lease) {
            held.fail(reason);
        }
    }

    /// Lets go of a lease.
    pub fn end(&mut self, lease: LeaseId) {
        if let Some(held) = self.held.get_mut(&lease) {
            held.end();
            self.ended.insert(lease);
        }
    }
}

/// What sessions do.
impl LeaseQueue {
    /// Puts a lease behind those that wait. One that is held already is not granted again by any coordinator, and stays
    /// as it is.
    pub(crate) fn add(&mut self, lease: Lease) {
        let id = lease.id;
        if let Entry::Vacant(place) = self.held.entry(id) {
            place.insert(HeldLease::new(lease));
            self.waiting.push_back(id);
        }
    }

    /// Takes spans off a lease, as far as no kernel call has begun on them.
    pub(crate) fn shorten(&mut self, lease: LeaseId, spans: &[Span]) {
        if let Some(held) = self.held.get_mut(&lease) {
            held.shorten(spans);
        }
    }

    /// Drops what is left of a lease. What it has counted is still reported.
    pub(crate) fn cancel(&mut self, lease: LeaseId) {
        if let Some(held) = self.held.get_mut(&lease) {
            held.cancel();
        }
    }

    /// Drops what no kernel call has begun on, of all leases.
    pub(crate) fn begin_no_more(&mut self) {
        self.held.values_mut().for_each(HeldLease::begin_no_more);
    }

    /// Takes what there is to report since the last call, and forgets the leases that have ended.
    pub(crate) fn collect(&mut self) -> Collected {
        let mut collected = self.collect_ended();
        for held in self.held.values_mut() {
            collected.take_from(held);
        }
        collected
    }

    /// The same of leases that have ended alone.
    pub(crate) fn collect_ended(&mut self) -> Collected {
        let mut collected = Collected::default();
        for lease in std::mem::take(&mut self.ended) {
            if let Some(mut held) = self.held.remove(&lease) {
                collected.take_from(&mut held);
            }
            collected.ended.push(lease);
        }
        collected
    }

    /// Whether threads have let go of leases whose end is not reported.
    pub(crate) fn has_ended_leases(&self) -> bool {
        !self.ended.is_empty()
    }
}

/// What anybody may do.
impl LeaseQueue {
    /// Drops what is left of all leases, the chunks in hand included.
    pub fn cancel_all(&mut self) {
        self.held.values_mut().for_each(HeldLease::cancel);
    }

    /// Whether no lease is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether something is counted and not reported.
    pub(crate) fn has_counted(&self) -> bool {
        self.held.values().any(HeldLease::has_counted)
    }

    /// How many leases are held.
    #[must_use]
    pub fn n_held(&self) -> usize {
        self.held.len()
    }

    /// All leases with what is not reported of them.
    #[must_use]
    pub fn held(&self) -> Vec<Held> {
        self.held.values().map(HeldLease::held).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use queens_solver::Symmetry;

    use super::*;

    fn span(from: u64, to: u64) -> Span {
        Span::new(0, from, to).expect("not empty")
    }

    fn lease(id: u64, spans: &[Span]) -> Lease {
        let n = BoardSize::new(8).expect("a board size");
        let spans = spans.iter().map(|&span| LeasedSpan { span, image: Symmetry::IDENTITY }).collect();
        Lease { id: LeaseId(id), job: JobIdentity(1), n, method: Method::Search, spans }
    }

    fn queue(spans: &[Span]) -> (LeaseQueue, LeaseToCount) {
        let mut queue = LeaseQueue::default();
        queue.add(lease(7, spans));
        let next = queue.next_lease().expect("was added");
        (queue, next)
    }

    fn count(n: u64) -> Count {
        Count { solutions: n, nodes: 10 * n }
    }

    fn spans_held(queue: &LeaseQueue) -> Vec<Span> {
        queue.held().into_iter().flat_map(|held| held.spans).collect()
    }

    #[test]
    fn chunks_come_in_order_and_what_touches_becomes_one_delta() {
        let (mut queue, LeaseToCount { id, .. }) = queue(&[span(0, 4), span(9, 10)]);
        let mut chunks = Vec::new();
        while let Some(chunk) = queue.begin(id) {
            chunks.push(chunk.span);
            assert_eq!(spans_held(&queue).iter().map(|span| span.n_subproblems()).sum::<u64>(), 5);
            queue.finish(id, count(chunk.span.n_subproblems()), Duration::from_millis(1));
        }
        assert_eq!(chunks, [span(0, 1), span(1, 3), span(3, 4), span(9, 10)]);
        queue.end(id);
        assert!(queue.has_ended_leases());
        let collected = queue.collect();
        let deltas: Vec<(Span, u64)> =
            collected.deltas.iter().map(|delta| (delta.span, delta.count.solutions)).collect();
        assert_eq!(deltas, [(span(0, 4), 4), (span(9, 10), 1)]);
        assert_eq!(collected.deltas[0].duration, Duration::from_millis(3));
        assert_eq!(collected.ended, [id]);
        assert!(queue.is_empty() && !queue.has_ended_leases());
    }

    #[test]
    fn what_is_taken_off_is_not_begun_and_what_is_begun_is_not_taken_off() {
        let (mut queue, LeaseToCount { id, stop, .. }) = queue(&[span(0, 10)]);
        assert_eq!(queue.begin(id).expect("something is left").span, span(0, 1));
        queue.shorten(id, &[span(0, 4), span(8, 10)]);
        assert_eq!(spans_held(&queue), [span(0, 1), span(4, 8)]);
        queue.finish(id, count(1), Duration::ZERO);
        assert_eq!(queue.begin(id).expect("something is left").span, span(4, 6));
        queue.cancel(id);
        assert!(stop.load(Ordering::Relaxed));
        assert_eq!(spans_held(&queue), [span(0, 1), span(4, 6)]);
        assert!(queue.begin(id).is_none());
        queue.end(id);
        assert_eq!(spans_held(&queue), [span(0, 1)]);
        assert_eq!(queue.collect().deltas.len(), 1);
    }

    #[test]
    fn a_lease_that_is_held_is_not_taken_again() {
        let (mut queue, LeaseToCount { id, .. }) = queue(&[span(0, 1)]);
        queue.add(lease(7, &[span(3, 4)]));
        assert!(queue.next_lease().is_none());
        assert_eq!((queue.n_held(), spans_held(&queue)), (1, vec![span(0, 1)]));
        queue.cancel_all();
        queue.end(id);
        queue.end(id);
        assert_eq!(queue.collect().ended, [id]);
        // Nothing more is known of it.
        queue.finish(id, count(1), Duration::ZERO);
        queue.fail(id, String::new());
        queue.end(id);
        assert!(queue.begin(id).is_none() && queue.is_empty() && !queue.has_ended_leases());
    }

    #[test]
    fn what_fails_is_what_is_in_hand_or_else_what_comes_next() {
        let (mut queue, LeaseToCount { id, .. }) = queue(&[span(0, 4)]);
        queue.fail(id, "no".to_owned());
        queue.end(id);
        assert_eq!(queue.collect().failures[0].span, span(0, 4));
        queue.add(lease(8, &[span(0, 4)]));
        let LeaseToCount { id, .. } = queue.next_lease().expect("was added");
        assert!(queue.begin(id).is_some());
        queue.fail(id, "no".to_owned());
        queue.end(id);
        let collected = queue.collect();
        assert_eq!((collected.failures[0].span, collected.deltas.len()), (span(0, 1), 0));
    }
}
