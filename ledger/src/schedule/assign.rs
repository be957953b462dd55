//! Work for workers that may hold more.
//!
//! Each worker holds one more lease for each thread than it counts, so that no thread waits for an answer.

use std::collections::BTreeSet;
use std::hash::Hasher;
use std::sync::Arc;

use queens_model::{JobId, Party, WorkerId};
use queens_solver::{Method, Pass, Span};
use siphasher::sip::SipHasher24;

use crate::jobs::job::{Job, Rank};
use crate::jobs::recounts::Recount;
use crate::leases::live_lease::Purpose;
use crate::schedule::lease_size::work_for;
use crate::schedule::recall::recall_less_urgent;
use crate::state::State;
use crate::store::draw::Recorded;
use crate::workers::worker::Worker;

/// Spans in a lease, which keeps its message far below what gRPC accepts.
const MOST_SPANS: usize = 4096;

/// Leases granted at a time: what is left comes with the next tick, so that nothing that happens takes long.
const MOST_GRANTS: usize = 4096;

/// Jobs that are looked at for records that somebody here may count again.
const MOST_JOBS: usize = 256;

/// Groups of workers that are looked at for one that may try what others have failed on.
const MOST_GROUPS: usize = 64;

/// Parties that are looked at for one that counts a record again.
const MOST_PARTIES: usize = 64;

/// Workers of a party that are looked at for one on the same machine.
const MOST_NEAR: usize = 8;

/// Hands out leases, one to each worker in turn, as long as there is work and a worker that may hold more. What is to
/// be counted again is the least urgent of its job, and comes before jobs that are less urgent.
pub(crate) fn assign(state: &mut State) {
    for _ in 0..MOST_GRANTS {
        let first = next_to_feed(state);
        let rank = |job: JobId| state.jobs().get(job).map(Job::rank);
        let again =
            next_to_recount(state).filter(|(_, again)| first.is_none_or(|(_, job)| rank(job) > Some(*again)));
        match (again, first) {
            (Some((worker, Rank { job, .. })), _) => {
                state.take_turn(worker);
                recount(state, worker, job);
            }
            (None, Some((worker, job))) => {
                state.take_turn(worker);
                feed_worker(state, worker, job);
            }
            (None, None) => return,
        }
    }
}

/// A hungry worker and the first job with records that it may count again.
fn next_to_recount(state: &State) -> Option<(WorkerId, Rank)> {
    state.jobs().to_recount().take(MOST_JOBS).find_map(|(rank, job)| {
        let recounters =
            Some(state.workers().readiness(job.method()).recounters()).filter(|it| !it.is_empty())?;
        let worker = job.recounts().excluded_names().find_map(|(excluded_names, first)| {
            let arbiter = job.arbiter().filter(|arbiter| !excluded_names.contains(arbiter));
            let workers = match arbiter {
                Some(arbiter) => recounters.get(&arbiter),
                None => {
                    let (seed, first) = (job.entry().terms.seed, first?);
                    let others = recounters.iter().filter(|(party, _)| !excluded_names.contains(*party));
                    // Whoever is free is asked with the same chance, and nobody knows who: by the order of the parties,
                    // one would count most of it again. After each lease that comes to nothing others may be.
                    let asked =
                        others.take(MOST_PARTIES).min_by_key(|(party, _)| chance(seed, first, **party));
                    asked.map(|(_, workers)| workers)
                }
            };
            workers.and_then(|workers| workers.first().copied())
        });
        worker.map(|worker| (worker, rank))
    })
}

/// What decides which of several parties counts a record again: the least is asked.
fn chance(seed: u128, recount: &Recount, party: Party) -> u64 {
    let (mut hasher, span) = (SipHasher24::new_with_key(&seed.to_le_bytes()), recount.span());
    hasher.write(&recount.n_returned.to_le_bytes());
    hasher.write(&span.cross().to_le_bytes());
    hasher.write(&span.from().to_le_bytes());
    hasher.write(&party.to_bytes());
    hasher.finish()
}

/// Gives a hungry worker records of a job to count again: if it can be, such as were counted on another machine and by
/// another kernel.
fn recount(state: &mut State, id: WorkerId, job: JobId) {
    let Some(method) = state.method(job) else { return };
    let Some(worker) = state.workers().get(id) else { return };
    let Some(speed) = worker.estimated(method) else { return };
    let machine = worker.machine();
    let (party, kernel) = (worker.party(), worker.source().kernel.clone());
    let power = state.workers().readiness(method).power();
    let Some((others, arbiter)) =
        state.jobs().get(job).map(|job| (job.recounts().others(party, job.arbiter()), job.arbiter()))
    else {
        return;
    };
    let is_near = |party: &Party| {
        let members = state.workers().of_party(*party).into_iter().flatten();
        members.take(MOST_NEAR).any(|&id| state.workers().get(id).map(Worker::machine) == Some(machine))
    };
    let near: BTreeSet<Party> = others.into_iter().filter(is_near).collect();
    let taken = state.change_job(job, |job| {
        let (recounts, counting) = job.recounting_mut()?;
        let work = work_for(speed, power, recounts.work());
        let dislike = |excluded_names: &BTreeSet<Party>, recorded: &Recorded| {
            2 * u8::from(!excluded_names.is_disjoint(&near))
                + u8::from(recorded.record.source.kernel == kernel)
        };
        Some(recounts.take(counting.plan(), (party, arbiter), work, MOST_SPANS, dislike))
    });
    if let Some(spans) = taken.flatten().filter(|spans| !spans.is_empty()) {
        grant(state, id, job, spans, Purpose::Again);
    }
}

/// The next worker that may hold more, after the one that was fed last, and the job it gets some of.
///
/// It gets the first job in order that it can count: one that nobody here can count keeps nobody waiting.
fn next_to_feed(state: &State) -> Option<(WorkerId, JobId)> {
    let first_free = |method: &Method| state.jobs().first_free(*method);
    let methods: Vec<Method> =
        Method::ALL.into_iter().filter(|method| first_free(method).is_some()).collect();
    let failed = || {
        let jobs = state.jobs().to_retry().take(MOST_JOBS);
        jobs.filter_map(|(rank, job)| Some((rank, job.method(), job.counting()?.failed())))
    };
    if let Some(worker) = state.workers().next_hungry(&methods) {
        let can_count = |method: Method| state.workers().get(worker).is_some_and(|it| it.can_count(method));
        let party = state.workers().get(worker)?.party();
        let free = methods.iter().filter(|method| can_count(**method)).filter_map(first_free).min()?;
        let mut failed = failed().take_while(|(rank, ..)| *rank <= free);
        let to_try =
            failed.find(|(_, method, failed)| can_count(*method) && failed.to_try(worker, party).is_some());
        return Some((worker, to_try.map_or(free.job, |(rank, ..)| rank.job)));
    }
    // What a party may still try has failed on two of its workers at most: of three workers one may try it.
    failed().find_map(|(rank, method, failed)| {
        let mut groups = state.workers().readiness(method).recounters().values().take(MOST_GROUPS);
        let worker = groups.find_map(|has_capacity| {
            let mut few = has_capacity.iter().copied().take(3);
            few.find(|&id| {
                let party = state.workers().get(id).map(Worker::party);
                party.is_some_and(|party| failed.to_try(id, party).is_some())
            })
        });
        worker.map(|worker| (worker, rank.job))
    })
}

/// Gives one lease to a hungry worker.
fn feed_worker(state: &mut State, worker: WorkerId, job: JobId) {
    let Some(method) = state.method(job) else { return };
    let Some(speed) = state.workers().get(worker).and_then(|worker| worker.estimated(method)) else { return };
    let power = state.workers().readiness(method).power();
    let Some(party) = state.workers().get(worker).map(Worker::party) else { return };
    let avoided = counted_in_first_pass(state, worker, job);
    let taken = state.change_job(job, |job| {
        let counting = job.counting_mut()?;
        if let Some((failed, tried)) = counting.take_failed(worker, party) {
            return Some((vec![failed], tried.into_keys().collect()));
        }
        let work = work_for(speed, power, counting.work_left());
        Some((counting.take_work(work, MOST_SPANS, avoided.as_deref()), BTreeSet::new()))
    });
    if let Some((spans, tried)) = taken.flatten() {
        grant(state, worker, job, spans, Purpose::First { tried });
    }
}

/// Of a second pass on other images, the crosses that workers of this one's party have counted in the first, as far as that
/// is known: it should rather get others.
fn counted_in_first_pass(state: &State, worker: WorkerId, id: JobId) -> Option<Arc<BTreeSet<u32>>> {
    let job = state.jobs().get(id).filter(|job| state.jobs().pass(job) == Pass::Second)?;
    let (first, party) = (state.counting(job.first_pass())?, state.workers().get(worker)?.party());
    first.counted_by(party).cloned()
}

/// Makes a lease of spans that nobody holds. If the lease has to wait, what is less urgent is recalled.
pub(crate) fn grant(state: &mut State, worker: WorkerId, job: JobId, spans: Vec<Span>, purpose: Purpose) {
    let Some(priority) = state.jobs().get(job).map(|job| job.priority()) else { return };
    let Some(lease) = state.grant(worker, job, spans, purpose) else { return };
    let waits = state.workers().get(worker).is_some_and(|worker| !worker.held_leases().is_running(lease));
    if waits {
        recall_less_urgent(state, worker, priority);
    }
}
