//! Leases that have ended and may still be reported on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_model::{JobId, LeaseId, WorkerId};
use queens_solver::Span;

use crate::spans::SpanSet;
use crate::store::Source;

/// How long a worker may still report on a lease that has ended. If its connection is down for longer, its leases are
/// counted again.
pub const REMEMBERED: Duration = Duration::from_secs(600);

/// The most spans that are remembered in all. Beyond that, the oldest leases are forgotten first.
const MOST_SPANS: usize = 1_000_000;

/// Leases that have ended and may still be reported on. Nobody holds their spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndedLeases {
    leases: BTreeMap<LeaseId, FormerLease>,
    /// The same leases in the order in which they ended.
    ended: BTreeSet<(Duration, LeaseId)>,
    n_spans: usize,
}

/// The spans of an ended lease that its worker may still report.
#[derive(Clone, Debug)]
struct FormerLease {
    worker: WorkerId,
    /// The worker's identity, independent of its number.
    source: Arc<Source>,
    job: JobId,
    spans: SpanSet,
    ended: Duration,
}

impl FormerLease {
    /// Whether this worker held it, and not another that has taken its number.
    fn is_of(&self, (worker, source): (WorkerId, &Source)) -> bool {
        self.worker == worker && self.source.is_same_worker(source)
    }
}

impl EndedLeases {
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

    /// Forgets leases that ended long ago.
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

    /// Whether there is a lease with this token, of any worker.
    pub(crate) fn has(&self, id: LeaseId) -> bool {
        self.leases.contains_key(&id)
    }

    /// Returns the number and identity of the worker that held a lease.
    pub(crate) fn holder(&self, id: LeaseId) -> Option<(WorkerId, &Source)> {
        self.leases.get(&id).map(|lease| (lease.worker, &*lease.source))
    }

    /// Removes a lease of this job, and returns the spans that may be reported.
    pub(crate) fn take(&mut self, id: LeaseId, job: JobId) -> Option<SpanSet> {
        self.leases.get(&id).filter(|lease| lease.job == job)?;
        self.forget(id).map(|lease| lease.spans)
    }

    /// Forgets a lease that its worker has finished.
    pub(crate) fn finish(&mut self, id: LeaseId, worker: (WorkerId, &Source)) {
        if self.leases.get(&id).is_some_and(|lease| lease.is_of(worker)) {
            self.forget(id);
        }
    }

    /// Removes a reported span. Returns `false`, and removes nothing, if not all of it may be reported.
    pub(crate) fn report(
        &mut self,
        id: LeaseId,
        worker: (WorkerId, &Source),
        job: JobId,
        span: Span,
    ) -> bool {
        let Some(lease) = self.leases.get_mut(&id) else { return false };
        let is_its = lease.is_of(worker) && lease.job == job;
        if !is_its || lease.spans.end_of(span.part(), span.from()).is_none_or(|end| end < span.to()) {
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
