//! Jobs begin, get their plans and end.

use std::sync::Arc;
use std::time::Duration;

use queens_messages::JobId;
use queens_solver::Plan;
use thiserror::Error;

use crate::book::Book;
use crate::effects::Comparison;
use crate::events::recounts;
use crate::jobs::job::Job;
use crate::jobs::restore::{RestoreError, restored};
use crate::schedule::feed::feed;
use crate::schedule::recall::preempt;
use crate::store::draw::{Draw, Drawn, Recorded};
use crate::store::{Phase, StoredJob};

/// A job that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there is no job {0}")]
pub struct UnknownJob(pub JobId);

/// A job goes on where it was left.
pub(crate) fn restore(book: &mut Book, stored: StoredJob) -> Result<(), RestoreError> {
    let job = restored(stored)?;
    let (id, n, method, phase) = (job.id(), job.entry().n, job.method(), job.phase());
    if phase == Phase::Planning {
        book.changes().want_plan(id, n, method);
    }
    book.add_job(job);
    // The last coordinator may have recorded all of it and not written that it is done.
    finish_if_complete(book, id);
    Ok(())
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

pub(crate) fn cancel(book: &mut Book, now: Duration, id: JobId) -> Result<(), UnknownJob> {
    book.advance(now);
    if book.jobs().get(id).ok_or(UnknownJob(id))?.is_open() {
        close(book, id, Phase::Cancelled);
    }
    Ok(())
}

/// A certificate of a job is out: what it says stands. Returns whether the job is done, so that there can be one.
pub(crate) fn exported(book: &mut Book, id: JobId) -> bool {
    let Some(job) = book.jobs().get(id).filter(|job| job.phase() == Phase::Done) else { return false };
    if job.entry().terms.exported_ms.is_none() {
        book.note_exported(id);
        book.changes().change_entry(id);
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

/// Ends a job of which everything is recorded and nothing is left to be counted again.
pub(crate) fn finish_if_complete(book: &mut Book, id: JobId) {
    if !book.jobs().get(id).is_some_and(Job::is_verifying) {
        return;
    }
    recounts::begin(book, id);
    if book.jobs().get(id).is_some_and(|job| job.recounts().are_done()) {
        close(book, id, Phase::Done);
    }
}

fn close(book: &mut Book, id: JobId, phase: Phase) {
    book.end_job(id, phase);
    feed(book);
}
