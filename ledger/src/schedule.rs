//! What is handed out: leases sized by time, and the tails of running leases when nothing else is left.
//!
//! A lease is sized so that a worker, at its measured speed, takes the same time as any other would: a fixed share of
//! what the whole job still takes. So leases shrink as the job nears its end, and the last ones end together. Each
//! worker holds one more lease for each thread than it counts, so that no thread waits for an answer.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_messages::{JobId, Lease, LeaseId, LeasedSpan, Priority, ToWorker, WorkerId};
use queens_solver::Span;

use crate::fleet::{Power, later};
use crate::job::Counting;
use crate::lease::LiveLease;
use crate::ledger::Ledger;
use crate::spans::SpanSet;

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

/// Spans in a lease, which keeps its message far below what gRPC accepts.
const MOST_SPANS: usize = 4096;

/// Leases granted at a time, tails handed over in one tick, and leases or workers that one tick looks at in vain: what is
/// left comes with the next tick, so that nothing that happens takes long.
const MOST_GRANTS: usize = 4096;
const MOST_TAILS: usize = 64;
const MOST_LOOKS: usize = 256;

/// How long what can't be taken back yet is left alone.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

fn shortest_seconds(power: Power) -> f64 {
    SHORTEST_SECONDS.max(SHORTEST_SECONDS_PER_THREAD * power.n_threads())
}

impl Ledger {
    /// Hands out leases, one to each worker in turn, as long as there is work and a worker that may hold more.
    pub(crate) fn feed(&mut self) {
        for _ in 0..MOST_GRANTS {
            let Some((worker, job)) = self.next_to_feed() else { return };
            self.fed = Some(worker);
            self.feed_worker(worker, job);
        }
    }

    /// The next worker that may hold more, after the one that was fed last, and the job it gets some of.
    pub(crate) fn next_to_feed(&self) -> Option<(WorkerId, JobId)> {
        let free = self.jobs.first_free();
        let hungry = self.fleet.hungry();
        let after = self.fed.map_or(WorkerId(0), |fed| WorkerId(fed.0.wrapping_add(1)));
        let worker = hungry.range(after..).next().or_else(|| hungry.first()).copied()?;
        let failed = self.jobs.to_retry().take_while(|(rank, _)| free.is_none_or(|free| *rank <= free));
        let mut failed = failed.filter_map(|(_, job)| Some((job.entry.id, &job.counting.as_ref()?.failed)));
        if free.is_some() {
            let to_try = failed.find(|(_, failed)| failed.to_try(worker).is_some()).map(|(id, _)| id);
            return Some((worker, to_try.or(free.map(|(_, id)| id))?));
        }
        // A span has failed on two at most, so that three workers are enough to find one that may try it.
        let mut pairs = failed.flat_map(|(id, failed)| {
            hungry.iter().take(3).filter(|&&worker| failed.to_try(worker).is_some()).map(move |&w| (w, id))
        });
        pairs.next()
    }

    /// Gives one lease to a hungry worker.
    pub(crate) fn feed_worker(&mut self, worker: WorkerId, job: JobId) {
        let Some(member) = self.fleet.member(worker) else { return };
        let power = self.fleet.power();
        let longest = if member.rate.is_guess() { UNMEASURED_SECONDS } else { LONGEST_SECONDS };
        let rate = member.rate.get();
        let taken = self.jobs.change(job, |job| {
            let counting = job.counting.as_mut()?;
            if let Some(failed) = counting.failed.to_try(worker) {
                let tried = counting.failed.begin(failed);
                return Some((vec![failed], tried));
            }
            let work_left = counting.progress.work - counting.progress.work_recorded;
            let rest = power.seconds(work_left).unwrap_or(0.0);
            let shortest = shortest_seconds(power).min(longest);
            let seconds = (rest / SHARE_OF_THE_REST).clamp(shortest, longest);
            Some((take_work(counting, whole_nodes(seconds * rate)), BTreeSet::new()))
        });
        if let Some((spans, tried)) = taken.flatten() {
            self.grant(worker, job, spans, tried);
        }
    }

    /// Makes spans that nobody holds a lease; `tried` have failed on them.
    pub(crate) fn grant(&mut self, worker: WorkerId, id: JobId, spans: Vec<Span>, tried: BTreeSet<WorkerId>) {
        let Some(job) = self.jobs.get(id) else { return };
        let Some(counting) = job.counting.as_ref() else { return };
        let (plan, priority) = (&counting.plan, job.entry.priority);
        let lease = LeaseId(self.next_lease);
        self.next_lease += 1;
        if let Some(next) = self.unclaimed_epoch.take() {
            self.changes.epoch = Some(next);
        }
        let image = |span: Span| plan.crosses()[span.cross() as usize].choice().image;
        let leased = spans.iter().map(|&span| LeasedSpan { span, image: image(span) }).collect();
        let work = spans.iter().map(|&span| counting.work(span)).sum();
        let message = Lease { id: lease, job: id, n: plan.n(), spans: leased };
        self.changes.messages.push((worker, ToWorker::Lease(message)));
        self.hold(LiveLease {
            id: lease,
            job: id,
            worker,
            spans: spans.into_iter().collect(),
            cut: SpanSet::default(),
            work,
            open: None,
            tried,
            recalled: false,
            heard: self.now,
            indivisible: false,
        });
        let waits = self.fleet.member(worker).is_some_and(|member| !member.running.contains(&lease));
        if waits {
            self.recall_less_urgent(worker, priority);
        }
    }

    /// Recalls all leases of a worker whose jobs are less urgent. Returns whether there were any.
    pub(crate) fn recall_less_urgent(&mut self, worker: WorkerId, urgent: Priority) -> bool {
        let Some(member) = self.fleet.member(worker) else { return false };
        let is_less = |job: &&JobId| self.jobs.get(**job).is_some_and(|job| job.entry.priority < urgent);
        let less: Vec<JobId> = member.shares.keys().filter(is_less).copied().collect();
        let leases: Vec<LeaseId> =
            less.into_iter().flat_map(|job| self.fleet.unrecalled(worker, job)).collect();
        leases.iter().for_each(|&lease| self.recall(lease));
        !leases.is_empty()
    }

    /// Recalls leases of a worker that keep more urgent ones of its waiting. Takes longer the more jobs a worker holds
    /// leases of, not the more leases.
    pub(crate) fn recall_what_is_in_the_way(&mut self, worker: WorkerId) {
        let Some(member) = self.fleet.member(worker) else { return };
        let waiting = member.shares.iter().filter_map(|(&job, share)| {
            let priority = self.jobs.get(job)?.entry.priority;
            share.waiting.last().map(|&last| (priority, last))
        });
        let waiting: Vec<(Priority, LeaseId)> = waiting.collect();
        let mut recalled = Vec::new();
        for &job in member.shares.keys() {
            let Some(priority) = self.jobs.get(job).map(|job| job.entry.priority) else { continue };
            let last = waiting.iter().filter(|(urgent, _)| *urgent > priority).map(|(_, last)| last).max();
            let Some(last) = last else { continue };
            let before = self.fleet.unrecalled(worker, job).into_iter().filter(|lease| lease < last);
            recalled.extend(before);
        }
        recalled.into_iter().for_each(|lease| self.recall(lease));
    }

    /// Recalls leases from workers that a more urgent job could use.
    pub(crate) fn preempt(&mut self) {
        if self.jobs.priorities().is_none_or(|(first, last)| first == last) {
            return;
        }
        let Some((urgent, job)) = self.jobs.first_free().map(|(priority, job)| (priority.0, job)) else {
            return;
        };
        let mut work_left = self.work_nobody_holds(job);
        let shortest = shortest_seconds(self.fleet.power());
        let held = self.fleet.held_jobs().filter_map(|job| Some(self.jobs.get(job)?.rank()));
        // The least urgent first.
        let less_urgent: BTreeSet<_> = held.filter(|rank| rank.0.0 < urgent).collect();
        for (_, job) in less_urgent.into_iter().rev() {
            let Some(holding) = self.fleet.holding(job) else { continue };
            for worker in holding.unrecalled.clone() {
                if work_left <= 0.0 {
                    return;
                }
                let useful = self.fleet.member(worker).filter(|member| member.is_of_use());
                let Some(rate) = useful.map(crate::member::Member::whole_rate) else { continue };
                if self.recall_less_urgent(worker, urgent) {
                    // A job that is almost done is not worth the disturbance of all.
                    work_left -= rate * shortest;
                }
            }
        }
    }

    /// The estimated work of a job that is neither recorded nor leased, in nodes.
    pub(crate) fn work_nobody_holds(&self, job: JobId) -> f64 {
        let Some(counting) = self.jobs.get(job).and_then(|job| job.counting.as_ref()) else { return 0.0 };
        let left = counting.progress.work - counting.progress.work_recorded;
        let held = self.fleet.holding(job).map_or(0, |holding| holding.work);
        left.saturating_sub(held) as f64
    }

    /// Takes all leases back from workers of which one is overdue, when its job has nothing else left for others. They
    /// get no other until they have reported something: one whose threads hang must not hold up a job.
    pub(crate) fn take_back_overdue(&mut self) {
        for _ in 0..MOST_LOOKS {
            let Some((deadline, id)) = self.fleet.first_deadline() else { return };
            if deadline > self.now {
                return;
            }
            // Its worker's speed may be another by now.
            self.fleet.refresh_lease(id);
            if self.fleet.deadline(id).is_none_or(|deadline| deadline > self.now) {
                continue;
            }
            let Some(lease) = self.fleet.lease(id) else { return };
            let (worker, job) = (lease.worker, lease.job);
            let counting = self.jobs.get(job).and_then(|job| job.counting.as_ref());
            let is_all_there_is = counting.is_some_and(|counting| counting.free.is_empty());
            let useful = self.fleet.useful();
            let has_others = useful.len() > usize::from(useful.contains(&worker));
            if !is_all_there_is || !has_others {
                self.fleet.postpone_deadline(id, self.now + LOOK_AGAIN);
                continue;
            }
            self.note_loss(worker, true);
            self.fleet.change_member(self.now, worker, |member| member.stuck = true);
            self.take_back_all(worker);
        }
    }

    /// When no work is free, cuts off the later half of what the slowest leases have left and gives it to threads
    /// that have nothing to do: the fastest first, as a tail should not go back to the worker that was too slow for it.
    pub(crate) fn share_tails(&mut self) {
        if self.jobs.first_free().is_some() || self.fleet.first_idle().is_none() {
            return;
        }
        let worth_it = 2.0 * shortest_seconds(self.fleet.power());
        let soon = later(self.now, worth_it);
        self.look_at_late_queues(soon);
        let mut n_shared = 0;
        for _ in 0..MOST_LOOKS {
            let Some(idle) = self.fleet.first_idle().filter(|_| n_shared < MOST_TAILS) else { return };
            let running = self.fleet.last_end().filter(|&(end, _)| end >= soon);
            let waiting = self.fleet.last_queue_end().filter(|&(end, _)| end >= soon);
            let tail = match (running, waiting) {
                (Some((end, lease)), queue) if queue.is_none_or(|(queue_end, _)| queue_end <= end) => {
                    self.cut_running(lease)
                }
                (_, Some((_, worker))) => self.take_waiting(worker, worth_it),
                (_, None) => return,
            };
            if let Some((job, tail)) = tail {
                self.grant(idle, job, tail, BTreeSet::new());
                n_shared += 1;
            }
        }
    }

    /// Workers whose waiting leases should have ended by `soon` are late, if they wait still: they end later.
    pub(crate) fn look_at_late_queues(&mut self, soon: Duration) {
        for _ in 0..MOST_LOOKS {
            let Some((end, worker)) = self.fleet.first_queue_end() else { return };
            if end >= soon {
                return;
            }
            self.fleet.refresh_queue_end(self.now, worker);
            if self.fleet.first_queue_end().is_some_and(|(end, first)| first == worker && end < soon) {
                self.fleet.forget_queue_end(worker);
            }
        }
    }

    /// Takes the later half of what a running lease should have left off it.
    pub(crate) fn cut_running(&mut self, id: LeaseId) -> Option<(JobId, Vec<Span>)> {
        let lease = self.fleet.lease(id)?;
        let job = lease.job;
        let member = self.fleet.member(lease.worker)?;
        let done = member.rate.get() * self.now.saturating_sub(lease.heard).as_secs_f64();
        let share = whole_nodes((lease.work as f64 - done).max(0.0) / 2.0);
        let counting = self.jobs.get(job)?.counting.as_ref()?;
        let tail = self.fleet.change_lease(self.now, id, |lease| {
            let tail = lease.cut_off(counting, share);
            tail.iter().for_each(|&span| lease.cut.insert(span));
            lease.work = lease.spans.iter().map(|span| counting.work(span)).sum();
            lease.indivisible = tail.is_empty();
            tail
        })?;
        self.shorten(id, tail).map(|tail| (job, tail))
    }

    /// Takes the largest of a worker's leases that wait.
    pub(crate) fn take_waiting(&mut self, worker: WorkerId, worth_it: f64) -> Option<(JobId, Vec<Span>)> {
        let member = self.fleet.member(worker)?;
        let &(work, id) = member.tails.last()?;
        let seconds = member.seconds_before_waiting(self.now) + work as f64 / member.rate.get();
        if seconds < worth_it {
            self.fleet.forget_queue_end(worker);
            return None;
        }
        let job = self.fleet.lease(id)?.job;
        let tail = self.fleet.change_lease(self.now, id, |lease| {
            let tail = std::mem::take(&mut lease.spans);
            tail.iter().for_each(|span| lease.cut.insert(span));
            lease.work = 0;
            tail.iter().collect()
        })?;
        self.shorten(id, tail).map(|tail| (job, tail))
    }

    /// Tells a worker what was taken off its lease, if anything was.
    pub(crate) fn shorten(&mut self, id: LeaseId, tail: Vec<Span>) -> Option<Vec<Span>> {
        let lease = self.fleet.lease(id).filter(|_| !tail.is_empty())?;
        let shorten = ToWorker::Shorten { lease: id, spans: tail.clone() };
        self.changes.messages.push((lease.worker, shorten));
        if lease.spans.is_empty() {
            self.end_lease(id);
        }
        Some(tail)
    }
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
