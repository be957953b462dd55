//! What is handed out: leases sized by time, and the tails of running leases when nothing else is left.
//!
//! A lease is sized so that a worker, at its measured speed, takes the same time as any other would: a fixed share of
//! what the whole job still takes. So leases shrink as the job nears its end, and the last ones end together. Each
//! worker holds one more lease for each thread than it counts, so that no thread waits for an answer.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use queens_proto::{JobId, Lease, LeaseId, LeasedSpan, Priority, ToWorker, WorkerId};
use queens_solver::Span;

use super::job::Counting;
use super::session::Member;
use super::{Ledger, LiveLease};

/// Leases a worker may hold for each of its threads: one that is counted and one that waits.
const LEASES_PER_THREAD: usize = 2;

/// A lease is this part of what the job still takes: with two a thread, a quarter of it is handed out at a time.
const SHARE_OF_THE_REST: f64 = 8.0;

/// No lease is longer: a tail that is cut off should not be old.
const LONGEST_SECONDS: f64 = 120.0;

/// No lease is shorter, nor shorter than a millisecond for each thread of the whole cluster, so that the coordinator
/// is not asked for more than some thousand leases a second.
const SHORTEST_SECONDS: f64 = 0.02;
const SHORTEST_SECONDS_PER_THREAD: f64 = 0.001;

/// The first lease of a worker whose speed is only guessed.
const UNMEASURED_SECONDS: f64 = 0.1;

/// A running lease that nothing was heard of for this long, and four times what all of it should take, is overdue:
/// its worker does not count as it was measured, or not at all.
const OVERDUE_SECONDS: f64 = 10.0;

/// Spans in a lease, which keeps its message far below what gRPC accepts.
const MOST_SPANS: usize = 4096;

/// Tails handed over in one tick.
const MOST_TAILS: usize = 64;

/// What all connected workers can do together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Power {
    n_threads: f64,
    /// Estimated nodes per second.
    rate: f64,
}

impl Power {
    pub(super) fn of<'a>(members: impl Iterator<Item = &'a Member>) -> Self {
        members.filter(|member| member.connected).fold(Self::default(), |power, member| {
            let n_threads = f64::from(member.n_threads);
            Self { n_threads: power.n_threads + n_threads, rate: power.rate + n_threads * member.rate.get() }
        })
    }

    /// How long all together take for some work; `None` if nobody is there.
    pub(super) fn seconds(self, work: u128) -> Option<f64> {
        (self.rate > 0.0).then(|| work as f64 / self.rate)
    }

    pub(super) fn n_threads(self) -> f64 {
        self.n_threads
    }

    fn shortest_seconds(self) -> f64 {
        SHORTEST_SECONDS.max(SHORTEST_SECONDS_PER_THREAD * self.n_threads)
    }
}

impl Ledger {
    /// Hands out leases as long as there is work and a worker that may hold more.
    pub(super) fn feed(&mut self) {
        // Asked before all who are hungry are looked at: with nothing to do, all are.
        while self.has_work() {
            let mut n_fed = 0;
            for worker in self.hungry.iter().copied().collect::<Vec<_>>() {
                if !self.workers.get(&worker).is_some_and(|member| self.may_hold_more(member)) {
                    self.hungry.remove(&worker);
                } else if let Some(job) = self.first_job_for(worker) {
                    self.feed_worker(worker, job);
                    n_fed += 1;
                } else if !self.has_work() {
                    return;
                }
            }
            if n_fed == 0 {
                return;
            }
        }
    }

    /// Jobs that workers may get leases of, in the order they are served.
    fn served(&self) -> impl Iterator<Item = (JobId, Priority, &Counting)> {
        let servable = |&(Reverse(priority), id)| Some((id, priority, self.jobs.get(&id)?.servable()?));
        self.active.iter().filter_map(servable)
    }

    fn has_work(&self) -> bool {
        self.served().any(|(.., counting)| !counting.free.is_empty() || counting.failed.are_there_to_try())
    }

    fn first_job_with_free_work(&self) -> Option<(JobId, Priority)> {
        let mut served = self.served();
        served.find(|(.., counting)| !counting.free.is_empty()).map(|(job, priority, _)| (job, priority))
    }

    fn first_job_for(&self, worker: WorkerId) -> Option<JobId> {
        self.served().find(|(.., counting)| counting.has_work_for(worker)).map(|(job, ..)| job)
    }

    /// Whether an operator wants this worker to have no leases.
    pub(super) fn is_held_back(&self, member: &Member) -> bool {
        member.draining || self.blocked.contains(&member.source.worker)
    }

    /// Whether this worker can be given leases at all.
    pub(super) fn is_of_use(&self, member: &Member) -> bool {
        member.connected && !member.stuck && !member.failures.are_too_many() && !self.is_held_back(member)
    }

    fn may_hold_more(&self, member: &Member) -> bool {
        !is_full(member) && self.is_of_use(member)
    }

    /// Gives one lease to a hungry worker.
    fn feed_worker(&mut self, worker: WorkerId, job: JobId) {
        let Some(member) = self.workers.get(&worker) else { return };
        let Some(counting) = self.jobs.get_mut(&job).and_then(|job| job.counting.as_mut()) else { return };
        if let Some(failed) = counting.failed.to_try(worker) {
            let tried = counting.failed.begin(failed);
            return self.grant(worker, job, vec![failed], tried);
        }
        let work_left = counting.progress.work - counting.progress.work_recorded;
        let rest = self.power.seconds(work_left).unwrap_or(0.0);
        let longest = if member.rate.is_guess() { UNMEASURED_SECONDS } else { LONGEST_SECONDS };
        let shortest = self.power.shortest_seconds().min(longest);
        let seconds = (rest / SHARE_OF_THE_REST).clamp(shortest, longest);
        let spans = take_work(counting, whole_nodes(seconds * member.rate.get()));
        self.grant(worker, job, spans, BTreeSet::new());
    }

    /// Makes spans that nobody holds a lease; `tried` have failed on them.
    fn grant(&mut self, worker: WorkerId, job: JobId, spans: Vec<Span>, tried: BTreeSet<WorkerId>) {
        let Some(counting) = self.jobs.get(&job).and_then(|job| job.counting.as_ref()) else { return };
        let plan = &counting.plan;
        let id = LeaseId(self.next_lease);
        self.next_lease += 1;
        if let Some(next) = self.unclaimed_epoch.take() {
            self.changes.epoch = Some(next);
        }
        let image = |span: Span| plan.crosses()[span.cross() as usize].choice().image;
        let leased = spans.iter().map(|&span| LeasedSpan { span, image: image(span) }).collect();
        let work = spans.iter().map(|&span| counting.work(span)).sum();
        let message = Lease { id, job, n: plan.n(), spans: leased };
        self.changes.messages.push((worker, ToWorker::Lease(message)));
        let (spans, heard) = (VecDeque::from(spans), self.now);
        self.hold(LiveLease { id, job, worker, spans, work, open: None, tried, recalled: false, heard });
    }

    /// Recalls leases from threads that a more urgent job could use, or that keep leases of one waiting.
    pub(super) fn preempt(&mut self) {
        let priorities = (self.active.first(), self.active.last());
        if let (Some((first, _)), Some((last, _))) = priorities
            && first == last
        {
            return;
        }
        let free = self.first_job_with_free_work();
        let mut work_left = free.map_or(0.0, |(job, _)| self.work_nobody_holds(job));
        let mut recalled = Vec::new();
        for member in self.workers.values() {
            let priority = |id: &LeaseId| Some(self.jobs.get(&self.leases.get(id)?.job)?.row.priority);
            // Of a waiting lease, those before it are in its way; of free work, all.
            let waiting = member.leases.iter().skip(member.n_threads as usize);
            let in_the_way = waiting.flat_map(|waits| {
                let before = member.leases.range(..waits);
                before.filter(move |lease| priority(lease) < priority(waits))
            });
            recalled.extend(in_the_way.copied());
            if let Some((_, urgent)) = free.filter(|_| work_left > 0.0 && self.is_of_use(member)) {
                let less_urgent = member.leases.iter().filter(|lease| priority(lease) < Some(urgent));
                let n_before = recalled.len();
                recalled.extend(less_urgent.copied());
                if recalled.len() > n_before {
                    // A job that is almost done is not worth the disturbance of all.
                    let rate = member.rate.get() * f64::from(member.n_threads);
                    work_left -= rate * self.power.shortest_seconds();
                }
            }
        }
        recalled.into_iter().for_each(|lease| self.recall(lease));
    }

    /// The estimated work of a job that is neither recorded nor leased, in nodes.
    fn work_nobody_holds(&self, job: JobId) -> f64 {
        let Some(counting) = self.jobs.get(&job).and_then(|job| job.counting.as_ref()) else { return 0.0 };
        let left = counting.progress.work - counting.progress.work_recorded;
        let held: u128 = self.leases.values().filter(|lease| lease.job == job).map(|lease| lease.work).sum();
        left.saturating_sub(held) as f64
    }

    /// Takes all leases back from workers of which one is overdue, when its job has nothing else left for others. They
    /// get no other until they have reported something: one whose threads hang must not hold up a job.
    pub(super) fn take_back_overdue(&mut self) {
        let is_overdue = |lease: &&LiveLease| {
            let nothing_else = self.jobs.get(&lease.job).and_then(|job| job.counting.as_ref());
            nothing_else.is_some_and(|counting| counting.free.is_empty())
                && self.workers.get(&lease.worker).is_some_and(|member| self.is_overdue(member, lease))
        };
        let overdue = self.leases.values().filter(is_overdue).map(|lease| lease.worker);
        for worker in overdue.collect::<BTreeSet<_>>() {
            let mut others = self.workers.iter().filter(|&(&other, _)| other != worker);
            if !others.any(|(_, member)| self.is_of_use(member)) {
                continue;
            }
            self.note_loss(worker, true);
            let Some(member) = self.workers.get_mut(&worker) else { continue };
            member.stuck = true;
            for id in member.leases.clone() {
                if let Some(lease) = self.end_lease(id) {
                    let shorten = ToWorker::Shorten { lease: id, spans: lease.spans.into() };
                    self.changes.messages.push((worker, shorten));
                }
            }
        }
    }

    /// When no work is free, cuts off the later half of what the slowest leases have left and gives it to threads
    /// that have nothing to do.
    pub(super) fn share_tails(&mut self) {
        if self.leases.is_empty() || self.first_job_with_free_work().is_some() {
            return;
        }
        let idle_threads = |worker: &WorkerId| {
            let member = &self.workers[worker];
            let idle = (member.n_threads as usize).saturating_sub(member.leases.len());
            std::iter::repeat_n(*worker, idle)
        };
        // The fastest first: a tail should not go back to the worker that was too slow for it.
        let is_of_use =
            |worker: &WorkerId| self.workers.get(worker).is_some_and(|member| self.is_of_use(member));
        let mut hungry: Vec<WorkerId> = self.hungry.iter().copied().filter(is_of_use).collect();
        hungry.sort_by(|a, b| self.workers[b].rate.get().total_cmp(&self.workers[a].rate.get()));
        let idle: Vec<WorkerId> = hungry.iter().flat_map(idle_threads).take(MOST_TAILS).collect();
        if idle.is_empty() {
            return;
        }
        // What is on its way back needs no cutting, and what has failed is for few.
        let can_be_cut = |lease: &&LiveLease| !lease.recalled && lease.tried.is_empty();
        let held = self.leases.values().filter(can_be_cut);
        let mut held: Vec<(Duration, LeaseId)> =
            held.map(|lease| (self.time_left(lease), lease.id)).collect();
        held.sort_unstable_by_key(|&held| Reverse(held));
        let worth_it = Duration::from_secs_f64(2.0 * self.power.shortest_seconds());
        let mut slowest = held.into_iter().take_while(|&(left, _)| left >= worth_it);
        for worker in idle {
            let Some((job, tail)) = slowest.find_map(|(_, lease)| self.cut_tail(lease)) else { return };
            self.grant(worker, job, tail, BTreeSet::new());
        }
    }

    /// The work a lease should have left by now, at its worker's speed.
    fn work_left(&self, lease: &LiveLease) -> f64 {
        let Some(member) = self.workers.get(&lease.worker) else { return 0.0 };
        let done = if is_running(member, lease.id) {
            member.rate.get() * self.now.saturating_sub(lease.heard).as_secs_f64()
        } else {
            0.0
        };
        (lease.work as f64 - done).max(0.0)
    }

    /// The time until a lease should be done. One that waits is done after those that are counted before it.
    fn time_left(&self, lease: &LiveLease) -> Duration {
        let Some(member) = self.workers.get(&lease.worker) else { return Duration::ZERO };
        let mut work = self.work_left(lease);
        if !is_running(member, lease.id) {
            let running = member.leases.iter().take(member.n_threads as usize);
            let before: f64 =
                running.filter_map(|id| self.leases.get(id)).map(|lease| self.work_left(lease)).sum();
            work += before / f64::from(member.n_threads);
        }
        Duration::try_from_secs_f64(work / member.rate.get()).unwrap_or(Duration::MAX)
    }

    fn is_overdue(&self, member: &Member, lease: &LiveLease) -> bool {
        let silent = self.now.saturating_sub(lease.heard).as_secs_f64();
        let expected = lease.work as f64 / member.rate.get();
        is_running(member, lease.id) && silent > OVERDUE_SECONDS + 4.0 * expected
    }

    /// Takes the later half of what a lease has left off it; all of a lease that still waits.
    fn cut_tail(&mut self, id: LeaseId) -> Option<(JobId, Vec<Span>)> {
        let lease = self.leases.get(&id)?;
        let member = self.workers.get(&lease.worker)?;
        let waits = !is_running(member, id);
        let share = whole_nodes(self.work_left(lease) / 2.0);
        let lease = self.leases.get_mut(&id)?;
        let counting = self.jobs.get(&lease.job)?.counting.as_ref()?;
        let tail = if waits { lease.spans.drain(..).collect() } else { lease.cut(counting, share) };
        if tail.is_empty() {
            return None;
        }
        lease.work = lease.spans.iter().map(|&span| counting.work(span)).sum();
        let (job, worker, emptied) = (lease.job, lease.worker, lease.spans.is_empty());
        let shorten = ToWorker::Shorten { lease: id, spans: tail.clone() };
        self.changes.messages.push((worker, shorten));
        if emptied {
            self.end_lease(id);
        }
        Some((job, tail))
    }
}

/// Whether a worker holds all the leases it may.
fn is_full(member: &Member) -> bool {
    member.leases.len() >= LEASES_PER_THREAD * member.n_threads as usize
}

/// Whether a worker counts this lease now, as it counts them in order.
pub(super) fn is_running(member: &Member, lease: LeaseId) -> bool {
    member.leases.iter().take(member.n_threads as usize).any(|&running| running == lease)
}

/// Takes about this much work from the front of what is free; at least one subproblem.
fn take_work(counting: &mut Counting, work: u128) -> Vec<Span> {
    let mut taken: Vec<Span> = Vec::new();
    let mut left = work;
    while taken.len() < MOST_SPANS
        && let Some(free) = counting.free.first()
    {
        let fits = counting.n_subproblems_of(free.cross(), left).max(u64::from(taken.is_empty()));
        let (Some(part), _) = free.split_at(free.from().saturating_add(fits)) else { break };
        left = left.saturating_sub(counting.work(part));
        taken.extend(counting.free.take(part));
    }
    taken
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, as it should"
)]
fn whole_nodes(nodes: f64) -> u128 {
    nodes.round() as u128
}
