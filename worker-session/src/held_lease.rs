//! A lease that a worker counts or is going to count.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use queens_model::{Delta, Failure, Held, Lease, LeasedSpan};
use queens_solver::{Count, Span};

use crate::chunk_size::ChunkSize;

/// A lease, and what has become of it so far.
#[derive(Debug)]
pub(crate) struct HeldLease {
    /// The lease as it was granted, but for its spans.
    lease: Lease,
    /// Set to make its thread drop it, the chunk in hand included.
    stop: Arc<AtomicBool>,
    /// What no kernel call has begun on.
    left: VecDeque<LeasedSpan>,
    /// What a kernel call is counting.
    in_hand: Option<Span>,
    /// What is counted and not reported.
    counted: Vec<Delta>,
    /// What can't be counted, and is not reported.
    failed: Option<Failure>,
    chunk_size: ChunkSize,
}

impl HeldLease {
    pub(crate) fn new(mut lease: Lease) -> Self {
        let left = std::mem::take(&mut lease.spans).into();
        Self {
            lease,
            stop: Arc::new(AtomicBool::new(false)),
            left,
            in_hand: None,
            counted: Vec::new(),
            failed: None,
            chunk_size: ChunkSize::SMALLEST,
        }
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// What its thread looks at to know whether to drop it.
    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// What is not reported of it.
    pub(crate) fn held(&self) -> Held {
        let counted = self.counted.iter().map(|delta| delta.span);
        let left = self.left.iter().map(|leased| leased.span);
        let spans = counted.chain(self.in_hand).chain(left).collect();
        Held { lease: self.lease.id, job: self.lease.job, spans }
    }

    /// Takes the next chunk in hand.
    pub(crate) fn begin(&mut self) -> Option<LeasedSpan> {
        let front = self.left.pop_front()?;
        let end = front.span.from().saturating_add(self.chunk_size.n_subproblems());
        let (chunk, rest) = front.span.split_at(end);
        rest.into_iter().for_each(|span| self.left.push_front(LeasedSpan { span, ..front }));
        self.in_hand = chunk;
        chunk.map(|span| LeasedSpan { span, ..front })
    }

    /// The chunk in hand has been counted.
    pub(crate) fn finish(&mut self, count: Count, duration: Duration) {
        let Some(chunk) = self.in_hand.take() else { return };
        self.chunk_size.adapt(chunk.n_subproblems(), duration);
        if let Some(last) = self.counted.last_mut()
            && last.span.cross() == chunk.cross()
            && last.span.to() == chunk.from()
            && let Some(sum) = last.count.checked_add(count)
            && let Ok(span) = Span::new(chunk.cross(), last.span.from(), chunk.to())
        {
            *last = Delta { span, count: sum, duration: last.duration + duration, ..*last };
        } else {
            let Lease { id: lease, job, .. } = self.lease;
            self.counted.push(Delta { job, lease, span: chunk, count, duration });
        }
    }

    /// What is in hand, or else the first that is left, can't be counted: the rest is dropped.
    pub(crate) fn fail(&mut self, reason: String) {
        let span = self.in_hand.take().or_else(|| self.left.front().map(|leased| leased.span));
        let Lease { id: lease, job, .. } = self.lease;
        self.failed = span.map(|span| Failure { job, lease, span, reason });
        self.left.clear();
    }

    /// Its thread has let go of it.
    pub(crate) fn end(&mut self) {
        self.in_hand = None;
    }

    /// Takes spans off it, as far as no kernel call has begun on them.
    pub(crate) fn shorten(&mut self, spans: &[Span]) {
        let left = std::mem::take(&mut self.left);
        let remains = |leased: LeasedSpan| {
            let parts = leased.span.without(spans).into_iter();
            parts.map(move |span| LeasedSpan { span, ..leased })
        };
        self.left = left.into_iter().flat_map(remains).collect();
    }

    /// Drops what no kernel call has begun on.
    pub(crate) fn begin_no_more(&mut self) {
        self.left.clear();
    }

    /// Drops what is left of it, the chunk in hand included. What it has counted is still reported.
    pub(crate) fn cancel(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.left.clear();
    }

    /// Whether something is counted and not reported.
    pub(crate) fn has_counted(&self) -> bool {
        !self.counted.is_empty()
    }

    /// Takes what is counted and not reported.
    pub(crate) fn take_counted(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.counted)
    }

    /// Takes what can't be counted and is not reported.
    pub(crate) fn take_failed(&mut self) -> Option<Failure> {
        self.failed.take()
    }
}
