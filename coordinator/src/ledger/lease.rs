//! A live lease: what a worker holds and has not reported yet.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use queens_proto::{JobId, LeaseId, WorkerId};
use queens_solver::Span;

use super::job::Counting;
use crate::store::Record;

/// A lease that is being counted or waits at its worker to be counted.
#[derive(Clone, Debug)]
pub(crate) struct LiveLease {
    pub(crate) id: LeaseId,
    pub(crate) job: JobId,
    pub(crate) worker: WorkerId,
    /// What is not reported yet, in the order it is counted in.
    pub(crate) spans: VecDeque<Span>,
    /// The estimated work of `spans`.
    pub(crate) work: u128,
    /// The record its next report extends, if that goes on where the last one ended.
    pub(crate) open: Option<Record>,
    /// Workers that have failed on its spans before.
    pub(crate) tried: BTreeSet<WorkerId>,
    /// Whether its worker was told to give back all that it has not begun.
    pub(crate) recalled: bool,
    /// When its last report came, or else when it was granted or, if it had to wait, begun.
    pub(crate) heard: Duration,
}

impl LiveLease {
    /// Whether a report of this worker on this job can be about this lease.
    pub(crate) fn is_of(&self, worker: WorkerId, job: JobId) -> bool {
        self.worker == worker && self.job == job
    }

    /// Takes out of the lease what of `span` it still has, and returns that.
    pub(crate) fn remove(&mut self, span: Span) -> Vec<Span> {
        let mut removed = Vec::new();
        let overlap = |held: &Span| held.intersection(span);
        while let Some((at, inside)) =
            (0..).zip(&self.spans).find_map(|(at, held)| Some((at, overlap(held)?)))
            && let Some(held) = self.spans.remove(at)
        {
            let (before, rest) = held.split_at(inside.from());
            let after = rest.and_then(|rest| rest.split_at(inside.to()).1);
            for left in [after, before].into_iter().flatten() {
                self.spans.insert(at, left);
            }
            removed.push(inside);
        }
        removed
    }

    /// Takes whole subproblems that come to at most `work` off the end.
    pub(crate) fn cut(&mut self, counting: &Counting, work: u128) -> Vec<Span> {
        let (mut tail, mut left) = (Vec::new(), work);
        while let Some(span) = self.spans.pop_back() {
            let fits = counting.n_subproblems_of(span.cross(), left).min(span.n_subproblems());
            let (kept, taken) = span.split_at(span.to() - fits);
            left = left.saturating_sub(taken.map_or(0, |taken| counting.work(taken)));
            tail.extend(taken);
            if let Some(kept) = kept {
                self.spans.push_back(kept);
                break;
            }
        }
        tail.reverse();
        tail
    }
}
