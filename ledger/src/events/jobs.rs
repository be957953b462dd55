//! Jobs begin, get their plans and end.

use std::sync::Arc;
use std::time::Duration;

use queens_messages::JobId;
use queens_solver::Plan;
use thiserror::Error;

use crate::book::Book;
use crate::effects::Comparison;
use crate::jobs::restore::{RestoreError, restored};
use crate::schedule::feed::feed;
use crate::schedule::recall::preempt;
use crate::store::{Phase, Recorded, StoredJob};

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

pub(crate) fn compared(book: &mut Book, comparison: &Comparison, recorded: Option<&Recorded>) {
    let Some(recorded) = recorded else { return };
    let agrees = recorded.count == comparison.count;
    if agrees && recorded.name == comparison.name {
        return;
    }
    book.change_job(comparison.job, |job| job.note_comparison(agrees));
    book.changes().change_entry(comparison.job);
}

/// Ends a job of which everything is recorded.
pub(crate) fn finish_if_complete(book: &mut Book, id: JobId) {
    if book.jobs().get(id).is_some_and(|job| job.is_active() && job.is_complete()) {
        close(book, id, Phase::Done);
    }
}

fn close(book: &mut Book, id: JobId, phase: Phase) {
    book.end_job(id, phase);
    feed(book);
}
