//! All workers, with indexes by name, party, lease holder, turn and timeout.

mod blocking;
mod leases;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{JobId, LeaseId, Name, Party, ReportInterval, WorkerId};
use queens_solver::Method;

use crate::by_method::ByMethod;
use crate::lease_load::LeasePace;
use crate::report_interval_rule::Reporting;
use crate::workers::readiness::{Readiness, UNKNOWN_SPEED};
use crate::workers::worker::Worker;

/// A worker that misses its report by this time is given up. A worker that reports once a second is given up after
/// fifteen seconds of silence.
const LATE: Duration = Duration::from_secs(14);

/// The same for a worker whose connection is lost: long enough to come back after a short interruption.
const GRACE: Duration = Duration::from_secs(4);

/// The most parties whose lapses are counted. Without invitations, each name is a party.
const MOST_LAPSED: usize = 100_000;

/// How many times slower than the others' mean a thread may be, and still be waited for at the end of a job.
const SLOWER_THAN_USUAL: f64 = 4.0;

/// All workers, with indexes that follow every change. Finding and changing one takes time logarithmic in their number.
#[derive(Debug)]
pub(crate) struct Workers {
    all: BTreeMap<WorkerId, Worker>,
    names: BTreeMap<Name, BTreeSet<WorkerId>>,
    parties: BTreeMap<Party, BTreeSet<WorkerId>>,
    /// The threads of each party's workers.
    threads: BTreeMap<Party, u64>,
    /// Names that an operator has blocked.
    blocked: BTreeSet<Name>,
    /// Parties that have lost a dispute, so that their workers get no leases under any name.
    suspicions: BTreeMap<Party, Suspicion>,
    /// The same parties, to be shared.
    suspects: Arc<BTreeSet<Party>>,
    /// Lapses by party: how often its workers lost leases by silence, or because a lease was overdue.
    lapses: BTreeMap<Party, u64>,
    /// The holders of each job that has leases.
    holdings: BTreeMap<JobId, Holding>,
    readiness: ByMethod<Readiness>,
    /// When to check whether a worker has been silent for too long. A worker may have several entries.
    patience: BTreeSet<(Duration, WorkerId)>,
    /// When workers that gave back too many leases get others again.
    resting: BTreeSet<(Duration, WorkerId)>,
    served: Served,
    n_threads: u64,
    reporting: Reporting,
    /// While tails of a method are cut: the last worker that was checked for a shorter report interval.
    hurried: ByMethod<Option<WorkerId>>,
}

/// The party and the workers that got a lease last.
#[derive(Debug, Default)]
struct Served {
    party: Option<Party>,
    /// The last worker of each party.
    workers: BTreeMap<Party, WorkerId>,
}

/// Why a party is suspect.
#[derive(Clone, Debug)]
pub(crate) struct Suspicion {
    /// The name under which it has lost a dispute.
    pub(crate) name: Name,
    /// The description of the dispute.
    pub(crate) reason: String,
}

/// The leases of one job, by holder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    /// Workers with leases of it, and those with leases that were not recalled.
    pub(crate) holders: BTreeSet<WorkerId>,
    pub(crate) unrecalled: BTreeSet<WorkerId>,
    /// The estimated work of its leases.
    pub(crate) work: u128,
}

impl Holding {}

impl Default for Workers {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            names: BTreeMap::new(),
            parties: BTreeMap::new(),
            threads: BTreeMap::new(),
            blocked: BTreeSet::new(),
            suspicions: BTreeMap::new(),
            suspects: Arc::default(),
            lapses: BTreeMap::new(),
            holdings: BTreeMap::new(),
            readiness: ByMethod::new(Readiness::new),
            patience: BTreeSet::new(),
            resting: BTreeSet::new(),
            served: Served::default(),
            n_threads: 0,
            reporting: Reporting::default(),
            hurried: ByMethod::default(),
        }
    }
}

/// Queries.
impl Workers {
    pub(crate) fn get(&self, id: WorkerId) -> Option<&Worker> {
        self.all.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.all.iter().map(|(&id, worker)| (id, worker))
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the threads of all workers, including those that have lost their connection.
    pub(crate) fn n_threads(&self) -> u64 {
        self.n_threads
    }

    /// Returns the threads of a party's workers, including those that have lost their connection.
    pub(crate) fn n_threads_of(&self, party: Party) -> u64 {
        self.threads.get(&party).copied().unwrap_or_default()
    }

    /// Returns all workers of a name.
    pub(crate) fn named(&self, name: &Name) -> Vec<WorkerId> {
        self.names.get(name).into_iter().flatten().copied().collect()
    }

    /// Returns all workers of a party.
    pub(crate) fn of_party(&self, party: Party) -> Option<&BTreeSet<WorkerId>> {
        self.parties.get(&party)
    }

    /// Returns the names that an operator has blocked, and those under which parties have lost a dispute.
    pub(crate) fn blocked(&self) -> BTreeSet<&Name> {
        self.blocked.iter().chain(self.suspicions.values().map(|suspicion| &suspicion.name)).collect()
    }

    /// Whether an operator has blocked a name.
    pub(crate) fn is_name_blocked(&self, name: &Name) -> bool {
        self.blocked.contains(name)
    }

    /// Returns why a party is suspect, if it is.
    pub(crate) fn suspicion(&self, party: Party) -> Option<&Suspicion> {
        self.suspicions.get(&party)
    }

    /// Returns the parties that have lost a dispute and were not cleared.
    pub(crate) fn suspects(&self) -> &Arc<BTreeSet<Party>> {
        &self.suspects
    }

    /// Returns the indexes of the workers that can count by this method.
    pub(crate) fn readiness(&self, method: Method) -> &Readiness {
        self.readiness.of(method)
    }

    /// Returns the holders of a job that has leases.
    pub(crate) fn holding(&self, job: JobId) -> Option<&Holding> {
        self.holdings.get(&job)
    }

    /// Returns the jobs that have leases.
    pub(crate) fn held_jobs(&self) -> impl Iterator<Item = JobId> {
        self.holdings.keys().copied()
    }

    /// Returns the next worker that may hold more leases of one of these methods. It is the turn of one party after the
    /// other, and of one worker after the other in a party. So no party gets again what its worker gave back, before
    /// others with capacity get it. Doubted workers come last.
    pub(crate) fn next_with_capacity(&self, methods: &[Method]) -> Option<WorkerId> {
        let after = |party| (Bound::Excluded(party), Bound::Unbounded);
        [false, true].into_iter().find_map(|is_doubted| {
            let parties = || methods.iter().map(|method| self.readiness.of(*method).has_capacity(is_doubted));
            let later = |last| parties().filter_map(move |parties| parties.range(after(last)).next());
            let next = self.served.party.and_then(|last| later(last).map(|(party, _)| *party).min());
            let party =
                next.or_else(|| parties().filter_map(|parties| parties.keys().next()).min().copied())?;
            let members = || parties().filter_map(|parties| parties.get(&party));
            let later = (Bound::Excluded(self.last_of(party)), Bound::Unbounded);
            let next = members().filter_map(|members| members.range(later).next()).min();
            next.or_else(|| members().filter_map(BTreeSet::first).min()).copied()
        })
    }

    /// Returns whose turn it is of some workers of a party.
    pub(crate) fn next_of(&self, party: Party, workers: &BTreeSet<WorkerId>) -> Option<WorkerId> {
        let mut later = workers.range((Bound::Excluded(self.last_of(party)), Bound::Unbounded));
        later.next().or_else(|| workers.first()).copied()
    }

    /// Returns the worker of a party that got a lease last.
    fn last_of(&self, party: Party) -> WorkerId {
        self.served.workers.get(&party).copied().unwrap_or(WorkerId(0))
    }

    /// Returns the current report interval of a worker.
    pub(crate) fn interval(&self, is_hurried: bool) -> ReportInterval {
        self.reporting.interval(self.len(), is_hurried)
    }

    /// Returns how long a worker may take for its leases before it is late.
    pub(crate) fn seconds_in_hand(&self, worker: &Worker) -> f64 {
        let seconds = |method: Method| {
            let work = worker.held.running_work(method) + worker.held.waiting_work(method);
            let of_thread = work as f64 / f64::from(worker.n_threads());
            self.readiness.of(method).seconds_of_due([(worker.estimated(method)?, 1)], of_thread)
        };
        Method::ALL.into_iter().filter_map(seconds).sum()
    }

    /// Returns the actual and the required speed of this worker for a lease; `None` if the lease waits.
    pub(crate) fn pace_of(&self, id: WorkerId, lease: LeaseId, method: Method) -> Option<LeasePace> {
        let worker = self.all.get(&id).filter(|worker| worker.held.is_running(lease))?;
        let speed = worker.estimated(method)?;
        let usual = self.readiness.of(method).usual_speed;
        let slowest = match usual {
            Some(usual) => Some(usual / SLOWER_THAN_USUAL),
            None => speed.is_guess().then_some(UNKNOWN_SPEED),
        };
        Some(LeasePace { speed: speed.work_per_second, slowest })
    }
}

/// Changes.
impl Workers {
    /// Adds a worker that holds nothing yet.
    pub(crate) fn add(&mut self, now: Duration, id: WorkerId, mut worker: Worker) {
        worker.set_blocked(self.is_blocked(&worker));
        worker.owe(self.lapses.get(&worker.party()).copied().unwrap_or_default());
        self.parties.entry(worker.party()).or_default().insert(id);
        self.names.entry(worker.name().clone()).or_default().insert(id);
        self.n_threads += u64::from(worker.n_threads());
        *self.threads.entry(worker.party()).or_default() += u64::from(worker.n_threads());
        for method in Method::ALL {
            self.readiness.of_mut(method).update(now, id, &worker);
        }
        let due = worker.due;
        self.all.insert(id, worker);
        self.patience.insert((due + LATE, id));
    }

    /// Removes a worker that holds nothing any more.
    pub(crate) fn remove(&mut self, id: WorkerId) -> Option<Worker> {
        let worker = self.all.remove(&id)?;
        self.n_threads -= u64::from(worker.n_threads());
        let left = self.n_threads_of(worker.party()) - u64::from(worker.n_threads());
        match left {
            0 => {
                self.served.workers.remove(&worker.party());
                self.threads.remove(&worker.party())
            }
            _ => self.threads.insert(worker.party(), left),
        };
        remove_member(&mut self.names, worker.name(), id);
        remove_member(&mut self.parties, &worker.party(), id);
        Method::ALL.into_iter().for_each(|method| self.readiness.of_mut(method).remove(id, worker.party()));
        Some(worker)
    }

    /// Counts a lapse of a worker against its party. From now on the worker and later workers of its party are doubted.
    /// A doubted worker is served in turn again when it has reported from as many leases as the party had lapses.
    pub(crate) fn note_lapse(&mut self, now: Duration, id: WorkerId) {
        let Some(party) = self.all.get(&id).map(Worker::party) else { return };
        let n_lapses = self.lapses.get(&party).map_or(1, |n| n.saturating_add(1));
        if n_lapses > 1 || self.lapses.len() < MOST_LAPSED {
            self.lapses.insert(party, n_lapses);
            self.change(now, id, |worker| worker.owe(n_lapses));
        }
    }

    /// Notes that a worker was heard. No index depends on that.
    pub(crate) fn note_contact(&mut self, now: Duration, id: WorkerId) -> Option<&Worker> {
        let worker = self.all.get_mut(&id)?;
        worker.note_contact(now);
        Some(worker)
    }

    /// Changes a worker, but not its leases.
    pub(crate) fn change<T>(
        &mut self,
        now: Duration,
        id: WorkerId,
        change: impl FnOnce(&mut Worker) -> T,
    ) -> Option<T> {
        let worker = self.all.get_mut(&id)?;
        let changed = change(worker);
        for method in Method::ALL {
            self.readiness.of_mut(method).update(now, id, worker);
        }
        Some(changed)
    }

    /// Notes that a worker's connection is lost. Returns whether there is such a worker.
    pub(crate) fn disconnect(&mut self, now: Duration, id: WorkerId) -> bool {
        let is_there = self.change(now, id, |worker| worker.disconnect(now)).is_some();
        if is_there {
            self.patience.insert((now + GRACE, id));
        }
        is_there
    }

    /// Sets the rule for how often workers report.
    pub(crate) fn set_reporting(&mut self, reporting: Reporting) {
        self.reporting = reporting;
    }

    /// Sets a worker's report interval.
    pub(crate) fn tell_interval(&mut self, now: Duration, id: WorkerId, interval: ReportInterval) {
        if let Some(worker) = self.all.get_mut(&id) {
            worker.tell_interval(now, interval);
            self.patience.insert((worker.due + LATE, id));
        }
    }

    /// Returns at most `n` workers to check for a shorter report interval. From when tails of a method are cut, it goes
    /// through all workers, some at a time.
    pub(crate) fn next_to_hurry(&mut self, method: Method, is_tail: bool, n: usize) -> Vec<WorkerId> {
        let hurried = self.hurried.of_mut(method);
        if !is_tail {
            *hurried = None;
            return Vec::new();
        }
        let after = hurried.map_or(Bound::Unbounded, Bound::Excluded);
        let next: Vec<WorkerId> =
            self.all.range((after, Bound::Unbounded)).take(n).map(|(&id, _)| id).collect();
        *hurried = next.last().copied().or(*hurried);
        next
    }

    /// Returns the next worker that has been silent for too long. Each worker is checked only when its timeout may have
    /// expired, so that the cost does not grow with the number of workers.
    pub(crate) fn next_silent(&mut self, now: Duration) -> Option<WorkerId> {
        while let Some(&(at, id)) = self.patience.first()
            && at <= now
        {
            self.patience.pop_first();
            let Some(worker) = self.all.get(&id) else { continue };
            let until = if worker.is_connected() { worker.due + LATE } else { worker.heard + GRACE };
            if until <= now {
                return Some(id);
            }
            self.patience.insert((until, id));
        }
        None
    }

    /// Computes the usual speeds. Takes O(m log m) for m parties.
    pub(crate) fn update_usual_speeds(&mut self) {
        Method::ALL.into_iter().for_each(|method| self.readiness.of_mut(method).update_usual_speed());
    }

    /// Notes that a worker gave a lease back without a count.
    pub(crate) fn note_given_back(&mut self, now: Duration, id: WorkerId) {
        let rests_until = self.change(now, id, |worker| worker.note_given_back(now)).flatten();
        self.resting.extend(rests_until.map(|until| (until, id)));
    }

    /// Lets workers get leases again that have waited long enough.
    pub(crate) fn wake_rested(&mut self, now: Duration) {
        while let Some(&(until, id)) = self.resting.first()
            && until <= now
        {
            self.resting.pop_first();
            self.change(now, id, |_| ());
        }
    }

    /// Notes that a worker gets a lease. Then it is the turn of the next party, and in this one of the next worker.
    pub(crate) fn assign(&mut self, id: WorkerId) {
        let Some(party) = self.all.get(&id).map(Worker::party) else { return };
        self.served.party = Some(party);
        self.served.workers.insert(party, id);
    }

    /// Updates the expected end of a worker's waiting leases.
    pub(crate) fn refresh_queue_end(&mut self, now: Duration, id: WorkerId) {
        self.change(now, id, |_| ());
    }

    /// Ignores a worker's waiting leases of a method until something about it changes.
    pub(crate) fn forget_queue_end(&mut self, id: WorkerId, method: Method) {
        self.readiness.of_mut(method).forget_queue_end(id);
    }
}

/// Removes a worker from the index of its name or its party.
fn remove_member<K: Ord>(members: &mut BTreeMap<K, BTreeSet<WorkerId>>, key: &K, id: WorkerId) {
    if let Some(of_key) = members.get_mut(key) {
        of_key.remove(&id);
        if of_key.is_empty() {
            members.remove(key);
        }
    }
}
