//! Draws who confirms each record, and who counts each part of a second pass; and replaces those who don't.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{JobId, Party};
use queens_solver::Method;

use crate::clock::{IDLE_TICK, later};
use crate::jobs::counting::Counting;
use crate::jobs::job::Job;
use crate::jobs::part_draws::PartDraws;
use crate::jobs::queues::{Time, ToCheck};
use crate::jobs::record_counts::is_disputed;
use crate::jobs::recount::{Key, Recount};
use crate::leases::lease_table::overdue;
use crate::ledger::Ledger;
use crate::workers::proofs::{Candidate, Lottery, Ticket};
use crate::workers::worker::Worker;

/// Parties are drawn for this many of the most urgent jobs at a time, and for as many others in turn.
const JOBS_AT_A_TIME: usize = 4;

/// The most parts that parties are drawn for at a time.
const MOST_PARTS: usize = 256;

/// For how long a party that has taken part, and went away, is waited for before a party that has not confirms
/// anything.
const AWAY: Duration = Duration::from_secs(600);

/// An absent party keeps its drawn records and parts for this long. If it lost them at once, each broken connection
/// would cause another draw.
const KEPT: Duration = Duration::from_secs(60);

/// A party that leaves repeatedly keeps them for at most this long.
const MOST_KEPT: Duration = Duration::from_secs(1200);

/// After this many failures on a record, nobody tries it again. The coordinator counts it, or an operator looks.
pub(crate) const MOST_TRIES: usize = 3;

/// Draws a party for each record that has none, and takes records from parties that are late or have gone.
///
/// Takes O(m log m) for m parties and O(r log m) for r records of each of some jobs.
pub(crate) fn draw_confirmers(ledger: &mut Ledger) {
    welcome_back(ledger);
    let to_serve: Vec<JobId> = ledger.jobs.to_serve(JOBS_AT_A_TIME).map(|(rank, _)| rank.job).collect();
    let to_draw_for: Vec<JobId> = ledger.jobs.to_draw_for(JOBS_AT_A_TIME).map(Job::id).collect();
    ledger.jobs.take_turns(JOBS_AT_A_TIME);
    to_serve.into_iter().for_each(|job| take_from_the_late(ledger, job));
    to_draw_for.into_iter().for_each(|job| draw_for(ledger, job));
}

/// For how long a run that continues jobs waits for their parties, before it draws any: they come back at different
/// times, and friends would come first.
const RETURNING: Duration = Duration::from_secs(30);

/// Whether parties that may have counted for a job in an earlier run, or were there, may still come back.
pub(crate) fn awaits_parties(ledger: &Ledger, job: &Job) -> bool {
    job.is_restored() && !ledger.are_back
}

/// Notes when the parties of restored jobs have had the time to come back. Those that are there have taken part, as far
/// as anybody knows: others may have left no records to them.
fn welcome_back(ledger: &mut Ledger) {
    if ledger.are_back || ledger.age() < RETURNING {
        return;
    }
    ledger.are_back = true;
    if ledger.jobs.iter().any(Job::is_restored) {
        for method in Method::ALL {
            let there: Vec<Party> = ledger.workers.readiness(method).candidates().keys().copied().collect();
            there.into_iter().for_each(|party| ledger.proofs.note_part(party, method));
        }
    }
}

/// Takes the queues of parties that had no worker that may count for [`KEPT`], and of those that are late although they
/// had nothing more urgent to do.
fn take_from_the_late(ledger: &mut Ledger, id: JobId) {
    let Some(job) = ledger.jobs.get(id) else { return };
    let (method, rank, now) = (job.method(), job.rank(), ledger.now);
    let is_its_turn = ledger.jobs.first_open_free(method).is_none_or(|first| first >= rank);
    let draws = job.counting().and_then(Counting::draws);
    let of_parts = draws.into_iter().flat_map(|draws| draws.queues().parties());
    let waiting = job.recounts().queues().parties().chain(of_parts);
    let mut late: BTreeSet<Party> = waiting.filter(|party| is_gone(ledger, *party, method)).collect();
    if is_its_turn {
        let round = IDLE_TICK * u32::try_from(ledger.jobs.n_to_serve() / JOBS_AT_A_TIME).unwrap_or(u32::MAX);
        let due = ledger.change_job(id, |job| {
            let (recounts, counting) = job.recounting_mut()?;
            let of_parts = counting.draws_mut().map(PartDraws::queues_mut);
            let mut all = recounts.queues_mut().take_due(now, round);
            all.extend(of_parts.into_iter().flat_map(|queues| queues.take_due(now, round)));
            Some(all)
        });
        for ToCheck { party, total, time } in due.flatten().unwrap_or_default() {
            // Others may have been measured since its time was computed, so that no more is usual.
            if time.is_some_and(|time| time.due >= now) {
                if let Some(due) = due_from_now(ledger, id, party) {
                    limit_time(ledger, id, party, due);
                }
                continue;
            }
            // When it was drawn, its speed may have been unknown, and it may have counted something more urgent since.
            let counted = ledger.proofs.work(party);
            let is_new = time.is_none_or(|time| now.saturating_sub(time.since) < MOST_KEPT);
            let is_there = ledger.workers.readiness(method).candidates().contains_key(&party);
            if let Some(left) = ledger.proofs.left(party, method).filter(|_| is_new && !is_there) {
                // When it comes back, it has as much time again.
                give_time(ledger, id, party, left + 2 * KEPT);
                continue;
            }
            let (since, before) = time.map_or((now, counted), |time| (time.since, time.counted));
            let seconds = |of: Method| {
                let waiting = if of == method { total } else { 0 };
                seconds_for(ledger, party, of, counted.of(of).saturating_sub(*before.of(of)) + waiting)
            };
            let due = overdue(since, Method::ALL.into_iter().filter_map(seconds).sum());
            let due = later(due, seconds_in_hand(ledger, party));
            if due < now {
                late.insert(party);
            } else {
                give_time(ledger, id, party, due);
            }
        }
    }
    for party in late {
        ledger.change_job(id, |job| {
            let (recounts, counting) = job.recounting_mut()?;
            recounts.lapse_all(counting.plan(), party);
            let parts: BTreeSet<u32> = counting.draws()?.queues().queue(party).collect();
            Some(counting.lapse_parts(parts, party, None))
        });
        ledger.proofs.note_lapse(party);
    }
}

/// Whether a party has no worker that may count by this method, nor one that may soon come back.
fn is_gone(ledger: &Ledger, party: Party, method: Method) -> bool {
    if ledger.proofs.left(party, method).is_some_and(|left| ledger.now < left + KEPT) {
        return false;
    }
    let mut workers = ledger.workers.of_party(party).into_iter().flatten();
    !ledger.workers.readiness(method).candidates().contains_key(&party)
        && !workers.any(|id| ledger.workers.get(*id).is_some_and(|worker| worker.may_come_back(method)))
}

/// Draws a party for each record of a job that has none, and for some of its parts.
fn draw_for(ledger: &mut Ledger, id: JobId) {
    let Some(job) = ledger.jobs.get(id).filter(|job| !awaits_parties(ledger, job)) else { return };
    let context = DrawContext::of(ledger, job);
    let ((records, to_judge), parts) = (context.confirmers(), context.counters());
    let parties: BTreeSet<Party> =
        records.iter().map(|(_, party)| *party).chain(parts.iter().map(|(_, party)| *party)).collect();
    ledger.change_job(id, |job| {
        let (recounts, counting) = job.recounting_mut()?;
        records.into_iter().for_each(|(key, party)| recounts.give(counting.plan(), key, party));
        recounts.note_to_judge(to_judge);
        counting.give_parts(&parts);
        Some(())
    });
    for party in parties {
        ledger.proofs.note_drawn(party);
        set_due(ledger, id, party);
    }
}

/// Gives a party time for its queues of a job until then.
fn give_time(ledger: &mut Ledger, id: JobId, party: Party, due: Duration) {
    let time = Time { since: ledger.now, counted: ledger.proofs.work(party), due };
    ledger.change_job(id, |job| {
        let (recounts, counting) = job.recounting_mut()?;
        recounts.queues_mut().give_time(party, time);
        counting.draws_mut()?.queues_mut().give_time(party, time);
        Some(())
    });
}

/// Gives a party no more time for its queues of a job than until then.
fn limit_time(ledger: &mut Ledger, id: JobId, party: Party, due: Duration) {
    ledger.change_job(id, |job| {
        let (recounts, counting) = job.recounting_mut()?;
        recounts.queues_mut().limit_time(party, due);
        counting.draws_mut()?.queues_mut().limit_time(party, due);
        Some(())
    });
}

/// Sets when a party is late with its queues of a job: from now on, as far as not later before.
fn set_due(ledger: &mut Ledger, id: JobId, party: Party) {
    let due = due_from_now(ledger, id, party).unwrap_or_else(|| overdue(ledger.now, 0.0));
    give_time(ledger, id, party, due);
}

/// Returns when a party that begins with its queues of a job now is late; `None` if no worker of it is there.
fn due_from_now(ledger: &Ledger, id: JobId, party: Party) -> Option<Duration> {
    let job = ledger.jobs.get(id)?;
    let draws = job.counting().and_then(Counting::draws);
    let work = job.recounts().queues().work(party) + draws.map_or(0, |draws| draws.queues().work(party));
    let seconds = seconds_for(ledger, party, job.method(), work)?;
    Some(overdue(ledger.now, seconds + seconds_in_hand(ledger, party)))
}

/// Returns how long a party may take for this work; `None` if no worker of it is there that can count it.
fn seconds_for(ledger: &Ledger, party: Party, method: Method, work: u128) -> Option<f64> {
    let threads = |worker: &Worker| Some((worker.estimated(method)?, worker.n_threads()));
    let threads = candidates(ledger, party).filter_map(threads);
    ledger.workers.readiness(method).seconds_of_due(threads, work as f64)
}

/// Returns how long a party may take for its leases, which may be of other jobs.
fn seconds_in_hand(ledger: &Ledger, party: Party) -> f64 {
    candidates(ledger, party).map(|worker| ledger.workers.seconds_in_hand(worker)).fold(0.0, f64::max)
}

/// Returns the workers of a party for whose sake it may be drawn.
fn candidates(ledger: &Ledger, party: Party) -> impl Iterator<Item = &Worker> {
    let workers = ledger.workers.of_party(party).into_iter().flatten();
    workers.filter_map(|id| ledger.workers.get(*id)).filter(|worker| worker.is_candidate())
}

/// What the draws of one job depend on.
struct DrawContext<'a> {
    ledger: &'a Ledger,
    job: &'a Job,
    lottery: Lottery,
    /// Unsuspected parties that have taken part and went away not long ago.
    away: Vec<Party>,
}

impl<'a> DrawContext<'a> {
    fn of(ledger: &'a Ledger, job: &'a Job) -> Self {
        let there = ledger.workers.readiness(job.method()).candidates();
        let is_suspect = |party: &Party| ledger.workers.suspects().contains(party);
        let away = ledger.proofs.away(job.method(), ledger.now.saturating_sub(AWAY));
        let away: Vec<Party> =
            away.filter(|party| !there.contains_key(party) && !is_suspect(party)).collect();
        Self { ledger, job, lottery: lottery(ledger, job, away.len()), away }
    }

    /// Draws a party for each record that has none, or has the coordinator count it.
    fn confirmers(&self) -> (Vec<(Key, Party)>, Vec<Key>) {
        let (mut drawn, mut to_judge) = (Vec::new(), Vec::new());
        for recount in self.job.recounts().undrawn() {
            match self.confirmer(recount) {
                Some(party) => drawn.push((recount.key(), party)),
                None if self.is_for_coordinator(recount) => to_judge.push(recount.key()),
                None => {}
            }
        }
        (drawn, to_judge)
    }

    /// Draws a party for each of the first parts that have none, if a party with capacity has no part. No part is drawn
    /// before all of it is counted in the first pass: who knows that a friend counts it next could lie in it.
    fn counters(&self) -> Vec<(u32, Party)> {
        let Some(draws) = self.job.counting().and_then(Counting::draws) else { return Vec::new() };
        let first_pass =
            self.ledger.jobs.get(self.job.first_pass()).filter(|first_pass| first_pass.is_open());
        let first_pass = first_pass.map(Job::counting);
        if first_pass.is_some_and(|counting| counting.is_none_or(Counting::has_free)) {
            return Vec::new();
        }
        let is_counted = |part: &u32| first_pass.flatten().is_none_or(|counting| counting.has_part(*part));
        // Parties that are busy with less urgent work need parts, too. They would never have capacity otherwise.
        let mut useful = self.ledger.workers.readiness(self.job.method()).useful_parties().keys();
        if useful.all(|party| draws.queues().work(*party) > 0) {
            return Vec::new();
        }
        let undrawn = draws.queues().undrawn().filter(is_counted).take(MOST_PARTS);
        undrawn.filter_map(|part| Some((part, self.counter(part)?))).collect()
    }

    /// Draws the party that confirms a record. If the arbiter is suspect, nobody can, until another is named.
    fn confirmer(&self, recount: &Recount) -> Option<Party> {
        let counted = recount.counted_by();
        let suspects = self.ledger.workers.suspects();
        if self.job.arbiter().is_some_and(|arbiter| suspects.contains(&arbiter)) {
            return None;
        }
        if let Some(arbiter) = self.job.arbiter().filter(|arbiter| !counted.contains(arbiter)) {
            let there = self.ledger.workers.readiness(self.job.method()).candidates();
            return Some(arbiter).filter(|it| there.contains_key(it) && recount.n_failed < MOST_TRIES);
        }
        let ticket = Ticket { seed: self.seed(), key: recount.key(), n_draws: recount.n_draws() };
        let has_counted = |party| counted.contains(&party);
        let is_excluded = |party| has_counted(party) || recount.lapsed().contains(&party);
        let may_try_again = !self.waits(&is_excluded) && recount.n_failed < MOST_TRIES;
        let again = || if may_try_again { self.draw(ticket, &has_counted) } else { None };
        self.draw(ticket, &is_excluded).or_else(again)
    }

    /// Whether the coordinator has to count a record for which no party can be drawn: a disputed one, or one on which
    /// parties failed and all others lapsed, unless a trusted party has to count that.
    fn is_for_coordinator(&self, recount: &Recount) -> bool {
        let counted = recount.counted_by();
        let is_excluded = |party| counted.contains(&party) || recount.lapsed().contains(&party);
        let is_for_arbiter = self.job.arbiter().is_some_and(|arbiter| !counted.contains(&arbiter));
        let have_failed = recount.n_failed >= MOST_TRIES && !is_for_arbiter && !self.waits(&is_excluded);
        (is_disputed(recount.recorded()) || have_failed) && !recount.is_judged()
    }

    /// Draws the party that counts a part of a second pass: rather one that has not lapsed, then not the only one that
    /// counted it in the first pass. If several did, each may be drawn: otherwise a friend could be the only one left.
    /// What a party counts in both passes is recounted. Nobody tries again what he failed on while others may come back.
    fn counter(&self, part: u32) -> Option<Party> {
        let turn = self.job.counting()?.draws()?.turn(part).cloned().unwrap_or_default();
        let before = self.ledger.counting(self.job.first_pass()).and_then(|first| first.counted_by(part));
        let ticket = Ticket { seed: self.seed(), key: (part, u64::MAX), n_draws: turn.n_draws };
        let has_lapsed = |party| turn.lapsed.contains(&party);
        let another = self.draw(ticket, &|party| Some(party) == before || has_lapsed(party));
        let waits = turn.has_failed && self.waits(&has_lapsed);
        let again = || if waits { None } else { self.draw(ticket, &|_| false) };
        another.or_else(|| self.draw(ticket, &has_lapsed)).or_else(again)
    }

    /// Returns the secret seed of the draws. The job's own seed is published when the job is done, and it may be opened
    /// again.
    fn seed(&self) -> u128 {
        self.job.entry().terms.seed ^ self.ledger.draw_secret
    }

    /// Draws a party that is not excluded. One that has not taken part is drawn only if nobody else is there, nor away
    /// for a short time.
    fn draw(&self, ticket: Ticket, is_excluded: &dyn Fn(Party) -> bool) -> Option<Party> {
        let another =
            || if self.waits(is_excluded) { None } else { self.lottery.draw_another(ticket, is_excluded) };
        self.lottery.draw(ticket, is_excluded).or_else(another)
    }

    /// Whether a party that is not excluded may soon be back.
    fn waits(&self, is_excluded: &dyn Fn(Party) -> bool) -> bool {
        self.away.iter().any(|party| !is_excluded(*party))
    }
}

/// Returns the lottery of a job. A party has taken part in this run, or as far as the job's records were read.
fn lottery(ledger: &Ledger, job: &Job, n_away: usize) -> Lottery {
    let method = job.method();
    let readiness = ledger.workers.readiness(method);
    let candidate = |party: Party| Candidate {
        party,
        has_taken_part: ledger.proofs.has_taken_part(party, method) || job.recounts().has_seen(party),
        speed: readiness.measured_speed(party),
        n_lapses: ledger.proofs.n_lapses(party),
    };
    let there = readiness.candidates().keys();
    Lottery::new(&there.map(|party| candidate(*party)).collect::<Vec<_>>(), n_away)
}
