//! Assigns leases to workers that have capacity.
//!
//! Each worker holds one more lease per thread than it counts, so that no thread waits for an answer.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{JobId, Party, WorkerId};
use queens_solver::{Kernel, Method, Span};

use crate::jobs::counting::Counting;
use crate::jobs::job::{Job, Rank};
use crate::leases::lease_table::overdue;
use crate::leases::live_lease::Purpose;
use crate::ledger::Ledger;
use crate::schedule::lease_size::work_for;
use crate::schedule::recall::recall_less_urgent;
use crate::store::draw::Recorded;
use crate::work::work_of;
use crate::workers::worker::Worker;

/// The most spans in a lease, which keeps its message far below the limit of gRPC.
const MOST_SPANS: usize = 4096;

/// The most leases granted at a time. The next tick grants the rest, so that no event takes long.
const MOST_GRANTS: usize = 4096;

/// This many of the most urgent jobs, and as many others in turn, are searched for what a connected worker may count.
const JOBS_AT_A_TIME: usize = 128;

/// The most groups of workers that are searched for one that may try a failed span.
const MOST_GROUPS: usize = 64;

/// The most parties that are asked at a time whether they have capacity for records of a job. Then it is others' turn.
const MOST_PARTIES: usize = 256;

/// The most workers of a party that are checked for running on the same machine.
const MOST_NEAR: usize = 8;

/// Assigns leases, one to each worker in turn, while there is work and a worker with capacity. A job's recounts come
/// after its other work, and before less urgent jobs.
pub(crate) fn assign(ledger: &mut Ledger) {
    for _ in 0..MOST_GRANTS {
        let first = next_to_assign(ledger);
        let drawn = next_to_serve(ledger);
        let rank = |job: JobId| ledger.jobs.get(job).map(Job::rank);
        let drawn = drawn.filter(|(_, drawn)| first.is_none_or(|(_, job)| rank(job) > Some(*drawn)));
        match (drawn, first) {
            (Some((worker, Rank { job, .. })), _) => {
                ledger.workers.assign(worker);
                if !assign_drawn(ledger, worker, job) {
                    recount(ledger, worker, job);
                }
            }
            (None, Some((worker, job))) => {
                ledger.workers.assign(worker);
                assign_to(ledger, worker, job);
            }
            (None, None) => return,
        }
    }
}

/// Returns a worker with capacity and the first job with parts or records that were drawn for its party.
fn next_to_serve(ledger: &mut Ledger) -> Option<(WorkerId, Rank)> {
    let mut in_vain = Vec::new();
    let found = ledger.jobs.to_serve(JOBS_AT_A_TIME).find_map(|(rank, job)| {
        let recounters = ledger.workers.readiness(job.method()).recounters();
        if recounters.is_empty() {
            return None;
        }
        let draws = job.counting().and_then(Counting::draws);
        let of_parts = draws.into_iter().flat_map(|draws| draws.queues().parties()).take(MOST_PARTIES);
        let of_records = job.recounts().queues().parties().take(MOST_PARTIES);
        let mut last = None;
        let mut asked = of_parts.chain(of_records).inspect(|party| last = Some(*party));
        let next = |party| ledger.workers.next_of(party, recounters.get(&party)?);
        let worker = asked.find_map(next);
        in_vain.extend(last.filter(|_| worker.is_none()).map(|last| (rank.job, last)));
        worker.map(|worker| (worker, rank))
    });
    for (job, last) in in_vain {
        ledger.change_job(job, |job| {
            let (recounts, counting) = job.recounting_mut()?;
            recounts.queues_mut().note_asked(last);
            counting.draws_mut()?.queues_mut().note_asked(last);
            Some(())
        });
    }
    found
}

/// Gives a worker a lease of parts that were drawn for its party. Returns whether there were any.
fn assign_drawn(ledger: &mut Ledger, id: WorkerId, job: JobId) -> bool {
    let Some(method) = ledger.method(job) else { return false };
    let Some(worker) = ledger.workers.get(id) else { return false };
    let Some(speed) = worker.estimated(method) else { return false };
    let (party, power) = (worker.party(), ledger.workers.readiness(method).power);
    let taken = ledger.change_job(job, |job| {
        let counting = job.counting_mut()?;
        let work = work_for(speed, power, counting.work_left());
        let spans = counting.take_drawn(party, work, MOST_SPANS);
        let work: u128 = spans.iter().map(|span| work_of(counting.plan(), *span)).sum();
        (!spans.is_empty()).then_some((spans, work))
    });
    let Some((spans, work)) = taken.flatten() else { return false };
    let due = Some(due(ledger, id, method, work));
    grant(ledger, id, job, spans, Purpose::First { tried: BTreeSet::new(), due });
    true
}

/// Returns when a worker that begins this work after its other leases is late with it, at its own speed.
fn due(ledger: &Ledger, id: WorkerId, method: Method, work: u128) -> Duration {
    let Some(worker) = ledger.workers.get(id) else { return ledger.now };
    let seconds = worker
        .estimated(method)
        .and_then(|speed| ledger.workers.readiness(method).seconds_of_due([(speed, 1)], work as f64));
    overdue(ledger.now, ledger.workers.seconds_in_hand(worker) + seconds.unwrap_or_default())
}

/// Returns whether kernels with these names count by the same code. Names of cards and of later programs are the same
/// code if they are equal.
fn is_same_code(method: Method, one: &str, other: &str) -> bool {
    let kernel = |name| Kernel::ALL.into_iter().find(|kernel| kernel.name() == name);
    one == other || kernel(one).zip(kernel(other)).is_some_and(|(one, other)| method.is_same_code(one, other))
}

/// Leases records of a job to a worker with capacity for a recount. It prefers records of another machine and kernel.
fn recount(ledger: &mut Ledger, id: WorkerId, job: JobId) {
    let Some(method) = ledger.method(job) else { return };
    let Some(worker) = ledger.workers.get(id) else { return };
    let Some(speed) = worker.estimated(method) else { return };
    let machine = worker.machine;
    let (party, kernel) = (worker.party(), worker.source().kernel.clone());
    let power = ledger.workers.readiness(method).power;
    let others = ledger.jobs.get(job).map(|job| job.recounts().others(party)).unwrap_or_default();
    let is_near = |party: &Party| {
        let members = ledger.workers.of_party(*party).into_iter().flatten();
        members
            .take(MOST_NEAR)
            .any(|&id| ledger.workers.get(id).map(|worker| worker.machine) == Some(machine))
    };
    let near: BTreeSet<Party> = others.into_iter().filter(is_near).collect();
    let taken = ledger.change_job(job, |job| {
        let (recounts, counting) = job.recounting_mut()?;
        let work = work_for(speed, power, recounts.work());
        let dislike = |recorded: &Recorded| {
            2 * u8::from(near.contains(&recorded.party()))
                + u8::from(is_same_code(method, recorded.record.source.kernel.as_str(), kernel.as_str()))
        };
        let spans = recounts.take(counting.plan(), party, work, MOST_SPANS, dislike);
        let work: u128 = spans.iter().map(|span| work_of(counting.plan(), *span)).sum();
        (!spans.is_empty()).then_some((spans, work))
    });
    if let Some((spans, work)) = taken.flatten() {
        let due = due(ledger, id, method, work);
        grant(ledger, id, job, spans, Purpose::Again { due });
    }
}

/// Returns the next worker with capacity, after the one that was served last, and the job it gets a lease of.
///
/// It gets the first job that it can count, so that a job that nobody here can count blocks no other.
fn next_to_assign(ledger: &Ledger) -> Option<(WorkerId, JobId)> {
    let first_free = |method: &Method| ledger.jobs.first_open_free(*method);
    let methods: Vec<Method> =
        Method::ALL.into_iter().filter(|method| first_free(method).is_some()).collect();
    let failed = || {
        let jobs = ledger.jobs.to_retry(JOBS_AT_A_TIME);
        jobs.filter_map(|(rank, job)| Some((rank, job.method(), &job.counting()?.failed)))
    };
    if let Some(worker) = ledger.workers.next_with_capacity(&methods) {
        let can_count = |method: Method| ledger.workers.get(worker).is_some_and(|it| it.can_count(method));
        let party = ledger.workers.get(worker)?.party();
        let free = methods.iter().filter(|method| can_count(**method)).filter_map(first_free).min()?;
        let mut failed = failed().take_while(|(rank, ..)| *rank <= free);
        let to_try =
            failed.find(|(_, method, failed)| can_count(*method) && failed.to_try(worker, party).is_some());
        return Some((worker, to_try.map_or(free.job, |(rank, ..)| rank.job)));
    }
    // At most two workers of a party have failed on a span that it may still try. So one of three may try.
    failed().find_map(|(rank, method, failed)| {
        let mut groups = ledger.workers.readiness(method).recounters().values().take(MOST_GROUPS);
        let worker = groups.find_map(|has_capacity| {
            let mut few = has_capacity.iter().copied().take(3);
            few.find(|&id| {
                let party = ledger.workers.get(id).map(Worker::party);
                party.is_some_and(|party| failed.to_try(id, party).is_some())
            })
        });
        worker.map(|worker| (worker, rank.job))
    })
}

/// Gives one lease to a worker with capacity.
fn assign_to(ledger: &mut Ledger, worker: WorkerId, job: JobId) {
    let Some(method) = ledger.method(job) else { return };
    let Some(speed) = ledger.workers.get(worker).and_then(|worker| worker.estimated(method)) else { return };
    let power = ledger.workers.readiness(method).power;
    let Some(party) = ledger.workers.get(worker).map(Worker::party) else { return };
    let taken = ledger.change_job(job, |job| {
        let counting = job.counting_mut()?;
        if let Some((failed, tried)) = counting.take_failed(worker, party) {
            return Some((vec![failed], tried.into_keys().collect()));
        }
        let work = work_for(speed, power, counting.work_left());
        Some((counting.take_work(work, MOST_SPANS), BTreeSet::new()))
    });
    if let Some((spans, tried)) = taken.flatten() {
        grant(ledger, worker, job, spans, Purpose::First { tried, due: None });
    }
}

/// Grants a lease of spans that nobody holds. If the lease must wait, less urgent ones are recalled.
pub(crate) fn grant(ledger: &mut Ledger, worker: WorkerId, job: JobId, spans: Vec<Span>, purpose: Purpose) {
    let Some(priority) = ledger.jobs.get(job).map(|job| job.priority()) else { return };
    let Some(lease) = ledger.grant(worker, job, spans, purpose) else { return };
    let waits = ledger.workers.get(worker).is_some_and(|worker| !worker.held.is_running(lease));
    if waits {
        recall_less_urgent(ledger, worker, priority);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_halves_v128_and_portable_are_the_same_code() {
        let same = |one, other| Method::ALL.map(|method| is_same_code(method, one, other));
        assert_eq!(Method::ALL, [Method::Search, Method::Halves]);
        assert_eq!(same("v128", "portable"), [false, true]);
        assert_eq!(same("avx2", "portable"), [false, false]);
        assert_eq!(same("avx2", "avx2"), [true, true]);
        assert_eq!(same("cuda", "opencl"), [false, false]);
    }
}
