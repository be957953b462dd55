//! Operators have more of a job checked.

use std::time::Duration;

use queens_messages::JobId;

use crate::book::Book;
use crate::events::jobs::finish_if_complete;
use crate::events::operators::{JobRefusal, Verification};
use crate::events::recounts;
use crate::events::submissions::{MOST_OPEN_JOBS, TooManyJobs, add_second, check_second};
use crate::schedule::feed::feed;
use crate::store::Phase;

/// Raises what is agreed about a job. One that is done is open again until it is checked.
pub(crate) fn verify_more(
    book: &mut Book,
    now: Duration,
    id: JobId,
    more: Verification,
    created_ms: u64,
) -> Result<(), JobRefusal> {
    book.advance(now);
    let job = book.jobs().get(id).ok_or(JobRefusal::Unknown(id))?;
    let terms = job.entry().terms;
    if job.phase() == Phase::Cancelled {
        return Err(JobRefusal::Over { job: id, phase: job.phase() });
    }
    if let Some(first) = terms.second_of {
        return Err(JobRefusal::IsSecond { job: id, first });
    }
    if let Some(method) = more.second_pass {
        check_second(job.method(), method, terms.crosses)?;
        if let Some(second) = job.second() {
            return Err(JobRefusal::HasSecond { job: id, second });
        }
        if book.jobs().n_open() + usize::from(!job.is_open()) >= MOST_OPEN_JOBS {
            return Err(TooManyJobs.into());
        }
    }
    let is_more = more.second_pass.is_some() || more.recount > Some(terms.recount);
    book.change_job(id, |job| {
        job.raise_recount(more.recount.unwrap_or_default());
        if is_more && job.phase() == Phase::Done {
            job.reopen();
        }
    });
    book.changes().change_entry(id);
    if let Some(method) = more.second_pass {
        add_second(book, id, method, created_ms);
    }
    if more.recount > Some(terms.recount) {
        recounts::look_again(book, id);
    }
    // There may be nothing to do that was not done before.
    finish_if_complete(book, id);
    feed(book);
    Ok(())
}
