//! Recounts records by other parties: draws them, confirms or disputes them, and decides disputes.
//!
//! Two parties that agree confirm a record, if the one that made the second count was drawn for it. While its counts
//! differ, nothing changes: the coordinator counts the span itself, and a count on which it agrees with a party is
//! right. One transaction then replaces the record that lost, and keeps the lost counts as verdicts. It also marks the
//! parties that lost as suspect, under all their names: who made the record, and who confirmed it. Suspects get no
//! leases, and confirm nothing. Their records in jobs without an exported certificate are recounted by two others.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{JobId, Name, Party, Share, WorkerId};
use queens_solver::{Count, Pass};

use crate::effects::{Comparison, Judgement};
use crate::event::LedgerEvent;
use crate::handlers::notices;
use crate::jobs::counting::Counting;
use crate::jobs::job::Job;
use crate::jobs::record_counts::{agreeing_names, is_confirmed, is_disputed, settled, verdicts, winner};
use crate::jobs::recount::Key;
use crate::jobs::recounts::Recounts;
use crate::leases::recount_sums::WholeCount;
use crate::ledger::Ledger;
use crate::store::draw::{Draw, Drawn, Recorded};
use crate::store::{Block, Phase, Record, SecondCount, Source, Verdict};
use crate::workers::worker_table::Suspicion;

/// Asks the store for the next records to recount, if any are wanted. One job at a time keeps each event short.
pub(crate) fn draw(ledger: &mut Ledger) {
    let Some(job) = ledger.jobs.first_to_draw() else { return };
    let Some(after) = job.recounts().wanted() else { return };
    let terms = job.entry().terms;
    let is_second = ledger.jobs.pass(job) == Pass::Second;
    let is_complete = |id| is_second && ledger.jobs.get(id).is_some_and(Job::is_complete);
    let draw = Draw {
        job: job.id(),
        after,
        seed: terms.seed,
        share: terms.recount,
        suspects: Arc::clone(ledger.workers.suspects()),
        doubted: job.recounts().doubted(),
        first_pass: terms.second_of.filter(|first| is_complete(*first)),
    };
    ledger.effects.draws.push(draw);
}

/// Handles the answer to a draw.
pub(crate) fn drawn(ledger: &mut Ledger, draw: &Draw, mut drawn: Drawn) {
    let id = draw.job;
    if !ledger.jobs.get(id).is_some_and(Job::is_verifying) {
        return;
    }
    let records = std::mem::take(&mut drawn.records);
    let (closed, records): (Vec<_>, Vec<_>) = records.into_iter().partition(|it| is_closed(ledger, id, it));
    if let Some(share) = ledger.jobs.get(id).and_then(|job| job.recounts().withdrawn()) {
        if !drop_arbiter(ledger, id, share, &records) {
            let span = |recorded: &Recorded| recorded.record.span;
            // A record with second counts is drawn again whatever the share.
            let (again, left): (Vec<_>, Vec<_>) = records.iter().partition(|it| !it.again.is_empty());
            let kept = closed.iter().chain(again).map(span);
            ledger.change_job(id, |job| job.leave_undrawn(kept, left.into_iter().map(span)));
            ledger.effects.change_entry(id);
            change(ledger, id, |recounts, _| recounts.searched(draw.after, &drawn));
            end_withdrawal(ledger, id);
        }
        return;
    }
    for recorded in records {
        let key = (recorded.record.span.part(), recorded.record.span.from());
        insert(ledger, id, recorded);
        settle(ledger, id, key);
    }
    change(ledger, id, |recounts, _| recounts.searched(draw.after, &drawn));
}

/// Ends the recounts of a job, except for records in doubt. First, a search finds the largest share of which all
/// drawn records are confirmed. That needs no memory of earlier shares, which a restart would lose.
pub(crate) fn withdraw(ledger: &mut Ledger, id: JobId) {
    let is_verified = |job: &&Job| job.is_complete() && job.recounts().are_done();
    let Some(job) = ledger.jobs.get(id).filter(|job| job.is_open() && !is_verified(job)) else { return };
    let share = job.entry().terms.recount;
    if job.is_complete() {
        ledger.cancel_leases_of_job(id);
        change(ledger, id, |recounts, counting| {
            recounts.forget_undisputed(counting.plan());
            recounts.withdraw(share);
        });
    } else {
        // Nothing is recounted before everything is recorded.
        ledger.change_job(id, |job| {
            job.set_recount(Share::NOTHING);
            job.set_recount_by(None);
        });
    }
    ledger.effects.change_entry(id);
}

/// Drops the arbiter if others have confirmed one of these records without it: they sufficed before it was named. The
/// search begins again then. Returns whether that is so.
fn drop_arbiter(ledger: &mut Ledger, id: JobId, share: Share, records: &[Recorded]) -> bool {
    let Some(job) = ledger.jobs.get(id).filter(|job| job.arbiter().is_some()) else { return false };
    let is_confirmed =
        |it: &Recorded| agreed_with(ledger, job, it, None).is_some_and(|agreed| agreed == it.count());
    if !records.iter().any(is_confirmed) {
        return false;
    }
    ledger.change_job(id, |job| {
        job.set_recount(share);
        job.set_recount_by(None);
    });
    ledger.effects.change_entry(id);
    change(ledger, id, |recounts, _| recounts.withdraw(share));
    true
}

/// Searches for what is in doubt once the share is known. A share that draws no record is nothing.
fn end_withdrawal(ledger: &mut Ledger, id: JobId) {
    let Some(job) = ledger.jobs.get(id).filter(|job| job.recounts().are_known()) else { return };
    if job.recounts().least_drawn() >= job.entry().terms.recount {
        ledger.change_job(id, |job| job.set_recount(Share::NOTHING));
    }
    change(ledger, id, |recounts, _| recounts.search());
}

/// Begins to search a completely recorded job for records to recount, unless that has begun.
pub(crate) fn begin(ledger: &mut Ledger, id: JobId) {
    let Some(job) = ledger.jobs.get(id).filter(|job| job.is_verifying() && !job.recounts().has_begun())
    else {
        return;
    };
    let share = job.entry().terms.recount.ppm();
    let is_needed = share > 0 || job.recounts().has_second_counts() || !job.recounts().doubted().is_empty();
    let is_needed = is_needed || !ledger.workers.suspects().is_empty();
    change(ledger, id, |recounts, _| if is_needed { recounts.search() } else { recounts.end_search() });
}

/// Handles the whole count of a record under a recount lease, even if that has ended.
pub(crate) fn count(ledger: &mut Ledger, job: JobId, whole: WholeCount, source: &Arc<Source>) {
    let WholeCount { span, count, duration } = whole;
    let key = (span.part(), span.from());
    let second = SecondCount { span, count, duration, source: Arc::clone(source), at_ms: ledger.date_ms() };
    ledger.proofs.note_answer(source.party);
    if ledger.jobs.get(job).is_some_and(|job| job.recounts().get(key).is_some()) {
        add(ledger, job, key, second);
    } else {
        // Other counts have settled the record meanwhile.
        ledger.effects.compare(Comparison { job, second });
    }
}

/// Asks for a count by the coordinator of the first span that it has to count, unless one is being made. One at a time:
/// most show that a party is wrong, which is suspect then, so there are few. Disputes come first: what all failed on, the
/// coordinator may not be able to count either.
pub(crate) fn judge(ledger: &mut Ledger) {
    if ledger.is_judging {
        return;
    }
    let first = |is_disputed| {
        ledger.jobs.to_judge().find_map(|job| {
            let (span, counting) = (job.recounts().first_to_judge(is_disputed)?, job.counting()?);
            Some(Judgement { job: job.id(), plan: Arc::clone(counting.plan()), span })
        })
    };
    let first = first(true).or_else(|| first(false));
    if let Some(judgement) = first {
        ledger.is_judging = true;
        ledger.effects.judgement = Some(judgement);
    }
}

/// Handles the coordinator's own count of a disputed span. After `None`, the next tick asks for it again.
pub(crate) fn judged(
    ledger: &mut Ledger,
    judgement: &Judgement,
    counted: Option<(Count, Duration, Arc<Source>)>,
) {
    ledger.is_judging = false;
    let &Judgement { job, span, .. } = judgement;
    let key = (span.part(), span.from());
    let recount = ledger.jobs.get(job).and_then(|job| job.recounts().get(key));
    let is_there = recount.is_some_and(|recount| recount.span() == span);
    let Some((count, duration, source)) = counted.filter(|_| is_there) else { return };
    add(ledger, job, key, SecondCount { span, count, duration, source, at_ms: ledger.date_ms() });
    judge(ledger);
}

/// Handles the answer to a comparison with the record of exactly the same span, which was repeated by accident. A count
/// that agrees confirms nothing, as nobody drew its party: two friends could arrange such accidents.
pub(crate) fn compared(ledger: &mut Ledger, comparison: &Comparison, recorded: Option<Recorded>) {
    let Comparison { job: id, second } = comparison;
    let Some(mut recorded) = recorded else { return };
    let Some(job) = ledger.jobs.get(*id) else { return };
    let is_complete = job.is_complete();
    let agrees = recorded.count() == second.count;
    let party = second.source.party;
    let is_known = |again: &SecondCount| again.span == second.span && again.source.party == party;
    if agrees || recorded.again.iter().any(is_known) {
        return;
    }
    let key = (second.span.part(), second.span.from());
    if job.recounts().get(key).is_some() {
        return add(ledger, *id, key, second.clone());
    }
    let (was_disputed, was_confirmed) = (is_disputed(&recorded), is_confirmed(&recorded));
    dispute(ledger, *id, second, &recorded);
    recorded.again.push(second.clone());
    let is_confirmed = is_confirmed(&recorded);
    ledger.change_job(*id, |job| {
        job.note_verified(was_confirmed, is_confirmed);
        if !was_disputed {
            job.note_disputed();
        }
    });
    change(ledger, *id, |recounts, _| recounts.note_second_count());
    ledger.effects.count_again(*id, second.clone());
    ledger.effects.change_entry(*id);
    // The record may still grow, so its span is looked at later.
    if is_closed(ledger, *id, &recorded) || !is_complete {
        return;
    }
    if agreed(ledger, *id, &recorded).is_none() {
        reopen(ledger, *id);
    }
    insert(ledger, *id, recorded);
    settle(ledger, *id, key);
}

/// Whether enough parties agree on a record, and every contradicting count has its verdict.
fn is_closed(ledger: &Ledger, id: JobId, recorded: &Recorded) -> bool {
    let agreed = agreed(ledger, id, recorded).filter(|agreed| *agreed == recorded.count());
    agreed.is_some_and(|agreed| verdicts(recorded, agreed, 0).is_empty())
}

/// Returns the count of a record on which enough parties agree.
fn agreed(ledger: &Ledger, id: JobId, recorded: &Recorded) -> Option<Count> {
    let job = ledger.jobs.get(id)?;
    agreed_with(ledger, job, recorded, job.arbiter())
}

fn agreed_with(ledger: &Ledger, job: &Job, recorded: &Recorded, arbiter: Option<Party>) -> Option<Count> {
    let n_parties = job.recounts().n_parties(recorded.record.span.part());
    settled(recorded, ledger.workers.suspects(), arbiter, n_parties)
}

/// The number of disputed records of a job that people are told about one by one.
const MOST_TOLD: usize = 10;

/// Tells people that a count contradicts a record.
fn dispute(ledger: &mut Ledger, job: JobId, second: &SecondCount, recorded: &Recorded) {
    if ledger.jobs.get(job).is_some_and(|job| job.recounts().n_cases() >= MOST_TOLD) {
        return;
    }
    let (second, recorded) = (second.clone(), Box::new(recorded.clone()));
    ledger.effects.events.push(LedgerEvent::Disputed { job, second, recorded });
}

/// Adds a count of a record that is being recounted.
fn add(ledger: &mut Ledger, id: JobId, key: Key, second: SecondCount) {
    let is_known = ledger.jobs.get(id).and_then(|job| job.recounts().get(key)).is_some_and(|recount| {
        let mut again = recount.recorded().again.iter();
        again.any(|again| again.span == second.span && again.source.party == second.source.party)
    });
    if is_known {
        return;
    }
    let recorded =
        ledger.jobs.get(id).and_then(|job| job.recounts().get(key)).map(|it| it.recorded().clone());
    if let Some(recorded) = recorded.filter(|recorded| recorded.count() != second.count) {
        dispute(ledger, id, &second, &recorded);
    }
    ledger.effects.count_again(id, second.clone());
    ledger.change_job(id, |job| {
        let Some((recounts, counting)) = job.recounting_mut() else { return };
        recounts.note_second_count();
        let is_now = |recounts: &Recounts| recounts.get(key).is_some_and(|it| is_confirmed(it.recorded()));
        let was_confirmed = is_now(recounts);
        let is_new_dispute = recounts.add(counting.plan(), key, second);
        let is_confirmed = is_now(recounts);
        if is_new_dispute {
            job.note_disputed();
        }
        job.note_verified(was_confirmed, is_confirmed);
    });
    ledger.effects.change_entry(id);
    settle(ledger, id, key);
}

fn insert(ledger: &mut Ledger, id: JobId, recorded: Recorded) {
    let suspects = Arc::clone(ledger.workers.suspects());
    change(ledger, id, |recounts, counting| {
        recounts.set_suspects(&suspects);
        recounts.insert(counting.plan(), recorded);
    });
}

/// Decides about a record if enough parties agree on it.
fn settle(ledger: &mut Ledger, id: JobId, key: Key) {
    let recount = ledger.jobs.get(id).and_then(|job| job.recounts().get(key));
    let agreed = recount.and_then(|recount| agreed(ledger, id, recount.recorded()));
    let Some(agreed) = agreed else { return };
    let removed = change(ledger, id, |recounts, counting| recounts.remove(counting.plan(), key)).flatten();
    let Some(recorded) = removed else { return };
    let at_ms = ledger.date_ms();
    let verdicts = verdicts(&recorded, agreed, at_ms);
    if recorded.count() != agreed {
        replace(ledger, id, &recorded, agreed);
    }
    let agreeing: Vec<Name> = agreeing_names(&recorded, agreed).into_iter().cloned().collect();
    let mut is_new = false;
    for verdict in verdicts {
        let is_blocked = suspect(ledger, id, &verdict, &agreeing);
        is_new |= is_blocked;
        ledger.effects.judge(id, verdict.clone());
        ledger.effects.events.push(LedgerEvent::Decided { job: id, verdict, is_blocked });
    }
    if is_new {
        doubt_all(ledger);
    }
}

/// Replaces a record that has lost by the agreed count. The lost count stays as a second count, because it may turn out
/// to be right.
fn replace(ledger: &mut Ledger, id: JobId, recorded: &Recorded, agreed: Count) {
    let span = recorded.record.span;
    let Some(winner) = winner(recorded, agreed) else { return };
    let SecondCount { count, duration, ref source, .. } = *winner;
    change(ledger, id, |_, counting| counting.replace(span, recorded.count(), count));
    let lost = &recorded.record;
    let record = Record { span, count, duration, lease: lost.lease, source: Arc::clone(source) };
    ledger.effects.record(id, record);
    if !recorded.again.iter().any(|it| it.span == span && it.source.party == lost.source.party) {
        let (count, duration, source) = (lost.count, lost.duration, Arc::clone(&lost.source));
        let again = SecondCount { span, count, duration, source, at_ms: ledger.date_ms() };
        ledger.effects.count_again(id, again);
    }
}

/// Marks the party that lost as suspect, under all its names, so that it gets no leases. Returns whether that is new.
fn suspect(ledger: &mut Ledger, id: JobId, verdict: &Verdict, agreeing: &[Name]) -> bool {
    let Source { name, party, .. } = &*verdict.lost_source;
    let others: Vec<String> = agreeing.iter().map(|name| format!("'{name}'")).collect();
    let Verdict { span, count, lost, .. } = verdict;
    let reason = format!(
        "counted {} solutions and {} nodes in {span} of job {id}; {} agree on {} and {}",
        lost.solutions,
        lost.work,
        others.join(" and "),
        count.solutions,
        count.work
    );
    let suspicion = Suspicion { name: name.clone(), reason: reason.clone() };
    ledger.proofs.forget(*party);
    if !ledger.workers.suspect(ledger.now, *party, suspicion.clone()) {
        return false;
    }
    ledger.effects.block(Block { name: name.clone(), party: Some(*party) }, Some(reason));
    let workers: Vec<WorkerId> = ledger.workers.of_party(*party).into_iter().flatten().copied().collect();
    for worker in workers {
        ledger.forget_failures_of(worker);
        ledger.recall_all(&ledger.leases_of(worker));
        if let Some(notice) = ledger.workers.get(worker).map(|it| notices::suspect(it, &suspicion)) {
            ledger.effects.send(worker, notice);
        }
    }
    true
}

/// Recounts all records of suspects in jobs without an exported certificate, because there are new suspects.
fn doubt_all(ledger: &mut Ledger) {
    let is_exported = |job: &Job| job.entry().terms.exported_ms.is_some();
    note_suspects(ledger);
    let jobs: Vec<JobId> = ledger.jobs.iter().filter(|job| !is_exported(job)).map(Job::id).collect();
    for id in jobs {
        look_again(ledger, id);
    }
}

/// Passes the set of suspects to the recounts of all jobs.
fn note_suspects(ledger: &mut Ledger) {
    let suspects = Arc::clone(ledger.workers.suspects());
    let jobs: Vec<JobId> = ledger.jobs.iter().filter(|job| job.is_verifying()).map(Job::id).collect();
    for id in jobs {
        change(ledger, id, |recounts, _| recounts.set_suspects(&suspects));
    }
}

/// Drops the recounts that only a former suspect required.
pub(crate) fn clear(ledger: &mut Ledger) {
    note_suspects(ledger);
    let jobs: Vec<JobId> = ledger.jobs.iter().filter(|job| job.is_verifying()).map(Job::id).collect();
    // Counts on which only suspects agreed may be settled now.
    jobs.into_iter().for_each(|id| search_anew(ledger, id));
}

/// Searches a job again, because other parties suffice than before.
pub(crate) fn search_anew(ledger: &mut Ledger, id: JobId) {
    let keys = change(ledger, id, |recounts, counting| {
        recounts.forget_undisputed(counting.plan());
        recounts.search();
        recounts.keys()
    });
    keys.into_iter().flatten().for_each(|key| settle(ledger, id, key));
}

/// Lets two parties suffice again for all parts but these, which the passes still differ in.
pub(crate) fn relax(ledger: &mut Ledger, id: JobId, still: &[u32]) {
    if change(ledger, id, |recounts, _| recounts.relax(still)) == Some(true) {
        search_anew(ledger, id);
    }
}

/// Recounts all records of these parts, because other evidence contradicts them, until `n_parties` agree on each. Has
/// no effect on a cancelled job.
pub(crate) fn mismatch(ledger: &mut Ledger, id: JobId, parts: &[u32], n_parties: usize) {
    let mismatch = |recounts: &mut Recounts, _: &mut Counting| {
        parts.iter().filter(|part| recounts.mismatch(**part, n_parties)).count() > 0
    };
    if change(ledger, id, mismatch) == Some(true) {
        look_again(ledger, id);
    }
}

/// Searches a job again for records to recount, even if it is done, because more are wanted than before.
pub(crate) fn look_again(ledger: &mut Ledger, id: JobId) {
    if ledger.jobs.get(id).is_some_and(Job::is_complete) {
        reopen(ledger, id);
        change(ledger, id, |recounts, _| recounts.search());
    }
}

/// Reopens a job that was done, to recount some of it.
fn reopen(ledger: &mut Ledger, id: JobId) {
    if ledger.jobs.get(id).is_some_and(|job| job.phase() == Phase::Done) {
        ledger.change_job(id, Job::reopen);
        ledger.effects.change_entry(id);
        begin(ledger, id);
    }
}

/// Changes a job's recounts and its counting state.
fn change<T>(
    ledger: &mut Ledger,
    id: JobId,
    change: impl FnOnce(&mut Recounts, &mut Counting) -> T,
) -> Option<T> {
    ledger
        .change_job(id, |job| job.recounting_mut().map(|(recounts, counting)| change(recounts, counting)))
        .flatten()
}
