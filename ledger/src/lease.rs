//! A live lease: what a worker holds and has not reported yet.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_messages::{JobId, LeaseId, WorkerId};
use queens_solver::Span;

use crate::job::Counting;
use crate::spans::SpanSet;
use crate::store::Record;

/// A lease that is being counted or waits at its worker to be counted.
#[derive(Clone, Debug)]
pub(crate) struct LiveLease {
    pub(crate) id: LeaseId,
    pub(crate) job: JobId,
    pub(crate) worker: WorkerId,
    /// What is not reported yet. It is counted in this order.
    pub(crate) spans: SpanSet,
    /// What was taken off the lease: its worker may have begun it, and may report it still.
    pub(crate) cut: SpanSet,
    /// The estimated work of `spans`.
    pub(crate) work: u128,
    /// The record its next report extends, if that goes on where the last one ended.
    pub(crate) open: Option<Box<Record>>,
    /// Workers that have failed on its spans before.
    pub(crate) tried: BTreeSet<WorkerId>,
    /// Whether its worker was told to give back all that it has not begun.
    pub(crate) recalled: bool,
    /// When its last report came, or else when it was granted or, if it had to wait, begun.
    pub(crate) heard: Duration,
    /// Whether its tail could not be cut since it was last heard of.
    pub(crate) indivisible: bool,
}

impl LiveLease {
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

    /// Whether its tail may go to somebody else: what is on its way back needs no cutting, and what has failed is for
    /// few.
    pub(crate) fn can_be_cut(&self) -> bool {
        !self.recalled && self.tried.is_empty() && !self.indivisible
    }

    /// Takes whole subproblems that come to at most `work` off the end.
    pub(crate) fn cut_off(&mut self, counting: &Counting, work: u128) -> Vec<Span> {
        let (mut tail, mut left) = (Vec::new(), work);
        while let Some(span) = self.spans.pop_last() {
            let fits = counting.n_subproblems_of(span.cross(), left).min(span.n_subproblems());
            let (kept, taken) = span.split_at(span.to() - fits);
            left = left.saturating_sub(taken.map_or(0, |taken| counting.work(taken)));
            tail.extend(taken);
            if let Some(kept) = kept {
                self.spans.insert(kept);
                break;
            }
        }
        tail.reverse();
        tail
    }
}
