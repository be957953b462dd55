//! Records are counted again, by other parties: they are drawn, confirmed or disputed, and disputes are decided.
//!
//! A record is confirmed when two parties agree on it. While counts of it differ, nothing is changed: it goes to further
//! parties until two agree. Then all follows in one transaction: the record that lost is replaced, what lost is kept as
//! verdicts, and the parties that lost are suspect, by whatever names they come. They get no leases any more, and what
//! they recorded in jobs that are not exported is to be counted again.

use std::collections::BTreeSet;
use std::sync::Arc;

use queens_model::{Delta, JobId, Name, Party, WorkerId};
use queens_solver::{Count, Pass};

use crate::effects::{Comparison, Finding};
use crate::events::notices;
use crate::jobs::counting::Counting;
use crate::jobs::job::Job;
use crate::jobs::recounts::{
    Key, Recounts, agreeing_names, is_confirmed, is_disputed, settled, verdicts, winner,
};
use crate::leases::recount_sums::WholeCount;
use crate::state::State;
use crate::store::draw::{Draw, Drawn, Recorded};
use crate::store::{Block, Phase, Record, SecondCount, Source, Verdict};
use crate::work::work_of;
use crate::workers::worker_table::Suspicion;

/// Asks for the next records that are to be counted again, if some are wanted: of one job at a time, so that nothing
/// that happens takes long.
pub(crate) fn draw(state: &mut State) {
    let Some(job) = state.jobs().first_to_draw() else { return };
    let Some(after) = job.recounts().wanted() else { return };
    let terms = job.entry().terms;
    let is_second = state.jobs().pass(job) == Pass::Second;
    let is_complete = |id| is_second && state.jobs().get(id).is_some_and(Job::is_complete);
    let draw = Draw {
        job: job.id(),
        after,
        seed: terms.seed,
        share: terms.recount,
        suspects: Arc::clone(state.workers().suspects()),
        doubted: job.recounts().doubted().clone(),
        first_pass: terms.second_of.filter(|first| is_complete(*first)),
    };
    state.changes().draw(draw);
}

/// The answer to a draw.
pub(crate) fn drawn(state: &mut State, draw: &Draw, drawn: Drawn) {
    let id = draw.job;
    if !state.jobs().get(id).is_some_and(Job::is_verifying) {
        return;
    }
    let suspects = Arc::clone(state.workers().suspects());
    let arbiter = state.jobs().get(id).and_then(Job::arbiter);
    let (next, n_seen) = (drawn.next, drawn.n_seen);
    for recorded in drawn.records {
        let key = (recorded.record.span.cross(), recorded.record.span.from());
        if !is_closed(&recorded, &suspects, arbiter) {
            insert(state, id, recorded);
            settle(state, id, key);
        }
    }
    change(state, id, |recounts, _| recounts.searched(draw.after, next, n_seen));
}

/// Begins to look for what is to be counted again of a job of which everything is recorded, if it has not begun.
pub(crate) fn begin(state: &mut State, id: JobId) {
    let Some(job) = state.jobs().get(id).filter(|job| job.is_verifying() && !job.recounts().has_begun())
    else {
        return;
    };
    let share = job.entry().terms.recount.ppm();
    let is_needed = share > 0 || job.recounts().has_second_counts() || !job.recounts().doubted().is_empty();
    let is_needed = is_needed || !state.workers().suspects().is_empty();
    change(state, id, |recounts, _| if is_needed { recounts.search() } else { recounts.end_search() });
}

/// A worker has counted some of a record again under a lease for that. `is_timed` says whether it can have taken as long
/// as it says.
pub(crate) fn count(
    state: &mut State,
    worker: WorkerId,
    job: JobId,
    delta: &Delta,
    source: &Arc<Source>,
    is_timed: bool,
) {
    let work = state.counting(job).map_or(0, |counting| work_of(counting.plan(), delta.span));
    if let Some(method) = state.method(job).filter(|_| is_timed) {
        let (nodes, duration) = (delta.count.nodes, delta.duration);
        state.change_worker(worker, |worker| worker.note_counted(method, work, nodes, duration));
    }
    let whole = state.change_lease(delta.lease, |lease| lease.add_again(delta)).flatten();
    let Some(WholeCount { span, count, duration }) = whole else { return };
    let key = (span.cross(), span.from());
    let second = SecondCount { span, count, duration, source: Arc::clone(source), at_ms: state.date_ms() };
    let is_there = state.jobs().get(job).is_some_and(|job| job.recounts().get(key).is_some());
    if !is_there {
        // Others have settled it meanwhile.
        return state.changes().compare(Comparison { job, second });
    }
    change(state, job, |recounts, _| recounts.put_back(key));
    add(state, job, key, second);
}

/// The answer to a comparison with the record of exactly the same span, which was repeated by accident.
pub(crate) fn compared(state: &mut State, comparison: &Comparison, recorded: Option<Recorded>) {
    let Comparison { job: id, second } = comparison;
    let Some(mut recorded) = recorded else { return };
    let Some(job) = state.jobs().get(*id) else { return };
    let (is_complete, arbiter) = (job.is_complete(), job.arbiter());
    let agrees = recorded.count() == second.count;
    let party = second.source.party;
    let is_known = |again: &SecondCount| again.span == second.span && again.source.party == party;
    if (agrees && recorded.party() == party) || recorded.again.iter().any(is_known) {
        return;
    }
    let key = (second.span.cross(), second.span.from());
    if job.recounts().get(key).is_some() {
        return add(state, *id, key, second.clone());
    }
    let (was_disputed, was_confirmed) = (is_disputed(&recorded), is_confirmed(&recorded));
    if !agrees {
        dispute(state, *id, second, &recorded);
    }
    recorded.again.push(second.clone());
    let is_confirmed = is_confirmed(&recorded);
    state.change_job(*id, |job| {
        job.note_verified(was_confirmed, is_confirmed);
        if !agrees && !was_disputed {
            job.note_disputed();
        }
    });
    change(state, *id, |recounts, _| recounts.note_second_count());
    state.changes().count_again(*id, second.clone());
    state.changes().change_entry(*id);
    // While the record may still grow, its span is looked at later.
    if is_closed(&recorded, state.workers().suspects(), arbiter) || !is_complete {
        return;
    }
    if settled(&recorded, state.workers().suspects(), arbiter).is_none() {
        reopen(state, *id);
    }
    insert(state, *id, recorded);
    settle(state, *id, key);
}

/// Whether two parties agree on a record, and all that contradicts it has been decided about.
fn is_closed(recorded: &Recorded, suspects: &BTreeSet<Party>, arbiter: Option<Party>) -> bool {
    let agreed = settled(recorded, suspects, arbiter).filter(|agreed| *agreed == recorded.count());
    agreed.is_some_and(|agreed| verdicts(recorded, agreed, 0).is_empty())
}

/// Records in dispute of a job of which people are told one by one.
const MOST_TOLD: usize = 10;

/// A count contradicts a record: people are to know.
fn dispute(state: &mut State, job: JobId, second: &SecondCount, recorded: &Recorded) {
    if state.jobs().get(job).is_some_and(|job| job.recounts().n_cases() >= MOST_TOLD) {
        return;
    }
    let (second, recorded) = (second.clone(), Box::new(recorded.clone()));
    state.changes().find(Finding::Disputed { job, second, recorded });
}

/// A further count of a record that is to be counted again.
fn add(state: &mut State, id: JobId, key: Key, second: SecondCount) {
    let is_known = state.jobs().get(id).and_then(|job| job.recounts().get(key)).is_some_and(|recount| {
        let mut again = recount.recorded().again.iter();
        again.any(|again| again.span == second.span && again.source.party == second.source.party)
    });
    if is_known {
        return;
    }
    let recorded =
        state.jobs().get(id).and_then(|job| job.recounts().get(key)).map(|it| it.recorded().clone());
    if let Some(recorded) = recorded.filter(|recorded| recorded.count() != second.count) {
        dispute(state, id, &second, &recorded);
    }
    state.changes().count_again(id, second.clone());
    state.change_job(id, |job| {
        let Some((recounts, _)) = job.recounting_mut() else { return };
        recounts.note_second_count();
        let is_now = |recounts: &Recounts| recounts.get(key).is_some_and(|it| is_confirmed(it.recorded()));
        let was_confirmed = is_now(recounts);
        let is_new_dispute = recounts.add(key, second);
        let is_confirmed = is_now(recounts);
        if is_new_dispute {
            job.note_disputed();
        }
        job.note_verified(was_confirmed, is_confirmed);
    });
    state.changes().change_entry(id);
    settle(state, id, key);
}

fn insert(state: &mut State, id: JobId, recorded: Recorded) {
    change(state, id, |recounts, counting| recounts.insert(counting.plan(), recorded));
}

/// Decides about a record if two parties agree on it.
fn settle(state: &mut State, id: JobId, key: Key) {
    let arbiter = state.jobs().get(id).and_then(Job::arbiter);
    let recount = state.jobs().get(id).and_then(|job| job.recounts().get(key));
    let agreed = recount.and_then(|recount| settled(recount.recorded(), state.workers().suspects(), arbiter));
    let Some(agreed) = agreed else { return };
    let removed = change(state, id, |recounts, counting| recounts.remove(counting.plan(), key)).flatten();
    let Some(recorded) = removed else { return };
    let at_ms = state.date_ms();
    let verdicts = verdicts(&recorded, agreed, at_ms);
    if recorded.count() != agreed {
        replace(state, id, &recorded, agreed);
    }
    let agreeing: Vec<Name> = agreeing_names(&recorded, agreed).into_iter().cloned().collect();
    let mut is_new = false;
    for verdict in verdicts {
        let is_blocked = suspect(state, id, &verdict, &agreeing);
        is_new |= is_blocked;
        state.changes().judge(id, verdict.clone());
        state.changes().find(Finding::Decided { job: id, verdict, is_blocked });
    }
    if is_new {
        doubt_all(state);
    }
}

/// A record has lost: a count that is agreed on takes its place. It stays known as a second count, because it may turn
/// out to have been right.
fn replace(state: &mut State, id: JobId, recorded: &Recorded, agreed: Count) {
    let span = recorded.record.span;
    let Some(winner) = winner(recorded, agreed) else { return };
    let SecondCount { count, duration, ref source, .. } = *winner;
    change(state, id, |_, counting| counting.replace(span, recorded.count(), count));
    let lost = &recorded.record;
    let record = Record { span, count, duration, lease: lost.lease, source: Arc::clone(source) };
    state.changes().record(id, record);
    if !recorded.again.iter().any(|it| it.span == span && it.source.party == lost.source.party) {
        let (count, duration, source) = (lost.count, lost.duration, Arc::clone(&lost.source));
        let again = SecondCount { span, count, duration, source, at_ms: state.date_ms() };
        state.changes().count_again(id, again);
    }
}

/// The party that lost gets no leases any more, by whatever name. Returns whether it was not suspect before.
fn suspect(state: &mut State, id: JobId, verdict: &Verdict, agreeing: &[Name]) -> bool {
    let Source { name, party, .. } = &*verdict.lost_source;
    let others: Vec<String> = agreeing.iter().map(|name| format!("'{name}'")).collect();
    let Verdict { span, count, lost, .. } = verdict;
    let reason = format!(
        "counted {} solutions and {} nodes in {span} of job {id}; {} agree on {} and {}",
        lost.solutions,
        lost.nodes,
        others.join(" and "),
        count.solutions,
        count.nodes
    );
    let suspicion = Suspicion { name: name.clone(), reason: reason.clone() };
    if !state.suspect(*party, suspicion.clone()) {
        return false;
    }
    state.changes().block(Block { name: name.clone(), party: Some(*party) }, Some(reason));
    let workers: Vec<WorkerId> = state.workers().of_party(*party).into_iter().flatten().copied().collect();
    for worker in workers {
        state.forget_failures_of(worker);
        state.recall_all(&state.leases_of(worker));
        if let Some(notice) = state.workers().get(worker).map(|it| notices::suspect(it, &suspicion)) {
            state.changes().send(worker, notice);
        }
    }
    true
}

/// Parties are suspect that were not: all that they recorded in jobs that are not exported is to be counted again.
fn doubt_all(state: &mut State) {
    let is_exported = |job: &Job| job.entry().terms.exported_ms.is_some();
    let jobs: Vec<JobId> = state.jobs().iter().filter(|job| !is_exported(job)).map(Job::id).collect();
    for id in jobs {
        look_again(state, id);
    }
}

/// A party is not suspect any more: what was to be counted again for its sake alone is not.
pub(crate) fn clear(state: &mut State) {
    let jobs: Vec<JobId> = state.jobs().iter().filter(|job| job.is_verifying()).map(Job::id).collect();
    for id in jobs {
        let keys = change(state, id, |recounts, counting| {
            recounts.forget_undisputed(counting.plan());
            recounts.search();
            recounts.keys()
        });
        // What only suspects agreed on may be settled now.
        keys.into_iter().flatten().for_each(|key| settle(state, id, key));
    }
}

/// All records of these crosses are to be counted again: what else is known of them contradicts them. Has no effect on a
/// job that is given up.
pub(crate) fn doubt(state: &mut State, id: JobId, crosses: &[u32]) {
    let doubt = |recounts: &mut Recounts, _: &mut Counting| {
        crosses.iter().filter(|cross| recounts.doubt(**cross)).count() > 0
    };
    if change(state, id, doubt) == Some(true) {
        look_again(state, id);
    }
}

/// More of a job is to be counted again than was before: it is looked through once more, though it be done.
pub(crate) fn look_again(state: &mut State, id: JobId) {
    if state.jobs().get(id).is_some_and(Job::is_complete) {
        reopen(state, id);
        change(state, id, |recounts, _| recounts.search());
    }
}

/// A job that was done is to be counted again in parts.
fn reopen(state: &mut State, id: JobId) {
    if state.jobs().get(id).is_some_and(|job| job.phase() == Phase::Done) {
        state.change_job(id, Job::reopen);
        state.changes().change_entry(id);
        begin(state, id);
    }
}

/// Changes what of a job is to be counted again, and what is recorded of it.
fn change<T>(
    state: &mut State,
    id: JobId,
    change: impl FnOnce(&mut Recounts, &mut Counting) -> T,
) -> Option<T> {
    state
        .change_job(id, |job| job.recounting_mut().map(|(recounts, counting)| change(recounts, counting)))
        .flatten()
}
