//! Handles restored jobs, their plans and the store's answers; compares two passes; ends jobs.

use std::sync::Arc;
use std::time::Duration;

use queens_model::JobId;
use queens_solver::{Count, Pass, Plan};

use crate::effects::{Comparison, Judgement, WantedPlan};
use crate::handlers::recounts;
use crate::jobs::agreement::PassMismatch;
use crate::jobs::counting::Counting;
use crate::jobs::job::Job;
use crate::jobs::restore::{Contradiction, RestoreError, restored};
use crate::ledger::Ledger;
use crate::run::Run;
use crate::schedule::assign::assign;
use crate::schedule::confirmers::draw_confirmers;
use crate::schedule::recall::preempt;
use crate::store::draw::{Draw, Drawn, Recorded};
use crate::store::{Block, Phase, Source, Stored, StoredJob};
use crate::workers::worker_table::Suspicion;

impl Ledger {
    /// Restores a ledger from `stored`, without workers. Jobs of which something is not recorded yet get new seeds: the
    /// stored state may be older than one in which their seeds were published.
    ///
    /// A job that contradicts itself is set aside and does not affect the others.
    ///
    /// # Errors
    /// If a job was made under another decomposition.
    pub fn restore(stored: Stored, run: Run) -> Result<Self, RestoreError> {
        let mut ledger = Self::new(run);
        for (Block { name, party }, reason) in stored.blocked {
            match party {
                Some(party) => ledger.workers.suspect(ledger.now, party, Suspicion { name, reason }),
                None => ledger.workers.block(ledger.now, &name),
            };
        }
        let ids: Vec<JobId> = stored.jobs.iter().map(|job| job.entry.id).collect();
        for job in stored.jobs {
            restore(&mut ledger, job, run)?;
        }
        // The last coordinator may have recorded all of a job without marking it done.
        ids.into_iter().for_each(|job| finish_if_complete(&mut ledger, job));
        Ok(ledger)
    }
}

/// Restores a stored job.
fn restore(ledger: &mut Ledger, stored: StoredJob, run: Run) -> Result<(), RestoreError> {
    let mut job = restored(stored, run)?;
    let (id, terms) = (job.id(), job.entry().terms);
    if let Some(first) = terms.second_of {
        let known = ledger.jobs.get(first).map(Job::entry).filter(|entry| entry.terms.second_of.is_none());
        let is_alike = known.is_some_and(|known| {
            let is_same_part = known.method != job.method() || known.terms.part_range == terms.part_range;
            known.n == job.entry().n && is_same_part
        });
        let second = ledger.jobs.get(first).map(Job::second);
        let is_only = second.is_some_and(|second| second.is_none_or(|second| ledger.jobs.is_damaged(second)));
        if !is_alike || (!is_only && job.phase() != Phase::Cancelled) {
            let mut entry = job.entry().clone();
            entry.terms.second_of = None;
            job = Job::damaged(entry, Contradiction::Second(first).to_string());
        }
    }
    let (waits, is_open) = (job.phase() == Phase::Planning, job.is_open());
    let is_cancelled = job.phase() == Phase::Cancelled;
    ledger.add_job(job);
    draw_parts(ledger, id);
    let first =
        terms.second_of.filter(|first| is_cancelled && ledger.jobs.get(*first).is_some_and(Job::is_open));
    if let Some(first) = first {
        recount_what_differs(ledger, first, id);
    }
    if is_open {
        // The restored job has a new seed.
        ledger.effects.change_entry(id);
    }
    if waits {
        want_plan(ledger, id);
    }
    Ok(())
}

/// Has parties drawn for the parts of a job, if it is a second pass by the method of the first.
fn draw_parts(ledger: &mut Ledger, id: JobId) {
    let pass = ledger.jobs.get(id).map(|job| ledger.jobs.pass(job));
    if pass == Some(Pass::Second) {
        ledger.change_job(id, |job| job.counting_mut().map(Counting::draw_parts));
    }
}

/// Asks for a job's plan.
pub(crate) fn want_plan(ledger: &mut Ledger, id: JobId) {
    let Some(job) = ledger.jobs.get(id) else { return };
    let plan = WantedPlan { job: id, n: job.entry().n, method: job.method(), pass: ledger.jobs.pass(job) };
    ledger.effects.plans.push(plan);
}

impl Ledger {
    /// Gives a job its plan. Does nothing if the job is not waiting for one.
    pub fn planned(&mut self, now: Duration, id: JobId, plan: impl Into<Arc<Plan>>) {
        self.advance(now);
        if self.jobs.get(id).is_none_or(|job| job.phase() != Phase::Planning) {
            return;
        }
        let Some(choices) = self.change_job(id, |job| job.begin(plan.into())) else { return };
        draw_parts(self, id);
        self.effects.change_entry(id);
        self.effects.plan(id, choices);
        finish_if_complete(self, id);
        assign(self);
        preempt(self);
    }

    /// Notes that a certificate of a job is exported. Returns whether the job is done, which a certificate requires.
    pub fn exported(&mut self, id: JobId) -> bool {
        if self.jobs.get(id).is_none_or(|job| job.phase() != Phase::Done) {
            return false;
        }
        let date_ms = self.date_ms();
        for pass in self.jobs.passes(id) {
            if self.jobs.get(pass).is_some_and(|job| job.entry().terms.exported_ms.is_none()) {
                self.change_job(pass, |job| job.note_exported(date_ms));
                self.effects.change_entry(pass);
            }
        }
        true
    }

    /// Handles the answer to a [`Comparison`]: the record of exactly this span, if there is one. Only another party's
    /// count confirms it.
    pub fn compared(&mut self, comparison: &Comparison, recorded: Option<Recorded>) {
        recounts::compared(self, comparison, recorded);
        finish_if_complete(self, comparison.job);
        assign(self);
    }

    /// Handles the coordinator's own count of a disputed span. After `None`, the next tick asks for it again.
    pub fn judged(&mut self, judgement: &Judgement, counted: Option<(Count, Duration, Arc<Source>)>) {
        recounts::judged(self, judgement, counted);
        finish_if_complete(self, judgement.job);
        assign(self);
    }

    /// Handles the answer to a [`Draw`].
    pub fn drawn(&mut self, draw: &Draw, drawn: Drawn) {
        recounts::drawn(self, draw, drawn);
        draw_confirmers(self);
        finish_if_complete(self, draw.job);
        assign(self);
    }
}

/// Ends a job whose subproblems are all recorded and that has nothing left to recount. If it has two passes, they end
/// together, when this holds for both and they agree.
pub(crate) fn finish_if_complete(ledger: &mut Ledger, id: JobId) {
    let passes = ledger.jobs.passes(id);
    let is_verifying = |ledger: &Ledger, pass: &JobId| ledger.jobs.get(*pass).is_some_and(Job::is_verifying);
    if !passes.iter().any(|pass| is_verifying(ledger, pass)) {
        return;
    }
    passes.iter().for_each(|&pass| recounts::begin(ledger, pass));
    if !passes.iter().all(|pass| ledger.jobs.get(*pass).is_some_and(Job::is_complete)) {
        return;
    }
    compare_passes(ledger, &passes);
    ask_more_parties(ledger, &passes);
    let is_checked = |pass: &JobId| {
        let job = ledger.jobs.get(*pass);
        job.is_some_and(|job| job.mismatch.is_nothing() && (!job.is_active() || job.recounts().are_done()))
    };
    if passes.iter().all(is_checked) {
        for pass in passes.into_iter().filter(|pass| is_verifying(ledger, pass)).collect::<Vec<_>>() {
            close(ledger, pass, Phase::Done);
        }
    }
}

/// The most parties that count each record of a part in which two passes differ.
const MOST_PARTIES: usize = 8;

/// Compares two complete passes, unless nothing has changed since the last comparison. Parts in which they differ are
/// recounted in both.
fn compare_passes(ledger: &mut Ledger, passes: &[JobId]) {
    let &[first, second] = passes else { return };
    let (Some(one), Some(other)) = (ledger.counting(first), ledger.counting(second)) else { return };
    let changes = (one.n_changes, other.n_changes);
    if ledger.jobs.get(first).is_some_and(|job| job.compared() == Some(changes)) {
        return;
    }
    let mismatch = PassMismatch::between(one, other);
    let is_first_time = ledger.jobs.get(first).is_some_and(|job| job.compared().is_none());
    for (&pass, plan) in passes.iter().zip([one.plan().clone(), other.plan().clone()]) {
        ledger.change_job(pass, |job| job.set_mismatch(mismatch.clone(), changes));
        let parts = mismatch.parts(plan.parts().len());
        recounts::mismatch(ledger, pass, &parts, 2);
        recounts::relax(ledger, pass, &parts);
    }
    // Only now is it known who counted each part in the first pass.
    if is_first_time && ledger.jobs.get(second).is_some_and(Job::is_active) {
        recounts::look_again(ledger, second);
    }
}

/// Lets another party count the parts in which two passes differ, if all their records are confirmed: friends have
/// confirmed a lie. As long as an honest party is among these, somebody finds it.
fn ask_more_parties(ledger: &mut Ledger, passes: &[JobId]) {
    let jobs = || passes.iter().filter_map(|pass| ledger.jobs.get(*pass));
    let PassMismatch::Parts(parts) = jobs().next().map_or(PassMismatch::Nothing, |job| job.mismatch.clone())
    else {
        return;
    };
    let asked = jobs().flat_map(|job| parts.iter().map(|part| job.recounts().n_parties(*part))).max();
    let n_parties = asked.unwrap_or_default() + 1;
    if n_parties <= MOST_PARTIES && jobs().all(|job| job.recounts().are_done()) {
        passes.iter().for_each(|pass| recounts::mismatch(ledger, *pass, &parts, n_parties));
    }
}

impl Ledger {
    /// Sets a job aside, because its stored state is invalid. Its workers get other jobs, and it is never written
    /// again.
    pub fn set_aside(&mut self, now: Duration, id: JobId, damage: String) {
        self.advance(now);
        self.cancel_leases_of_job(id);
        self.change_job(id, |job| job.set_aside(damage));
        assign(self);
    }
}

/// Parts from the second pass of a job, and cancels it unless it is damaged.
pub(crate) fn cancel_second(ledger: &mut Ledger, first: JobId, second: JobId) {
    recount_what_differs(ledger, first, second);
    if ledger.jobs.get(second).is_some_and(Job::is_open) {
        close(ledger, second, Phase::Cancelled);
    }
    ledger.change_job(first, |job| job.set_second(None));
}

/// Recounts the parts of a job that are known to differ from those of a second pass that ends.
fn recount_what_differs(ledger: &mut Ledger, first: JobId, second: JobId) {
    if let (Some(one), Some(other)) = (ledger.counting(first), ledger.counting(second)) {
        let parts = PassMismatch::between(one, other).parts(one.plan().parts().len());
        recounts::mismatch(ledger, first, &parts, 2);
    }
}

pub(crate) fn close(ledger: &mut Ledger, id: JobId, phase: Phase) {
    ledger.end_job(id, phase);
    assign(ledger);
}
