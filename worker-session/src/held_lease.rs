//! A lease that a worker counts or will count.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use queens_model::{Delta, Failure, Held, Lease, LeasedSpan};
use queens_solver::{Count, Span};

use crate::chunk_size::ChunkSize;

/// A lease with its progress.
#[derive(Debug)]
pub(crate) struct HeldLease {
    /// The lease as granted, without its spans.
    lease: Lease,
    /// Tells the thread to drop the lease, including its current chunk.
    stop: Arc<AtomicBool>,
    /// Spans that no kernel call has begun.
    left: VecDeque<LeasedSpan>,
    /// The chunk in a kernel call.
    in_hand: Option<Span>,
    /// Counts that are not reported.
    counted: Vec<Delta>,
    /// A failure that is not reported.
    failed: Option<Failure>,
    chunk_size: ChunkSize,
}

impl HeldLease {
    /// Holds a lease, whose first chunk has this size.
    pub(crate) fn new(mut lease: Lease, chunk_size: ChunkSize) -> Self {
        let left = std::mem::take(&mut lease.spans).into();
        Self {
            lease,
            stop: Arc::new(AtomicBool::new(false)),
            left,
            in_hand: None,
            counted: Vec::new(),
            failed: None,
            chunk_size,
        }
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    pub(crate) fn chunk_size(&self) -> ChunkSize {
        self.chunk_size
    }

    /// Returns the flag that tells the thread to drop the lease.
    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// Returns the spans that are not reported.
    pub(crate) fn held(&self) -> Held {
        let counted = self.counted.iter().map(|delta| delta.span);
        let left = self.left.iter().map(|leased| leased.span);
        let spans = counted.chain(self.in_hand).chain(left).collect();
        Held { lease: self.lease.id, job: self.lease.job, spans }
    }

    /// Takes the next chunk.
    pub(crate) fn begin(&mut self) -> Option<LeasedSpan> {
        let front = self.left.pop_front()?;
        let end = front.span.from().saturating_add(self.chunk_size.n_subproblems());
        let (chunk, rest) = front.span.split_at(end);
        rest.into_iter().for_each(|span| self.left.push_front(LeasedSpan { span, ..front }));
        self.in_hand = chunk;
        chunk.map(|span| LeasedSpan { span, ..front })
    }

    /// Records the count of the current chunk.
    pub(crate) fn finish(&mut self, count: Count, duration: Duration) {
        let Some(chunk) = self.in_hand.take() else { return };
        self.chunk_size.adapt(chunk.n_subproblems(), duration);
        if let Some(last) = self.counted.last_mut()
            && last.span.part() == chunk.part()
            && last.span.to() == chunk.from()
            && let Some(sum) = last.count.checked_add(count)
            && let Ok(span) = Span::new(chunk.part(), last.span.from(), chunk.to())
        {
            *last = Delta { span, count: sum, duration: last.duration + duration, ..*last };
        } else {
            let Lease { id: lease, job, .. } = self.lease;
            self.counted.push(Delta { job, lease, span: chunk, count, duration });
        }
    }

    /// Records that the current chunk, or else the next span, can't be counted. Drops the rest.
    pub(crate) fn fail(&mut self, reason: String) {
        let span = self.in_hand.take().or_else(|| self.left.front().map(|leased| leased.span));
        let Lease { id: lease, job, .. } = self.lease;
        self.failed = span.map(|span| Failure { job, lease, span, reason });
        self.left.clear();
    }

    /// Records that the thread has released the lease.
    pub(crate) fn end(&mut self) {
        self.in_hand = None;
    }

    /// Removes spans that no kernel call has begun.
    pub(crate) fn shorten(&mut self, spans: &[Span]) {
        let left = std::mem::take(&mut self.left);
        let remains = |leased: LeasedSpan| {
            let parts = leased.span.without(spans).into_iter();
            parts.map(move |span| LeasedSpan { span, ..leased })
        };
        self.left = left.into_iter().flat_map(remains).collect();
    }

    /// Drops all spans that no kernel call has begun.
    pub(crate) fn begin_no_more(&mut self) {
        self.left.clear();
    }

    /// Drops all remaining spans and the current chunk. Its counts are still reported.
    pub(crate) fn cancel(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.left.clear();
    }

    /// Returns whether there are counts that are not reported.
    pub(crate) fn has_counted(&self) -> bool {
        !self.counted.is_empty()
    }

    /// Takes the counts that are not reported.
    pub(crate) fn take_counted(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.counted)
    }

    /// Takes the failure that is not reported.
    pub(crate) fn take_failed(&mut self) -> Option<Failure> {
        self.failed.take()
    }
}
