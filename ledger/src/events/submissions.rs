//! Jobs are asked for.

use queens_messages::{Crosses, JobId, Submission, Terms};
use queens_solver::{BoardSize, Method, parts_in_counting_order};
use thiserror::Error;

use crate::book::Book;
use crate::jobs::job::Job;
use crate::store::JobEntry;

/// Jobs that may be there to be planned or counted. What is told of them all, several times a second, stays short work,
/// and what each takes in memory stays within bounds.
pub const MOST_OPEN_JOBS: usize = 10_000;

/// A job is refused, because there are too many that are not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there are {MOST_OPEN_JOBS} jobs that are not over: wait for some to be done, or cancel some")]
pub struct TooManyJobs;

/// Why a job is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SubmissionRefusal {
    /// There are too many.
    #[error(transparent)]
    TooMany(#[from] TooManyJobs),
    /// Its plan has no such parts.
    #[error("the plan of n = {n} by {method} has {n_parts} crosses, numbered from 0: there are no {crosses}")]
    Crosses {
        /// The size of the board.
        n: BoardSize,
        /// How it was to be counted.
        method: Method,
        /// The parts of the plan.
        n_parts: usize,
        /// What was asked for.
        crosses: Crosses,
    },
}

/// Takes a job. `seed` is drawn at random.
pub(crate) fn submit(
    book: &mut Book,
    asked: &Submission,
    seed: u128,
    created_ms: u64,
) -> Result<JobId, SubmissionRefusal> {
    check(book, asked)?;
    let id = JobId(book.jobs().last_id().map_or(1, |last| last.0 + 1));
    let &Submission { n, method, priority, crosses, recount, .. } = asked;
    let terms = Terms { crosses, recount, seed, ..Terms::default() };
    let entry = JobEntry { priority, terms, ..JobEntry::new(id, n, method, created_ms) };
    book.add_job(Job::new(entry, None));
    book.changes().change_entry(id);
    book.changes().want_plan(id, n, method);
    Ok(id)
}

fn check(book: &Book, asked: &Submission) -> Result<(), SubmissionRefusal> {
    if book.jobs().n_open() >= MOST_OPEN_JOBS {
        return Err(TooManyJobs.into());
    }
    let &Submission { n, method, .. } = asked;
    if let Some(crosses) = asked.crosses {
        let n_parts = parts_in_counting_order(n, method).len();
        if crosses.range().end as usize > n_parts {
            return Err(SubmissionRefusal::Crosses { n, method, n_parts, crosses });
        }
    }
    Ok(())
}
