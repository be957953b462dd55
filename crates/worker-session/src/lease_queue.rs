//! The queue of a worker's leases, between its counting threads and its session.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use queens_model::{Delta, Failure, Held, JobIdentity, Lease, LeaseId, LeasedSpan};
use queens_solver::{BoardSize, Count, Method};

use crate::chunk_size::{ChunkAim, ChunkSize};
use crate::held_lease::HeldLease;

/// A queue of leases to count, with the counts to report.
///
/// A thread takes a lease ([`next_lease`](Self::next_lease)). Then it takes chunks of it and records their counts
/// ([`begin`](Self::begin), [`finish`](Self::finish)) until nothing is left. At last it releases the lease
/// ([`end`](Self::end)).
#[derive(Debug)]
pub struct LeaseQueue {
    aim: ChunkAim,
    held: BTreeMap<LeaseId, HeldLease>,
    /// Leases that no thread has taken.
    waiting: VecDeque<LeaseId>,
    /// Leases that their threads have released, and whose end is not reported.
    ended: BTreeSet<LeaseId>,
    /// The size of the last ended lease's chunks, with its board and method: the next one's begin with half of it.
    last_size: Option<(BoardSize, Method, ChunkSize)>,
    /// What the operators should know, and was not sent.
    notices: Vec<String>,
}

/// The maximum number of notices that wait to be sent.
const MOST_NOTICES: usize = 8;

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
    /// Set when the thread must drop the lease, including its current chunk.
    pub stop: Arc<AtomicBool>,
}

/// The contents of the next report.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The counts.
    pub(crate) deltas: Vec<Delta>,
    /// Spans that can't be counted.
    pub(crate) failures: Vec<Failure>,
    /// What the operators should know.
    pub(crate) notices: Vec<String>,
    /// Leases that have ended.
    pub(crate) ended: Vec<LeaseId>,
}

impl Collected {
    fn take_from(&mut self, held: &mut HeldLease) {
        self.deltas.append(&mut held.take_counted());
        self.failures.extend(held.take_failed());
    }
}

impl LeaseQueue {
    /// Returns a queue without leases.
    #[must_use]
    pub fn new(aim: ChunkAim) -> Self {
        let (held, waiting, ended) = (BTreeMap::new(), VecDeque::new(), BTreeSet::new());
        Self { aim, held, waiting, ended, last_size: None, notices: Vec::new() }
    }
}

impl Default for LeaseQueue {
    /// Returns a queue for threads of the processor.
    fn default() -> Self {
        Self::new(ChunkAim::PROCESSOR)
    }
}

/// Operations of the counting threads.
impl LeaseQueue {
    /// Takes the lease that has waited longest.
    pub fn next_lease(&mut self) -> Option<LeaseToCount> {
        let held = self.held.get(&self.waiting.pop_front()?)?;
        let &Lease { id, job, n, method, .. } = held.lease();
        Some(LeaseToCount { id, job, n, method, stop: held.stop() })
    }

    /// Takes the next chunk of a lease; `None` if nothing is left of it.
    pub fn begin(&mut self, lease: LeaseId) -> Option<LeasedSpan> {
        self.held.get_mut(&lease)?.begin()
    }

    /// Changes a lease, if it is held.
    pub fn change<T>(&mut self, lease: LeaseId, act: impl FnOnce(&mut HeldLease) -> T) -> Option<T> {
        self.held.get_mut(&lease).map(act)
    }

    /// Records the count of the current chunk, and its duration.
    pub fn finish(&mut self, lease: LeaseId, count: Count, duration: Duration) {
        self.change(lease, |held| held.finish(count, duration));
    }

    /// Records that the current chunk, or else the next span, can't be counted. Drops the lease.
    pub fn fail(&mut self, lease: LeaseId, reason: String) {
        self.change(lease, |held| held.fail(reason));
    }

    /// Tells the operators of the coordinator. Drops the notice if eight wait to be sent.
    pub fn tell(&mut self, notice: String) {
        if self.notices.len() < MOST_NOTICES {
            self.notices.push(notice);
        }
    }

    /// Releases a lease.
    pub fn end(&mut self, lease: LeaseId) {
        if let Some(held) = self.held.get_mut(&lease) {
            held.end();
            let &Lease { n, method, .. } = held.lease();
            self.last_size = Some((n, method, held.chunk_size()));
            self.ended.insert(lease);
        }
    }
}

/// Operations of the session.
impl LeaseQueue {
    /// Appends a lease to the queue. A lease that is held already stays unchanged: no coordinator grants it again.
    pub(crate) fn add(&mut self, lease: Lease) {
        let id = lease.id;
        if let Entry::Vacant(place) = self.held.entry(id) {
            let is_alike =
                |(n, method, _): &(BoardSize, Method, ChunkSize)| (*n, *method) == (lease.n, lease.method);
            let last = self.last_size.filter(is_alike);
            let size = last
                .map_or_else(|| ChunkSize::first(self.aim, lease.n, lease.method), |(.., size)| size.next());
            place.insert(HeldLease::new(lease, size));
            self.waiting.push_back(id);
        }
    }

    /// Drops all spans of all leases that no kernel call has begun.
    pub(crate) fn begin_no_more(&mut self) {
        self.held.values_mut().for_each(HeldLease::begin_no_more);
    }

    /// Takes everything to report since the last call, and forgets the leases that have ended.
    pub(crate) fn collect(&mut self) -> Collected {
        let mut collected = self.collect_ended();
        for held in self.held.values_mut() {
            collected.take_from(held);
        }
        collected
    }

    /// Takes everything to report of ended leases, and forgets them.
    pub(crate) fn collect_ended(&mut self) -> Collected {
        let mut collected = Collected { notices: std::mem::take(&mut self.notices), ..Collected::default() };
        for lease in std::mem::take(&mut self.ended) {
            if let Some(mut held) = self.held.remove(&lease) {
                collected.take_from(&mut held);
            }
            collected.ended.push(lease);
        }
        collected
    }

    /// Returns whether the end of some lease is not reported.
    pub(crate) fn has_ended_leases(&self) -> bool {
        !self.ended.is_empty()
    }
}

/// Operations of any caller.
impl LeaseQueue {
    /// Cancels all leases, including their current chunks.
    pub fn cancel_all(&mut self) {
        self.held.values_mut().for_each(HeldLease::cancel);
    }

    /// Returns whether no lease is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns whether there are counts that are not reported.
    pub(crate) fn has_counted(&self) -> bool {
        self.held.values().any(HeldLease::has_counted)
    }

    /// Returns the number of leases held.
    #[must_use]
    pub fn n_held(&self) -> usize {
        self.held.len()
    }

    /// Returns all leases with the spans that are not reported.
    #[must_use]
    pub fn held(&self) -> Vec<Held> {
        self.held.values().map(HeldLease::held).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use queens_solver::{Span, Symmetry};

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
        Count { solutions: n, work: 10 * n }
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
    fn what_waits_for_a_check_is_held_and_reported_or_counted_again() {
        let (mut queue, LeaseToCount { id, .. }) = queue(&[span(0, 7)]);
        let count_two = |queue: &mut LeaseQueue| {
            for _ in 0..2 {
                let chunk = queue.begin(id).expect("is left").span;
                queue.change(id, |held| {
                    held.finish_unchecked(count(chunk.n_subproblems()), Duration::from_millis(1));
                });
            }
        };
        count_two(&mut queue);
        assert_eq!(spans_held(&queue), [span(0, 1), span(1, 3), span(3, 7)]);
        assert!(queue.collect().deltas.is_empty() && !queue.has_counted());
        queue.change(id, HeldLease::reject);
        assert_eq!(spans_held(&queue), [span(0, 1), span(1, 3), span(3, 7)]);
        count_two(&mut queue);
        queue.change(id, HeldLease::accept);
        let deltas = queue.collect().deltas;
        assert_eq!(
            deltas.iter().map(|delta| (delta.span, delta.count)).collect::<Vec<_>>(),
            [(span(0, 3), count(3))]
        );
        // What was not checked when the lease ends is not reported, and the coordinator leases it again.
        let chunk = queue.begin(id).expect("is left").span;
        queue
            .change(id, |held| held.finish_unchecked(count(chunk.n_subproblems()), Duration::from_millis(1)));
        queue.end(id);
        assert!(queue.collect().deltas.is_empty());
    }

    #[test]
    fn what_a_card_has_begun_is_left_to_the_processor() {
        let mut queue = LeaseQueue::new(ChunkAim::CARD);
        queue.add(lease(7, &[span(0, 1000)]));
        let id = queue.next_lease().expect("was added").id;
        assert_eq!(queue.begin(id).map(|chunk| chunk.span), Some(span(0, 256)));
        queue.change(id, HeldLease::count_on_processor);
        assert_eq!(spans_held(&queue).iter().map(|span| span.n_subproblems()).sum::<u64>(), 1000);
        assert_eq!(queue.begin(id).map(|chunk| chunk.span), Some(span(0, 1)));
    }

    #[test]
    fn what_is_taken_off_is_not_begun_and_what_is_begun_is_not_taken_off() {
        let (mut queue, LeaseToCount { id, stop, .. }) = queue(&[span(0, 10)]);
        assert_eq!(queue.begin(id).expect("something is left").span, span(0, 1));
        queue.change(id, |held| held.shorten(&[span(0, 4), span(8, 10)]));
        assert_eq!(spans_held(&queue), [span(0, 1), span(4, 8)]);
        queue.finish(id, count(1), Duration::ZERO);
        assert_eq!(queue.begin(id).expect("something is left").span, span(4, 6));
        queue.change(id, HeldLease::cancel);
        assert!(stop.load(Ordering::Relaxed));
        assert_eq!(spans_held(&queue), [span(0, 1), span(4, 6)]);
        assert!(queue.begin(id).is_none());
        queue.end(id);
        assert_eq!(spans_held(&queue), [span(0, 1)]);
        assert_eq!(queue.collect().deltas.len(), 1);
    }

    #[test]
    fn the_next_lease_begins_with_half_the_size_of_the_last_ones_chunks() {
        let (mut queue, LeaseToCount { id, .. }) = queue(&[span(0, 1000)]);
        let mut sizes = Vec::new();
        while let Some(chunk) = queue.begin(id) {
            sizes.push(chunk.span.n_subproblems());
            // Only those of 64 take their time.
            let took = if chunk.span.n_subproblems() == 64 { 100 } else { 1 };
            queue.finish(id, count(1), Duration::from_millis(took));
        }
        assert_eq!(sizes[..8], [1, 2, 4, 8, 16, 32, 64, 64]);
        queue.end(id);
        queue.add(lease(2, &[span(0, 1000)]));
        let next = queue.next_lease().expect("was added").id;
        assert_eq!(queue.begin(next).expect("something is left").span, span(0, 32));
        // Another board begins anew.
        let other = Lease { n: BoardSize::new(9).expect("a board size"), ..lease(3, &[span(0, 1000)]) };
        queue.add(other);
        let other = queue.next_lease().expect("was added").id;
        assert_eq!(queue.begin(other).expect("something is left").span, span(0, 1));
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
        // The lease is unknown now.
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
