//! Jobs begin, get their plans and end.

use std::sync::Arc;
use std::time::Duration;

use queens_messages::JobId;
use queens_solver::Plan;

use crate::book::Book;
use crate::effects::{Comparison, WantedPlan};
use crate::events::recounts;
use crate::jobs::agreement::Doubt;
use crate::jobs::job::Job;
use crate::jobs::restore::{Contradiction, RestoreError, restored};
use crate::run::Run;
use crate::schedule::feed::feed;
use crate::schedule::recall::preempt;
use crate::store::draw::{Draw, Drawn, Recorded};
use crate::store::{Phase, StoredJob};

/// A job goes on where it was left.
pub(crate) fn restore(book: &mut Book, stored: StoredJob, run: Run) -> Result<(), RestoreError> {
    let mut job = restored(stored, run)?;
    let (id, terms) = (job.id(), job.entry().terms);
    if let Some(first) = terms.second_of {
        let known = book.jobs().get(first).map(Job::entry).filter(|entry| entry.terms.second_of.is_none());
        let is_alike = known.is_some_and(|known| {
            let is_same_part = known.method != job.method() || known.terms.crosses == terms.crosses;
            known.n == job.entry().n && is_same_part
        });
        let second = book.jobs().get(first).map(Job::second);
        let is_only = second.is_some_and(|second| second.is_none_or(|second| book.jobs().is_damaged(second)));
        if !is_alike || (!is_only && job.phase() != Phase::Cancelled) {
            let mut entry = job.entry().clone();
            entry.terms.second_of = None;
            job = Job::damaged(entry, Contradiction::Second(first).to_string());
        }
    }
    let (waits, is_open) = (job.phase() == Phase::Planning, job.is_open());
    book.add_job(job);
    if is_open {
        // Its new seed.
        book.changes().change_entry(id);
    }
    if waits {
        want_plan(book, id);
    }
    Ok(())
}

/// Has the plan of a job made.
pub(crate) fn want_plan(book: &mut Book, id: JobId) {
    let Some(job) = book.jobs().get(id) else { return };
    let plan = WantedPlan { job: id, n: job.entry().n, method: job.method(), pass: book.jobs().pass(job) };
    book.changes().want_plan(plan);
}

pub(crate) fn planned(book: &mut Book, now: Duration, id: JobId, plan: Arc<Plan>) {
    book.advance(now);
    if book.jobs().get(id).is_none_or(|job| job.phase() != Phase::Planning) {
        return;
    }
    let Some(choices) = book.change_job(id, |job| job.begin(plan)) else { return };
    book.changes().change_entry(id);
    book.changes().plan(id, choices);
    finish_if_complete(book, id);
    feed(book);
    preempt(book);
}

/// A certificate of a job is out, and of its second pass with it: what it says stands. Returns whether the job is done, so
/// that there can be one.
pub(crate) fn exported(book: &mut Book, id: JobId) -> bool {
    if book.jobs().get(id).is_none_or(|job| job.phase() != Phase::Done) {
        return false;
    }
    let date_ms = book.date_ms();
    for pass in book.jobs().passes(id) {
        if book.jobs().get(pass).is_some_and(|job| job.entry().terms.exported_ms.is_none()) {
            book.change_job(pass, |job| job.note_exported(date_ms));
            book.changes().change_entry(pass);
        }
    }
    true
}

pub(crate) fn compared(book: &mut Book, comparison: &Comparison, recorded: Option<Recorded>) {
    recounts::compared(book, comparison, recorded);
    finish_if_complete(book, comparison.job);
    feed(book);
}

pub(crate) fn drawn(book: &mut Book, draw: &Draw, drawn: Drawn) {
    recounts::drawn(book, draw, drawn);
    finish_if_complete(book, draw.job);
    feed(book);
}

/// Ends a job of which everything is recorded and nothing is left to be counted again. If it is counted twice, both
/// passes end when that is so of both and they agree.
pub(crate) fn finish_if_complete(book: &mut Book, id: JobId) {
    let passes = book.jobs().passes(id);
    let is_verifying = |book: &Book, pass: &JobId| book.jobs().get(*pass).is_some_and(Job::is_verifying);
    if !passes.iter().any(|pass| is_verifying(book, pass)) {
        return;
    }
    passes.iter().for_each(|&pass| recounts::begin(book, pass));
    if !passes.iter().all(|pass| book.jobs().get(*pass).is_some_and(Job::is_complete)) {
        return;
    }
    compare_passes(book, &passes);
    let is_checked = |pass: &JobId| {
        let job = book.jobs().get(*pass);
        job.is_some_and(|job| job.doubt().is_nothing() && (!job.is_active() || job.recounts().are_done()))
    };
    if passes.iter().all(is_checked) {
        for pass in passes.into_iter().filter(|pass| is_verifying(book, pass)).collect::<Vec<_>>() {
            close(book, pass, Phase::Done);
        }
    }
}

/// Compares two passes that are complete, unless nothing has changed since that was done. What they differ in is to be
/// counted again in both.
fn compare_passes(book: &mut Book, passes: &[JobId]) {
    let &[first, second] = passes else { return };
    let (Some(one), Some(other)) = (book.counting(first), book.counting(second)) else { return };
    let state = (one.n_changes(), other.n_changes());
    if book.jobs().get(first).is_some_and(|job| job.compared() == Some(state)) {
        return;
    }
    let doubt = Doubt::between(one, other);
    let is_first_time = book.jobs().get(first).is_some_and(|job| job.compared().is_none());
    for (&pass, plan) in passes.iter().zip([one.plan().clone(), other.plan().clone()]) {
        book.change_job(pass, |job| job.set_doubt(doubt.clone(), state));
        recounts::doubt(book, pass, &doubt.crosses(plan.parts().len()));
    }
    // Who has counted what in the first pass is known as late as now.
    if is_first_time && book.jobs().get(second).is_some_and(Job::is_active) {
        recounts::look_again(book, second);
    }
}

/// Sets a job aside, as what is stored of it can't be true.
pub(crate) fn set_aside(book: &mut Book, id: JobId, damage: String) {
    book.cancel_leases_of_job(id);
    book.change_job(id, |job| job.set_aside(damage));
    feed(book);
}

pub(crate) fn close(book: &mut Book, id: JobId, phase: Phase) {
    book.end_job(id, phase);
    feed(book);
}
