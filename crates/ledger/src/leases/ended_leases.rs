//! Leases that have ended and may still be reported on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_model::{Delta, JobId, LeaseId, WorkerId};

use crate::leases::live_lease::{Reported, Unreported};
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
    unreported: Unreported,
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
        unreported: Unreported,
    ) {
        if unreported.spans.is_empty() {
            return;
        }
        self.n_spans += unreported.spans.len();
        self.leases.insert(id, FormerLease { worker, source, job, unreported, ended: now });
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
        self.n_spans -= lease.unreported.spans.len();
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

    /// Removes a lease of this job, and returns what its worker may report. The deadline moves by the time since the
    /// lease ended.
    pub(crate) fn take(&mut self, now: Duration, id: LeaseId, job: JobId) -> Option<Unreported> {
        self.leases.get(&id).filter(|lease| lease.job == job)?;
        let FormerLease { unreported, ended, .. } = self.forget(id)?;
        let due = unreported.due.map(|due| due.saturating_add(now.saturating_sub(ended)));
        Some(Unreported { due, ..unreported })
    }

    /// Forgets a lease that its worker has finished.
    pub(crate) fn finish(&mut self, id: LeaseId, worker: (WorkerId, &Source)) {
        if self.leases.get(&id).is_some_and(|lease| lease.is_of(worker)) {
            self.forget(id);
        }
    }

    /// Removes a reported span. Returns `None`, and removes nothing, if not all of it may be reported.
    pub(crate) fn report(
        &mut self,
        now: Duration,
        worker: (WorkerId, &Source),
        job: JobId,
        delta: &Delta,
    ) -> Option<Reported> {
        let (id, span) = (delta.lease, delta.span);
        let lease = self.leases.get_mut(&id).filter(|lease| lease.is_of(worker) && lease.job == job)?;
        let Unreported { spans, allowance, again, .. } = &mut lease.unreported;
        spans.end_of(span.part(), span.from()).filter(|end| *end >= span.to())?;
        let before = spans.len();
        spans.take(span);
        self.n_spans = self.n_spans + spans.len() - before;
        let is_over = spans.is_empty();
        let duration = allowance.take(now, delta.duration);
        let reported = Reported {
            given_back: Vec::new(),
            duration,
            is_again: again.is_some(),
            whole: again.as_mut().and_then(|sums| sums.add(span, delta.count, duration)),
        };
        if is_over {
            self.forget(id);
        }
        Some(reported)
    }
}
