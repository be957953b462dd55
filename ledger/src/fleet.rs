//! Workers and what they hold.
//!
//! All that scheduling asks is answered by indexes that follow every change, so that no answer takes longer the more
//! leases there are, but for a logarithm: who may be given more, who has idle threads, which lease ends last, which is
//! overdue, who holds what of a job. A lease is changed by [`Fleet::change_lease`] and a worker by
//! [`Fleet::change_member`] alone, which keep the indexes true.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_messages::{JobId, LeaseId, Name, WorkerId};

use crate::lease::LiveLease;
use crate::member::Member;

/// A running lease that nothing was heard of for this long, and four times what all of it should take, is overdue:
/// its worker does not count as it was measured, or not at all.
const OVERDUE_SECONDS: f64 = 10.0;
const OVERDUE_FACTOR: f64 = 4.0;

/// All workers and all leases.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    members: BTreeMap<WorkerId, Member>,
    leases: BTreeMap<LeaseId, LiveLease>,
    names: BTreeMap<Name, BTreeSet<WorkerId>>,
    /// Who holds what of the jobs of which something is held.
    holdings: BTreeMap<JobId, Holding>,
    /// Workers that could count, and those of them that can be given leases.
    able: BTreeSet<WorkerId>,
    useful: BTreeSet<WorkerId>,
    /// Useful workers that may hold more leases.
    hungry: BTreeSet<WorkerId>,
    /// Useful workers with threads that have nothing to count, the fastest first.
    idle: BTreeSet<(Reverse<u64>, WorkerId)>,
    /// Running leases that may be cut, by when they should end.
    ends: BTreeSet<(Duration, LeaseId)>,
    /// Workers with waiting leases that may be cut, by when the last of those should end.
    queue_ends: BTreeSet<(Duration, WorkerId)>,
    /// Running leases, by when they are overdue.
    deadlines: BTreeSet<(Duration, LeaseId)>,
    /// Where each is in the indexes above, as their keys change with time and speed.
    member_keys: BTreeMap<WorkerId, MemberKeys>,
    lease_keys: BTreeMap<LeaseId, LeaseKeys>,
    n_threads: u64,
    power: Power,
}

/// What is held of one job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    /// Workers with leases of it, and those with leases that they were not told to give back.
    pub(crate) holders: BTreeSet<WorkerId>,
    pub(crate) unrecalled: BTreeSet<WorkerId>,
    /// The estimated work of its leases.
    pub(crate) work: u128,
}

/// What all connected workers can do together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Power {
    n_threads: u64,
    /// Estimated nodes per second.
    rate: u128,
}

#[derive(Clone, Copy, Debug, Default)]
struct MemberKeys {
    idle: Option<u64>,
    queue_end: Option<Duration>,
    power: Power,
}

#[derive(Clone, Copy, Debug, Default)]
struct LeaseKeys {
    end: Option<Duration>,
    deadline: Option<Duration>,
}

impl Power {
    /// How long all together take for some work; `None` if nobody is there.
    pub(crate) fn seconds(self, work: u128) -> Option<f64> {
        (self.rate > 0).then(|| work as f64 / self.rate as f64)
    }

    pub(crate) fn n_threads(self) -> f64 {
        self.n_threads as f64
    }
}

/// Looking.
impl Fleet {
    pub(crate) fn member(&self, worker: WorkerId) -> Option<&Member> {
        self.members.get(&worker)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (WorkerId, &Member)> {
        self.members.iter().map(|(&worker, member)| (worker, member))
    }

    pub(crate) fn n_members(&self) -> usize {
        self.members.len()
    }

    /// The threads of all workers, of those too that have lost their connection.
    pub(crate) fn n_threads(&self) -> u64 {
        self.n_threads
    }

    pub(crate) fn lease(&self, id: LeaseId) -> Option<&LiveLease> {
        self.leases.get(&id)
    }

    pub(crate) fn has_leases(&self) -> bool {
        !self.leases.is_empty()
    }

    /// All workers of a name.
    pub(crate) fn named(&self, name: &Name) -> Vec<WorkerId> {
        self.names.get(name).into_iter().flatten().copied().collect()
    }

    /// Who holds what of a job, if anybody does.
    pub(crate) fn holding(&self, job: JobId) -> Option<&Holding> {
        self.holdings.get(&job)
    }

    /// How many workers hold leases of a job.
    pub(crate) fn n_holders(&self, job: JobId) -> usize {
        self.holdings.get(&job).map_or(0, |holding| holding.holders.len())
    }

    /// The jobs of which something is held.
    pub(crate) fn held_jobs(&self) -> impl Iterator<Item = JobId> {
        self.holdings.keys().copied()
    }

    /// All leases of a job.
    pub(crate) fn leases_of_job(&self, job: JobId) -> Vec<LeaseId> {
        let holders = self.holdings.get(&job).into_iter().flat_map(|holding| &holding.holders);
        let held = holders.filter_map(|worker| self.members.get(worker));
        let of_job = |id: &LeaseId| self.leases.get(id).is_some_and(|lease| lease.job == job);
        held.flat_map(|member| {
            let waiting = member.shares.get(&job).into_iter().flat_map(|share| share.waiting.iter().copied());
            member.running.iter().copied().filter(of_job).chain(waiting)
        })
        .collect()
    }

    /// All leases of a worker, in the order it counts them.
    pub(crate) fn leases_of(&self, worker: WorkerId) -> Vec<LeaseId> {
        let Some(member) = self.members.get(&worker) else { return Vec::new() };
        let waiting = member.shares.values().flat_map(|share| &share.waiting);
        let mut leases: Vec<LeaseId> = member.running.iter().chain(waiting).copied().collect();
        leases.sort_unstable();
        leases
    }

    /// Leases of a job that this worker was not told to give back.
    pub(crate) fn unrecalled(&self, worker: WorkerId, job: JobId) -> Vec<LeaseId> {
        let share = self.members.get(&worker).and_then(|member| member.shares.get(&job));
        share.into_iter().flat_map(|share| share.unrecalled.iter().copied()).collect()
    }

    /// Workers that are there and not held back, stuck ones left out; those of them that can be given leases; and those
    /// of these that may hold more.
    pub(crate) fn able(&self) -> &BTreeSet<WorkerId> {
        &self.able
    }

    pub(crate) fn useful(&self) -> &BTreeSet<WorkerId> {
        &self.useful
    }

    pub(crate) fn hungry(&self) -> &BTreeSet<WorkerId> {
        &self.hungry
    }

    /// The fastest worker with a thread that has nothing to count.
    pub(crate) fn first_idle(&self) -> Option<WorkerId> {
        self.idle.first().map(|&(_, worker)| worker)
    }

    /// The running lease that should end last, of those that may be cut.
    pub(crate) fn last_end(&self) -> Option<(Duration, LeaseId)> {
        self.ends.last().copied()
    }

    /// The worker whose waiting leases should end last.
    pub(crate) fn last_queue_end(&self) -> Option<(Duration, WorkerId)> {
        self.queue_ends.last().copied()
    }

    /// The worker whose waiting leases should end, or should have ended, first.
    pub(crate) fn first_queue_end(&self) -> Option<(Duration, WorkerId)> {
        self.queue_ends.first().copied()
    }

    /// The lease that is overdue first.
    pub(crate) fn first_deadline(&self) -> Option<(Duration, LeaseId)> {
        self.deadlines.first().copied()
    }

    /// When a lease is overdue, if it runs.
    pub(crate) fn deadline(&self, id: LeaseId) -> Option<Duration> {
        self.lease_keys.get(&id)?.deadline
    }

    pub(crate) fn power(&self) -> Power {
        self.power
    }
}

/// Changing.
impl Fleet {
    /// Adds a worker that holds nothing yet.
    pub(crate) fn add_member(&mut self, now: Duration, worker: WorkerId, member: Member) {
        self.names.entry(member.source.worker.clone()).or_default().insert(worker);
        self.n_threads += u64::from(member.n_threads);
        self.members.insert(worker, member);
        self.index_member(now, worker);
    }

    /// Takes out a worker that holds nothing any more.
    pub(crate) fn remove_member(&mut self, worker: WorkerId) -> Option<Member> {
        let member = self.members.remove(&worker)?;
        self.n_threads -= u64::from(member.n_threads);
        if let Some(named) = self.names.get_mut(&member.source.worker) {
            named.remove(&worker);
            if named.is_empty() {
                self.names.remove(&member.source.worker);
            }
        }
        self.unindex_member(worker);
        Some(member)
    }

    /// Notes that something was heard of a worker, which no index goes by.
    pub(crate) fn hear(&mut self, now: Duration, worker: WorkerId) -> Option<&Member> {
        let member = self.members.get_mut(&worker)?;
        member.heard = now;
        Some(member)
    }

    /// Changes a worker, but not what it holds.
    pub(crate) fn change_member<T>(
        &mut self,
        now: Duration,
        worker: WorkerId,
        change: impl FnOnce(&mut Member) -> T,
    ) -> Option<T> {
        let changed = change(self.members.get_mut(&worker)?);
        self.index_member(now, worker);
        Some(changed)
    }

    /// Gives a lease to its worker, which must be there.
    pub(crate) fn add_lease(&mut self, now: Duration, lease: LiveLease) {
        let Some(member) = self.members.get_mut(&lease.worker) else { return };
        let (id, worker, job) = (lease.id, lease.worker, lease.job);
        let holding = self.holdings.entry(job).or_default();
        holding.holders.insert(worker);
        let share = member.shares.entry(job).or_default();
        if member.running.len() < member.n_threads as usize {
            member.running.insert(id);
            share.n_running += 1;
        } else {
            share.waiting.insert(id);
        }
        self.leases.insert(id, lease);
        self.count_lease(id, true);
        self.index_lease(id);
        self.index_member(now, worker);
    }

    /// Changes a lease; what it is of, and whose, stays.
    pub(crate) fn change_lease<T>(
        &mut self,
        now: Duration,
        id: LeaseId,
        change: impl FnOnce(&mut LiveLease) -> T,
    ) -> Option<T> {
        let worker = self.leases.get(&id)?.worker;
        self.count_lease(id, false);
        let changed = self.leases.get_mut(&id).map(change);
        self.count_lease(id, true);
        self.index_lease(id);
        self.index_member(now, worker);
        changed
    }

    /// Takes a lease from its worker, which begins the next one that waits.
    pub(crate) fn remove_lease(&mut self, now: Duration, id: LeaseId) -> Option<LiveLease> {
        let &LiveLease { worker, job, .. } = self.leases.get(&id)?;
        self.count_lease(id, false);
        self.unindex_lease(id);
        let lease = self.leases.remove(&id)?;
        let member = self.members.get_mut(&worker)?;
        let was_running = member.running.remove(&id);
        if let Some(share) = member.shares.get_mut(&job) {
            share.n_running -= u32::from(was_running);
            share.waiting.remove(&id);
            if share.is_empty() {
                member.shares.remove(&job);
                self.release_holder(job, worker);
            }
        }
        if was_running {
            self.begin_waiting(now, worker);
        }
        self.index_member(now, worker);
        Some(lease)
    }

    /// A thread of the worker has nothing to count: it begins the first lease that waits.
    fn begin_waiting(&mut self, now: Duration, worker: WorkerId) {
        let Some(next) = self.members.get(&worker).and_then(Member::first_waiting) else { return };
        self.count_lease(next, false);
        if let Some(lease) = self.leases.get_mut(&next)
            && let Some(member) = self.members.get_mut(&worker)
        {
            lease.heard = now;
            member.running.insert(next);
            let share = member.shares.entry(lease.job).or_default();
            share.waiting.remove(&next);
            share.n_running += 1;
        }
        self.count_lease(next, true);
        self.index_lease(next);
    }

    fn release_holder(&mut self, job: JobId, worker: WorkerId) {
        if let Some(holding) = self.holdings.get_mut(&job) {
            holding.holders.remove(&worker);
            holding.unrecalled.remove(&worker);
            if holding.holders.is_empty() {
                self.holdings.remove(&job);
            }
        }
    }

    /// Adds a lease to the sums of its worker and its job, or takes it off them.
    fn count_lease(&mut self, id: LeaseId, add: bool) {
        let Some(lease) = self.leases.get(&id) else { return };
        let Some(member) = self.members.get_mut(&lease.worker) else { return };
        let Some(share) = member.shares.get_mut(&lease.job) else { return };
        let Some(holding) = self.holdings.get_mut(&lease.job) else { return };
        let change = |sum: &mut u128, by: u128| *sum = if add { *sum + by } else { *sum - by };
        change(&mut holding.work, lease.work);
        if member.running.contains(&id) {
            change(&mut member.running_work, lease.work);
            change(&mut share.running_work, lease.work);
            change(&mut share.heard_nanos, lease.heard.as_nanos());
        } else {
            change(&mut member.waiting_work, lease.work);
            if add && lease.can_be_cut() {
                member.tails.insert((lease.work, id));
            } else {
                member.tails.remove(&(lease.work, id));
            }
        }
        if add && !lease.recalled {
            share.unrecalled.insert(id);
            holding.unrecalled.insert(lease.worker);
        } else if share.unrecalled.remove(&id) && share.unrecalled.is_empty() {
            holding.unrecalled.remove(&lease.worker);
        }
    }

    fn index_lease(&mut self, id: LeaseId) {
        self.unindex_lease(id);
        let Some(lease) = self.leases.get(&id) else { return };
        let Some(member) = self.members.get(&lease.worker) else { return };
        if !member.running.contains(&id) {
            return;
        }
        let expected = lease.work as f64 / member.rate.get();
        let keys = LeaseKeys {
            end: lease.can_be_cut().then(|| later(lease.heard, expected)),
            deadline: Some(later(lease.heard, OVERDUE_SECONDS + OVERDUE_FACTOR * expected)),
        };
        self.ends.extend(keys.end.map(|end| (end, id)));
        self.deadlines.extend(keys.deadline.map(|deadline| (deadline, id)));
        self.lease_keys.insert(id, keys);
    }

    fn unindex_lease(&mut self, id: LeaseId) {
        let keys = self.lease_keys.remove(&id).unwrap_or_default();
        keys.end.map(|end| self.ends.remove(&(end, id)));
        keys.deadline.map(|deadline| self.deadlines.remove(&(deadline, id)));
    }

    /// Says of a lease that looked overdue when that is to be looked at again.
    pub(crate) fn postpone_deadline(&mut self, id: LeaseId, until: Duration) {
        if let Some(keys) = self.lease_keys.get_mut(&id) {
            keys.deadline.map(|deadline| self.deadlines.remove(&(deadline, id)));
            keys.deadline = Some(until);
            self.deadlines.insert((until, id));
        }
    }

    /// Looks again at a lease whose worker's speed may have changed.
    pub(crate) fn refresh_lease(&mut self, id: LeaseId) {
        self.index_lease(id);
    }

    fn index_member(&mut self, now: Duration, worker: WorkerId) {
        let Some(member) = self.members.get(&worker) else { return };
        let before = self.member_keys.get(&worker).copied().unwrap_or_default();
        let rate = whole(member.whole_rate());
        let power = match member.connected {
            true => Power { n_threads: member.n_threads.into(), rate: rate.into() },
            false => Power::default(),
        };
        let queue_end = (!member.tails.is_empty()).then(|| {
            let waiting = member.waiting_work as f64 / member.whole_rate();
            later(now, member.seconds_before_waiting(now) + waiting)
        });
        let is_of_use = member.is_of_use();
        let idle = (is_of_use && !member.is_busy()).then_some(rate);
        let memberships = [
            (&mut self.able, member.could_count()),
            (&mut self.useful, is_of_use),
            (&mut self.hungry, is_of_use && !member.is_full()),
        ];
        for (set, is_member) in memberships {
            if is_member {
                set.insert(worker)
            } else {
                set.remove(&worker)
            };
        }
        let keys = MemberKeys { idle, queue_end, power };
        self.move_member(worker, before, keys);
        self.member_keys.insert(worker, keys);
    }

    fn move_member(&mut self, worker: WorkerId, before: MemberKeys, keys: MemberKeys) {
        if before.idle != keys.idle {
            before.idle.map(|rate| self.idle.remove(&(Reverse(rate), worker)));
            self.idle.extend(keys.idle.map(|rate| (Reverse(rate), worker)));
        }
        if before.queue_end != keys.queue_end {
            before.queue_end.map(|end| self.queue_ends.remove(&(end, worker)));
            self.queue_ends.extend(keys.queue_end.map(|end| (end, worker)));
        }
        self.power.n_threads = self.power.n_threads + keys.power.n_threads - before.power.n_threads;
        self.power.rate = self.power.rate + keys.power.rate - before.power.rate;
    }

    fn unindex_member(&mut self, worker: WorkerId) {
        let before = self.member_keys.remove(&worker).unwrap_or_default();
        self.move_member(worker, before, MemberKeys::default());
        for set in [&mut self.able, &mut self.useful, &mut self.hungry] {
            set.remove(&worker);
        }
    }

    /// Leaves a worker's waiting leases alone until something is heard of it.
    pub(crate) fn forget_queue_end(&mut self, worker: WorkerId) {
        if let Some(keys) = self.member_keys.get_mut(&worker) {
            keys.queue_end.take().map(|end| self.queue_ends.remove(&(end, worker)));
        }
    }

    /// Looks again when a worker's waiting leases should end.
    pub(crate) fn refresh_queue_end(&mut self, now: Duration, worker: WorkerId) {
        self.index_member(now, worker);
    }
}

/// A time some seconds later; the end of time if that is unknown.
pub(crate) fn later(time: Duration, seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|seconds| time.checked_add(seconds))
        .unwrap_or(Duration::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, as it should"
)]
fn whole(rate: f64) -> u64 {
    rate as u64
}
