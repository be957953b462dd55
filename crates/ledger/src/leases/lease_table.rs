//! All leases: live ones, indexed by their expected end and deadline, and ended ones that may still be reported on.
//!
//! A live lease and an ended one never share a token.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_model::LeaseId;
use queens_solver::Method;

use crate::by_method::ByMethod;
use crate::clock::later;
use crate::lease_load::LeasePace;
use crate::leases::ended_leases::EndedLeases;
use crate::leases::live_lease::{EndedLease, LiveLease};
use crate::run::Tokens;
use crate::store::Source;

/// A running lease is overdue at 10 seconds plus four times its expected duration, since it was last heard of or begun.
/// By then its worker is slower than the others need, or hangs.
const OVERDUE_SECONDS: f64 = 10.0;
const OVERDUE_FACTOR: f64 = 4.0;

/// Returns when work that is expected to take this long from `now` on is overdue.
pub(crate) fn overdue(now: Duration, seconds: f64) -> Duration {
    later(now, OVERDUE_SECONDS + OVERDUE_FACTOR * seconds)
}

/// All leases, with indexes that follow every change. Finding and changing one takes time logarithmic in their number.
#[derive(Debug)]
pub(crate) struct Leases {
    live: BTreeMap<LeaseId, LiveLease>,
    pub(crate) former: EndedLeases,
    pub(crate) tokens: Tokens,
    /// Running leases that may be cut, by method and expected end.
    ends: ByMethod<BTreeSet<(Duration, LeaseId)>>,
    /// Running leases, by deadline.
    deadlines: BTreeSet<(Duration, LeaseId)>,
    /// The current index keys of each lease, which change with time and speed.
    keys: BTreeMap<LeaseId, Keys>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Keys {
    end: Option<(Method, Duration)>,
    deadline: Option<Duration>,
}

/// Queries.
impl Leases {
    pub(crate) fn get(&self, id: LeaseId) -> Option<&LiveLease> {
        self.live.get(&id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Returns the running lease of a method that is expected to end last, of those that may be cut.
    pub(crate) fn last_end(&self, method: Method) -> Option<(Duration, LeaseId)> {
        self.ends.of(method).last().copied()
    }

    /// Returns the lease that is overdue first.
    pub(crate) fn first_deadline(&self) -> Option<(Duration, LeaseId)> {
        self.deadlines.first().copied()
    }

    /// Returns when a running lease is overdue.
    pub(crate) fn deadline(&self, id: LeaseId) -> Option<Duration> {
        self.keys.get(&id)?.deadline
    }
}

/// Live leases.
impl Leases {
    pub(crate) fn new(tokens: Tokens) -> Self {
        Self {
            live: BTreeMap::new(),
            former: EndedLeases::default(),
            tokens,
            ends: ByMethod::default(),
            deadlines: BTreeSet::new(),
            keys: BTreeMap::new(),
        }
    }

    pub(crate) fn insert(&mut self, lease: LiveLease) {
        self.live.insert(lease.id, lease);
    }

    /// Changes a lease. The caller must call [`Self::expect_end`] afterwards.
    pub(crate) fn change<T>(&mut self, id: LeaseId, change: impl FnOnce(&mut LiveLease) -> T) -> Option<T> {
        self.live.get_mut(&id).map(change)
    }

    /// Updates the expected end and deadline of a lease from its speed; `None` if it waits.
    pub(crate) fn expect_end(&mut self, id: LeaseId, pace: Option<LeasePace>) {
        self.forget_keys(id);
        let Some(lease) = self.live.get(&id) else { return };
        let load = lease.load();
        let end = |pace: LeasePace| (load.method, later(load.heard, load.work as f64 / pace.speed));
        let keys = Keys {
            end: pace.filter(|_| load.can_be_cut).map(end),
            deadline: lease.due.or_else(|| Some(deadline(lease, pace?))),
        };
        if let Some((method, end)) = keys.end {
            self.ends.of_mut(method).insert((end, id));
        }
        self.deadlines.extend(keys.deadline.map(|deadline| (deadline, id)));
        self.keys.insert(id, keys);
    }

    /// Sets the time at which to look again at a lease that looked overdue.
    pub(crate) fn postpone_deadline(&mut self, id: LeaseId, until: Duration) {
        if let Some(keys) = self.keys.get_mut(&id) {
            keys.deadline.map(|deadline| self.deadlines.remove(&(deadline, id)));
            keys.deadline = Some(until);
            self.deadlines.insert((until, id));
        }
    }

    /// Ends a lease. Its worker, `source`, may report the unreported spans for a while yet.
    pub(crate) fn end(&mut self, now: Duration, id: LeaseId, source: Arc<Source>) -> Option<EndedLease> {
        let lease = self.live.remove(&id)?;
        self.forget_keys(id);
        let (worker, job) = (lease.worker, lease.job);
        let (ended, unreported) = lease.end();
        self.former.add(now, id, (worker, source), job, unreported);
        Some(ended)
    }

    fn forget_keys(&mut self, id: LeaseId) {
        let keys = self.keys.remove(&id).unwrap_or_default();
        keys.end.map(|(method, end)| self.ends.of_mut(method).remove(&(end, id)));
        keys.deadline.map(|deadline| self.deadlines.remove(&(deadline, id)));
    }
}

/// Returns when a lease is overdue. A worker that claims to be slow gets no more time than others would need. A worker
/// that reports a little now and then must still finish the whole lease in this time.
fn deadline(lease: &LiveLease, LeasePace { speed, slowest }: LeasePace) -> Duration {
    let after = |time, work: u128, speed: f64| overdue(time, work as f64 / speed);
    let (begun, begun_work) = lease.begun();
    let since_heard = after(lease.heard, lease.work, slowest.map_or(speed, |slowest| speed.max(slowest)));
    let since_begun = slowest.map(|slowest| after(begun, begun_work, slowest));
    since_begun.map_or(since_heard, |since_begun| since_begun.min(since_heard))
}
