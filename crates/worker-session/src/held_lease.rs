//! A lease that a worker counts or will count.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use queens_model::{Delta, Failure, Held, Lease, LeasedSpan};
use queens_solver::{Count, Span};

use crate::chunk_size::{ChunkAim, ChunkSize};

/// A lease with its progress.
#[derive(Debug)]
pub struct HeldLease {
    /// The lease as granted, without its spans.
    lease: Lease,
    /// Tells the thread to drop the lease, including its current chunk.
    stop: Arc<AtomicBool>,
    /// Spans that no kernel call has begun.
    left: VecDeque<LeasedSpan>,
    /// The chunk in a kernel call.
    in_hand: Option<LeasedSpan>,
    /// Counts that wait for a check.
    unchecked: Vec<(LeasedSpan, Count, Duration)>,
    /// Counts that are not reported.
    counted: Vec<Delta>,
    /// A failure that is not reported.
    failed: Option<Failure>,
    chunk_size: ChunkSize,
    /// Whether the worker begins no more chunks of this lease.
    begins_no_more: bool,
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
            unchecked: Vec::new(),
            counted: Vec::new(),
            failed: None,
            chunk_size,
            begins_no_more: false,
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
        let counting = self.unchecked.iter().map(|(leased, ..)| leased).chain(&self.in_hand);
        let spans = counted.chain(counting.map(|leased| leased.span)).chain(left).collect();
        Held { lease: self.lease.id, job: self.lease.job, spans }
    }

    /// Takes the next chunk.
    pub(crate) fn begin(&mut self) -> Option<LeasedSpan> {
        let front = self.left.pop_front()?;
        let end = self.chunk_size.end_after(front.span.from());
        let (chunk, rest) = front.span.split_at(end);
        rest.into_iter().for_each(|span| self.left.push_front(LeasedSpan { span, ..front }));
        self.in_hand = chunk.map(|span| LeasedSpan { span, ..front });
        self.in_hand
    }

    /// Returns whether there are chunks that were not begun.
    #[must_use]
    pub fn has_chunk(&self) -> bool {
        !self.left.is_empty()
    }

    /// Records the count of the current chunk.
    pub(crate) fn finish(&mut self, count: Count, duration: Duration) {
        if let Some(chunk) = self.in_hand.take() {
            self.chunk_size.adapt(chunk.span.n_subproblems(), duration);
            self.report(chunk.span, count, duration);
        }
    }

    /// Keeps the count of the current chunk until it is accepted or rejected.
    pub fn finish_unchecked(&mut self, count: Count, duration: Duration) {
        if let Some(chunk) = self.in_hand.take() {
            self.chunk_size.adapt(chunk.span.n_subproblems(), duration);
            self.unchecked.push((chunk, count, duration));
        }
    }

    /// Records the counts that waited for a check.
    pub fn accept(&mut self) {
        for (chunk, count, duration) in std::mem::take(&mut self.unchecked) {
            self.report(chunk.span, count, duration);
        }
    }

    /// Drops the counts that waited for a check. The worker counts their chunks again, unless it begins no more chunks;
    /// then the coordinator leases them again.
    pub fn reject(&mut self) {
        if self.begins_no_more {
            self.unchecked.clear();
        }
        for (chunk, ..) in std::mem::take(&mut self.unchecked).into_iter().rev() {
            self.left.push_front(chunk);
        }
    }

    /// Leaves the lease to the processor, which counts the current chunk again, in chunks of its own size.
    pub fn count_on_processor(&mut self) {
        self.chunk_size = ChunkSize::first(ChunkAim::PROCESSOR, self.lease.n, self.lease.method);
        if let Some(chunk) = self.in_hand.take()
            && !self.begins_no_more
        {
            self.left.push_front(chunk);
        }
    }

    /// Adds a count to those to report.
    fn report(&mut self, chunk: Span, count: Count, duration: Duration) {
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
        let leased = self.in_hand.take().or_else(|| self.left.front().copied());
        let Lease { id: lease, job, .. } = self.lease;
        self.failed = leased.map(|LeasedSpan { span, .. }| Failure { job, lease, span, reason });
        self.left.clear();
    }

    /// Records that the thread has released the lease. Counts that wait for a check are dropped.
    pub(crate) fn end(&mut self) {
        self.in_hand = None;
        self.unchecked.clear();
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
        self.begins_no_more = true;
        self.left.clear();
    }

    /// Drops all remaining spans and the current chunk. Its counts are still reported.
    pub(crate) fn cancel(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.begin_no_more();
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
