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
use crate::pace::Paces;
use crate::run::Run;
use crate::schedule::assign::assign;
use crate::schedule::confirmers::draw_confirmers;
use crate::schedule::recall::preempt;
use crate::state::State;
use crate::store::draw::{Draw, Drawn, Recorded};
use crate::store::{Block, Phase, Source, Stored, StoredJob};
use crate::workers::worker_table::Suspicion;

impl Ledger {
    /// Restores a ledger from `stored`, without workers. Open jobs get new seeds: the stored state may be older than
    /// one in which their seeds were published.
    ///
    /// A job that contradicts itself is set aside and does not affect the others.
    ///
    /// # Errors
    /// If a job was made under another decomposition.
    pub fn restore(stored: Stored, run: Run) -> Result<Self, RestoreError> {
        let mut state = State::new(run);
        for (Block { name, party }, reason) in stored.blocked {
            match party {
                Some(party) => state.workers.suspect(state.now(), party, Suspicion { name, reason }),
                None => state.workers.block(state.now(), &name),
            };
        }
        let ids: Vec<JobId> = stored.jobs.iter().map(|job| job.entry.id).collect();
        for job in stored.jobs {
            restore(&mut state, job, run)?;
        }
        // The last coordinator may have recorded all of a job without marking it done.
        ids.into_iter().for_each(|job| finish_if_complete(&mut state, job));
        Ok(Self { state, paces: Paces::default() })
    }
}

/// Restores a stored job.
fn restore(state: &mut State, stored: StoredJob, run: Run) -> Result<(), RestoreError> {
    let mut job = restored(stored, run)?;
    let (id, terms) = (job.id(), job.entry().terms);
    if let Some(first) = terms.second_of {
        let known = state.jobs().get(first).map(Job::entry).filter(|entry| entry.terms.second_of.is_none());
        let is_alike = known.is_some_and(|known| {
            let is_same_part = known.method != job.method() || known.terms.part_range == terms.part_range;
            known.n == job.entry().n && is_same_part
        });
        let second = state.jobs().get(first).map(Job::second);
        let is_only =
            second.is_some_and(|second| second.is_none_or(|second| state.jobs().is_damaged(second)));
        if !is_alike || (!is_only && job.phase() != Phase::Cancelled) {
            let mut entry = job.entry().clone();
            entry.terms.second_of = None;
            job = Job::damaged(entry, Contradiction::Second(first).to_string());
        }
    }
    let (waits, is_open) = (job.phase() == Phase::Planning, job.is_open());
    state.add_job(job);
    draw_parts(state, id);
    if is_open {
        // The restored job has a new seed.
        state.effects.change_entry(id);
    }
    if waits {
        want_plan(state, id);
    }
    Ok(())
}

/// Has parties drawn for the parts of a job, if it is a second pass by the method of the first.
fn draw_parts(state: &mut State, id: JobId) {
    let pass = state.jobs().get(id).map(|job| state.jobs().pass(job));
    if pass == Some(Pass::Second) {
        state.change_job(id, |job| job.counting_mut().map(Counting::draw_parts));
    }
}

/// Asks for a job's plan.
pub(crate) fn want_plan(state: &mut State, id: JobId) {
    let Some(job) = state.jobs().get(id) else { return };
    let plan = WantedPlan { job: id, n: job.entry().n, method: job.method(), pass: state.jobs().pass(job) };
    state.effects.plans.push(plan);
}

impl Ledger {
    /// Gives a job its plan. Does nothing if the job is not waiting for one.
    pub fn planned(&mut self, now: Duration, id: JobId, plan: impl Into<Arc<Plan>>) {
        let state = &mut self.state;
        state.advance(now);
        if state.jobs().get(id).is_none_or(|job| job.phase() != Phase::Planning) {
            return;
        }
        let Some(choices) = state.change_job(id, |job| job.begin(plan.into())) else { return };
        draw_parts(state, id);
        state.effects.change_entry(id);
        state.effects.plan(id, choices);
        finish_if_complete(state, id);
        assign(state);
        preempt(state);
    }

    /// Notes that a certificate of a job is exported. Returns whether the job is done, which a certificate requires.
    pub fn exported(&mut self, id: JobId) -> bool {
        let state = &mut self.state;
        if state.jobs().get(id).is_none_or(|job| job.phase() != Phase::Done) {
            return false;
        }
        let date_ms = state.date_ms();
        for pass in state.jobs().passes(id) {
            if state.jobs().get(pass).is_some_and(|job| job.entry().terms.exported_ms.is_none()) {
                state.change_job(pass, |job| job.note_exported(date_ms));
                state.effects.change_entry(pass);
            }
        }
        true
    }

    /// Handles the answer to a [`Comparison`]: the record of exactly this span, if there is one. Only another party's
    /// count confirms it.
    pub fn compared(&mut self, comparison: &Comparison, recorded: Option<Recorded>) {
        let state = &mut self.state;
        recounts::compared(state, comparison, recorded);
        finish_if_complete(state, comparison.job);
        assign(state);
    }

    /// Handles the coordinator's own count of a disputed span. After `None`, the next tick asks for it again.
    pub fn judged(&mut self, judgement: &Judgement, counted: Option<(Count, Duration, Arc<Source>)>) {
        let state = &mut self.state;
        recounts::judged(state, judgement, counted);
        finish_if_complete(state, judgement.job);
        assign(state);
    }

    /// Handles the answer to a [`Draw`].
    pub fn drawn(&mut self, draw: &Draw, drawn: Drawn) {
        let state = &mut self.state;
        recounts::drawn(state, draw, drawn);
        draw_confirmers(state);
        finish_if_complete(state, draw.job);
        assign(state);
    }
}

/// Ends a job whose subproblems are all recorded and that has nothing left to recount. If it has two passes, they end
/// together, when this holds for both and they agree.
pub(crate) fn finish_if_complete(state: &mut State, id: JobId) {
    let passes = state.jobs().passes(id);
    let is_verifying = |state: &State, pass: &JobId| state.jobs().get(*pass).is_some_and(Job::is_verifying);
    if !passes.iter().any(|pass| is_verifying(state, pass)) {
        return;
    }
    passes.iter().for_each(|&pass| recounts::begin(state, pass));
    if !passes.iter().all(|pass| state.jobs().get(*pass).is_some_and(Job::is_complete)) {
        return;
    }
    compare_passes(state, &passes);
    ask_more_parties(state, &passes);
    let is_checked = |pass: &JobId| {
        let job = state.jobs().get(*pass);
        job.is_some_and(|job| job.mismatch.is_nothing() && (!job.is_active() || job.recounts().are_done()))
    };
    if passes.iter().all(is_checked) {
        for pass in passes.into_iter().filter(|pass| is_verifying(state, pass)).collect::<Vec<_>>() {
            close(state, pass, Phase::Done);
        }
    }
}

/// The most parties that count each record of a part in which two passes differ.
const MOST_PARTIES: usize = 8;

/// Compares two complete passes, unless nothing has changed since the last comparison. Parts in which they differ are
/// recounted in both.
fn compare_passes(state: &mut State, passes: &[JobId]) {
    let &[first, second] = passes else { return };
    let (Some(one), Some(other)) = (state.counting(first), state.counting(second)) else { return };
    let changes = (one.n_changes, other.n_changes);
    if state.jobs().get(first).is_some_and(|job| job.compared() == Some(changes)) {
        return;
    }
    let mismatch = PassMismatch::between(one, other);
    let is_first_time = state.jobs().get(first).is_some_and(|job| job.compared().is_none());
    for (&pass, plan) in passes.iter().zip([one.plan().clone(), other.plan().clone()]) {
        state.change_job(pass, |job| job.set_mismatch(mismatch.clone(), changes));
        let parts = mismatch.parts(plan.parts().len());
        recounts::mismatch(state, pass, &parts, 2);
        recounts::relax(state, pass, &parts);
    }
    // Only now is it known who counted each part in the first pass.
    if is_first_time && state.jobs().get(second).is_some_and(Job::is_active) {
        recounts::look_again(state, second);
    }
}

/// Lets another party count the parts in which two passes differ, if all their records are confirmed: friends have
/// confirmed a lie. As long as an honest party is among these, somebody finds it.
fn ask_more_parties(state: &mut State, passes: &[JobId]) {
    let jobs = || passes.iter().filter_map(|pass| state.jobs().get(*pass));
    let PassMismatch::Parts(parts) = jobs().next().map_or(PassMismatch::Nothing, |job| job.mismatch.clone())
    else {
        return;
    };
    let asked = jobs().flat_map(|job| parts.iter().map(|part| job.recounts().n_parties(*part))).max();
    let n_parties = asked.unwrap_or_default() + 1;
    if n_parties <= MOST_PARTIES && jobs().all(|job| job.recounts().are_done()) {
        passes.iter().for_each(|pass| recounts::mismatch(state, *pass, &parts, n_parties));
    }
}

impl Ledger {
    /// Sets a job aside, because its stored state is invalid. Its workers get other jobs, and it is never written
    /// again.
    pub fn set_aside(&mut self, now: Duration, id: JobId, damage: String) {
        let state = &mut self.state;
        state.advance(now);
        state.cancel_leases_of_job(id);
        state.change_job(id, |job| job.set_aside(damage));
        assign(state);
    }
}

pub(crate) fn close(state: &mut State, id: JobId, phase: Phase) {
    state.end_job(id, phase);
    assign(state);
}
