//! Recalls leases in favour of more urgent jobs.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use queens_model::{JobId, LeaseId, Party, Priority, WorkerId};
use queens_solver::Method;

use crate::jobs::counting::Counting;
use crate::jobs::job::Rank;
use crate::ledger::Ledger;
use crate::schedule::lease_size::shortest_seconds;

/// Recalls all leases of a worker whose jobs are less urgent. Returns whether there were any.
pub(crate) fn recall_less_urgent(ledger: &mut Ledger, worker: WorkerId, urgent: Priority) -> bool {
    let Some(held_leases) = ledger.workers.get(worker).map(|worker| &worker.held) else { return false };
    let is_less = |job: JobId| ledger.jobs.get(job).is_some_and(|job| job.priority() < urgent);
    let less = held_leases.shares().filter(|&(job, _)| is_less(job));
    let leases: Vec<LeaseId> = less.flat_map(|(_, share)| share.unrecalled.iter().copied()).collect();
    ledger.recall_all(&leases);
    !leases.is_empty()
}

/// Recalls leases of a worker that keep its more urgent ones waiting. Its cost grows with the number of jobs that the
/// worker holds leases of, not with the number of leases.
pub(crate) fn recall_what_is_in_the_way(ledger: &mut Ledger, worker: WorkerId) {
    let Some(held_leases) = ledger.workers.get(worker).map(|worker| &worker.held) else { return };
    let priority_of = |job: JobId| ledger.jobs.get(job).map(|job| job.priority());
    let waiting = held_leases.shares().filter_map(|(job, share)| {
        let priority = priority_of(job)?;
        share.waiting.last().map(|&last| (priority, last))
    });
    let waiting: Vec<(Priority, LeaseId)> = waiting.collect();
    let mut recalled = Vec::new();
    for (job, share) in held_leases.shares() {
        let Some(priority) = priority_of(job) else { continue };
        let last = waiting.iter().filter(|(urgent, _)| *urgent > priority).map(|(_, last)| last).max();
        let Some(last) = last else { continue };
        recalled.extend(share.unrecalled.iter().copied().filter(|lease| lease < last));
    }
    ledger.recall_all(&recalled);
}

/// Recalls leases from workers that a more urgent job could use.
pub(crate) fn preempt(ledger: &mut Ledger) {
    if ledger.jobs.priorities().is_none_or(|(first, last)| first == last) {
        return;
    }
    let mut urgent: Vec<(Rank, Method)> = Vec::new();
    for method in Method::ALL {
        // The first one may wait for few parties.
        let first = [ledger.jobs.first_free(method), ledger.jobs.first_open_free(method)];
        urgent.extend(first.into_iter().flatten().map(|rank| (rank, method)));
    }
    urgent.sort_unstable();
    urgent.dedup();
    for (rank, method) in urgent {
        preempt_for(ledger, rank, method);
    }
}

/// Recalls leases from workers that this job, the first of its method, could use.
fn preempt_for(ledger: &mut Ledger, first: Rank, method: Method) {
    let Reverse(urgent) = first.priority;
    let mut work_left = work_nobody_holds(ledger, first.job);
    let shortest = shortest_seconds(ledger.workers.readiness(method).power);
    let held = ledger.workers.held_jobs().filter_map(|job| Some(ledger.jobs.get(job)?.rank()));
    // The least urgent first.
    let less_urgent: BTreeSet<_> = held.filter(|rank| rank.priority.0 < urgent).collect();
    for Rank { job, .. } in less_urgent.into_iter().rev() {
        let Some(holding) = ledger.workers.holding(job) else { continue };
        for worker in holding.unrecalled.clone() {
            if work_left <= 0.0 {
                return;
            }
            let useful = ledger.workers.get(worker).filter(|worker| worker.is_of_use());
            let useful = useful.filter(|worker| waits_for(ledger, first.job, worker.party()));
            let Some(speed) = useful.and_then(|worker| worker.whole_speed(method)) else { continue };
            if recall_less_urgent(ledger, worker, urgent) {
                // A job that is almost done is not worth disturbing all workers.
                work_left -= speed * shortest;
            }
        }
    }
}

/// Whether a party may get free parts of a job: those that were drawn for it, or any.
fn waits_for(ledger: &Ledger, job: JobId, party: Party) -> bool {
    let draws = ledger.counting(job).and_then(Counting::draws);
    draws.is_none_or(|draws| draws.queues().work(party) > 0)
}

/// Returns the estimated work of a job that is neither recorded nor leased, in work units.
fn work_nobody_holds(ledger: &Ledger, job: JobId) -> f64 {
    let Some(counting) = ledger.counting(job) else { return 0.0 };
    let held = ledger.workers.holding(job).map_or(0, |holding| holding.work);
    counting.work_left().saturating_sub(held) as f64
}
