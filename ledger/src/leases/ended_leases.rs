//! Leases that have ended, and what their workers may still report of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_model::{JobId, LeaseId, WorkerId};
use queens_solver::Span;

use crate::spans::SpanSet;
use crate::store::Source;

/// How long a worker may still report what it was granted under a lease that has ended. If it is cut off from its
/// coordinator for longer, its leases are counted again.
pub const REMEMBERED: Duration = Duration::from_secs(600);

/// Spans that are remembered in all. If there are more, the oldest are forgotten first.
const MOST_SPANS: usize = 1_000_000;

/// What workers may still report of leases that have ended. Nobody holds any of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FormerLeases {
    leases: BTreeMap<LeaseId, FormerLease>,
    /// The same leases in the order in which they ended.
    ended: BTreeSet<(Duration, LeaseId)>,
    n_spans: usize,
}

/// What one worker may still report of a lease.
#[derive(Clone, Debug)]
struct FormerLease {
    worker: WorkerId,
    /// Who that is, whatever number it has.
    source: Arc<Source>,
    job: JobId,
    spans: SpanSet,
    ended: Duration,
}

impl FormerLease {
    /// Whether this worker held it, and no other that has its number now.
    fn is_of(&self, (worker, source): (WorkerId, &Source)) -> bool {
        self.worker == worker && self.source.is_same_worker(source)
    }
}

impl FormerLeases {
    /// Remembers a lease that has ended.
    pub(crate) fn add(
        &mut self,
        now: Duration,
        id: LeaseId,
        (worker, source): (WorkerId, Arc<Source>),
        job: JobId,
        spans: SpanSet,
    ) {
        if spans.is_empty() {
            return;
        }
        self.n_spans += spans.len();
        self.leases.insert(id, FormerLease { worker, source, job, spans, ended: now });
        self.ended.insert((now, id));
        while self.n_spans > MOST_SPANS
            && let Some(&(_, oldest)) = self.ended.first()
        {
            self.forget(oldest);
        }
    }

    /// Forgets what has ended long ago.
    pub(crate) fn forget_old(&mut self, now: Duration) {
        while let Some(&(ended, id)) = self.ended.first()
            && now.saturating_sub(ended) > REMEMBERED
        {
            self.forget(id);
        }
    }

    fn forget(&mut self, id: LeaseId) -> Option<FormerLease> {
        let lease = self.leases.remove(&id)?;
        self.ended.remove(&(lease.ended, id));
        self.n_spans -= lease.spans.len();
        Some(lease)
    }

    /// Whether there is a lease of this token, of whichever worker.
    pub(crate) fn has(&self, id: LeaseId) -> bool {
        self.leases.contains_key(&id)
    }

    /// The number of the worker that held a lease, and who that is.
    pub(crate) fn holder(&self, id: LeaseId) -> Option<(WorkerId, &Source)> {
        self.leases.get(&id).map(|lease| (lease.worker, &*lease.source))
    }

    /// Takes out a lease, if it is of this job, and returns what may be reported of it.
    pub(crate) fn take(&mut self, id: LeaseId, job: JobId) -> Option<SpanSet> {
        self.leases.get(&id).filter(|lease| lease.job == job)?;
        self.forget(id).map(|lease| lease.spans)
    }

    /// A worker says that it is done with a lease.
    pub(crate) fn finish(&mut self, id: LeaseId, worker: (WorkerId, &Source)) {
        if self.leases.get(&id).is_some_and(|lease| lease.is_of(worker)) {
            self.forget(id);
        }
    }

    /// Takes out a reported span; `false`, and nothing is taken, if not all of it may be reported.
    pub(crate) fn report(
        &mut self,
        id: LeaseId,
        worker: (WorkerId, &Source),
        job: JobId,
        span: Span,
    ) -> bool {
        let Some(lease) = self.leases.get_mut(&id) else { return false };
        let is_its = lease.is_of(worker) && lease.job == job;
        if !is_its || lease.spans.end_of(span.cross(), span.from()).is_none_or(|end| end < span.to()) {
            return false;
        }
        let before = lease.spans.len();
        lease.spans.take(span);
        self.n_spans = self.n_spans + lease.spans.len() - before;
        if lease.spans.is_empty() {
            self.forget(id);
        }
        true
    }
}
