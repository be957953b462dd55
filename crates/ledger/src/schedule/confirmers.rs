//! Draws who confirms each record, and replaces those who don't.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{JobId, Party};
use queens_solver::Method;

use crate::jobs::job::Job;
use crate::jobs::recounts::{Key, Recount};
use crate::leases::lease_table::overdue;
use crate::state::State;
use crate::workers::proofs::{Candidate, Lottery, Ticket};
use crate::workers::worker::Worker;

/// The most jobs whose records parties are drawn for at a time. The next tick goes on with them.
const MOST_JOBS: usize = 8;

/// For how long a party that has proved something, and went away, is waited for before a party that has proved nothing
/// confirms anything.
const AWAY: Duration = Duration::from_secs(600);

/// Draws a party for each record that has none, and takes records from parties that are late or have gone.
///
/// Takes O(m log m) for m parties and O(r log m) for r records of each of some jobs.
pub(crate) fn draw_confirmers(state: &mut State) {
    let jobs: Vec<JobId> = state.jobs().to_recount().take(MOST_JOBS).map(|(rank, _)| rank.job).collect();
    jobs.into_iter().for_each(|job| take_from_the_late(state, job));
    let jobs: Vec<JobId> = state.jobs().to_draw_for().take(MOST_JOBS).map(Job::id).collect();
    jobs.into_iter().for_each(|job| draw_for(state, job));
}

/// Takes the queues of parties without a worker that may count, and of those that are late although nothing more urgent
/// was to count.
fn take_from_the_late(state: &mut State, id: JobId) {
    let Some(job) = state.jobs().get(id) else { return };
    let (method, rank, now) = (job.method(), job.rank(), state.now());
    let is_served = state.jobs().first_free(method).is_none_or(|first| first > rank);
    let waiting = job.recounts().waiting_parties();
    let mut late: BTreeSet<Party> = waiting.filter(|party| is_gone(state, *party, method)).collect();
    if is_served {
        let overdue = state.change_job(id, |job| Some(job.recounting_mut()?.0.late(now)));
        late.extend(overdue.flatten().unwrap_or_default());
    }
    for party in late {
        state.change_job(id, |job| {
            let (recounts, counting) = job.recounting_mut()?;
            recounts.lapse_all(counting.plan(), party);
            Some(())
        });
        state.proofs_mut().note_lapse(party);
    }
}

/// Whether a party has no worker that may count by this method, or that may come back in the next seconds.
fn is_gone(state: &State, party: Party, method: Method) -> bool {
    let may_count =
        |worker: &Worker| worker.can_count(method) && (worker.is_of_use() || !worker.is_connected());
    let mut workers = state.workers().of_party(party).into_iter().flatten();
    !state.workers().readiness(method).useful_parties().contains_key(&party)
        && !workers.any(|id| state.workers().get(*id).is_some_and(may_count))
}

/// Draws a party for each record of a job that has none.
fn draw_for(state: &mut State, id: JobId) {
    let Some(job) = state.jobs().get(id) else { return };
    let chosen = chosen(state, job);
    let parties: BTreeSet<Party> = chosen.iter().map(|(_, party)| *party).collect();
    state.change_job(id, |job| {
        let (recounts, counting) = job.recounting_mut()?;
        chosen.into_iter().for_each(|(key, party)| recounts.give(counting.plan(), key, party));
        Some(())
    });
    for party in parties {
        let Some(job) = state.jobs().get(id) else { return };
        let readiness = state.workers().readiness(job.method());
        let speed = readiness.measured_speed(party).map(|speed| speed as f64);
        let speed = speed.unwrap_or_else(|| readiness.power().expected_speed());
        let due = overdue(state.now(), job.recounts().queued_work(party) as f64 / speed.max(1.0));
        state.change_job(id, |job| job.recounting_mut().map(|(recounts, _)| recounts.set_due(party, due)));
    }
}

/// Returns the party that is drawn for each record of a job that has none.
fn chosen(state: &State, job: &Job) -> Vec<(Key, Party)> {
    let (method, seed, arbiter) = (job.method(), job.entry().terms.seed, job.arbiter());
    let there = state.workers().readiness(method).useful_parties();
    let lottery = lottery(state, job);
    let since = state.now().saturating_sub(AWAY);
    let is_suspect = |party: &Party| state.workers().suspects().contains(party);
    let away = state.proofs().away(method, since);
    let away: Vec<Party> = away.filter(|party| !there.contains_key(party) && !is_suspect(party)).collect();
    let choose = |recount: &Recount| {
        let counted = recount.counted_by();
        if let Some(arbiter) = arbiter.filter(|arbiter| !counted.contains(arbiter)) {
            return there.contains_key(&arbiter).then_some(arbiter);
        }
        let ticket = Ticket { seed, key: recount.key(), n_draws: recount.n_draws() };
        let has_counted = |party: Party| counted.contains(&party);
        let is_excluded = |party: Party| has_counted(party) || recount.lapsed().contains(&party);
        let proven = lottery.draw(ticket, is_excluded).or_else(|| lottery.draw(ticket, has_counted));
        if proven.is_some() || away.iter().any(|party| !has_counted(*party)) {
            return proven;
        }
        lottery.draw_unproven(ticket, is_excluded).or_else(|| lottery.draw_unproven(ticket, has_counted))
    };
    job.recounts().undrawn().filter_map(|recount| Some((recount.key(), choose(recount)?))).collect()
}

/// Returns the lottery of a job. A party's weight is what it has proved in this run, or as far as the job's records were
/// read; but no more than its workers of today could have counted while the job was.
fn lottery(state: &State, job: &Job) -> Lottery {
    let method = job.method();
    let readiness = state.workers().readiness(method);
    let seconds = job.active(state.now()).as_secs().max(1);
    let candidate = |party: Party| {
        let recorded = state.proofs().recorded(party, method).max(job.recounts().seen_work(party));
        let most = readiness.measured_speed(party).map(|speed| speed.saturating_mul(seconds.into()));
        Candidate {
            party,
            proven: most.map_or(recorded, |most| recorded.min(most)),
            n_lapses: state.proofs().n_lapses(party),
        }
    };
    let there = readiness.useful_parties().keys();
    Lottery::new(&there.map(|party| candidate(*party)).collect::<Vec<_>>())
}
