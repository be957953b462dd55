//! Handles submissions of jobs.

use queens_model::{JobId, PartRange, Submission, Terms, default_recount, price_of_job};
use queens_solver::{BoardSize, Method, parts_in_counting_order};
use thiserror::Error;

use crate::handlers::jobs::want_plan;
use crate::jobs::job::Job;
use crate::ledger::Ledger;
use crate::store::JobEntry;

/// The most jobs that may be open. This bounds their memory, and the work of listing them several times a second.
pub const MOST_OPEN_JOBS: usize = 10_000;

/// Refuses a job because too many are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there are {MOST_OPEN_JOBS} jobs that are not over: wait for some to be done, or cancel some")]
pub struct TooManyJobs;

/// Why a job is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SubmissionRefusal {
    /// Too many jobs are open.
    #[error(transparent)]
    TooMany(#[from] TooManyJobs),
    /// It can't have this second pass.
    #[error(transparent)]
    Second(#[from] NoSecondPass),
    /// It is expensive, and the submission does not confirm it.
    #[error("{}", price_of_job(*n, *method).unwrap_or_default())]
    Expensive {
        /// The board size.
        n: BoardSize,
        /// The counting method.
        method: Method,
    },
    /// Its plan has no such parts.
    #[error(
        "the plan of n = {n} by {method} has {n_parts} parts, numbered from 0: there are no {part_range}"
    )]
    PartRange {
        /// The board size.
        n: BoardSize,
        /// The counting method.
        method: Method,
        /// The number of parts of the plan.
        n_parts: usize,
        /// The requested parts.
        part_range: PartRange,
    },
}

/// Why a second pass is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoSecondPass {
    /// It would repeat the first pass.
    #[error(
        "halves have no other images: a second pass by halves would be the first again; it can be by search"
    )]
    Halves,
    /// The two methods have different parts.
    #[error(
        "the parts of a plan by {second} are not those of one by {method}: a part of a board can't be counted by both"
    )]
    Part {
        /// The method of the first pass.
        method: Method,
        /// The method of the second pass.
        second: Method,
    },
}

/// Checks that a job by `method` can have a second pass by `second`.
pub(crate) fn check_second(
    method: Method,
    second: Method,
    part_range: Option<PartRange>,
) -> Result<(), NoSecondPass> {
    match (method, second) {
        (Method::Halves, Method::Halves) => Err(NoSecondPass::Halves),
        _ if method != second && part_range.is_some() => Err(NoSecondPass::Part { method, second }),
        _ => Ok(()),
    }
}

impl Ledger {
    /// Submits a job. `seed` is drawn at random, and `created_ms` is the time in milliseconds since 1970.
    ///
    /// # Errors
    /// If there are too many jobs, or the submission is invalid.
    pub fn submit(
        &mut self,
        asked: &Submission,
        seed: u128,
        created_ms: u64,
    ) -> Result<JobId, SubmissionRefusal> {
        check(self, asked)?;
        let id = next_id(self);
        let &Submission { n, method, priority, part_range, recount, recount_by, second_pass, confirmed: _ } =
            asked;
        let recount = recount.unwrap_or_else(|| default_recount(n, recount_by.is_some()));
        let terms = Terms { part_range, recount, recount_by, seed, ..Terms::default() };
        add(self, JobEntry { priority, terms, ..JobEntry::new(id, n, method, created_ms) });
        if let Some(method) = second_pass {
            add_second(self, id, method, created_ms);
        }
        Ok(id)
    }
}

/// Adds the second pass of a job, by this method.
pub(crate) fn add_second(ledger: &mut Ledger, first: JobId, method: Method, created_ms: u64) {
    let id = next_id(ledger);
    let Some(entry) = ledger.jobs.get(first).map(Job::entry) else { return };
    // Nothing of it is drawn by chance, but every job has a seed.
    let seed = entry.terms.seed.rotate_left(u128::BITS / 2);
    let Terms { part_range, recount_by, .. } = entry.terms;
    let terms = Terms { part_range, recount_by, second_of: Some(first), seed, ..Terms::default() };
    let (priority, paused) = (entry.priority, entry.paused);
    add(ledger, JobEntry { priority, paused, terms, ..JobEntry::new(id, entry.n, method, created_ms) });
}

fn next_id(ledger: &Ledger) -> JobId {
    JobId(ledger.jobs.last_id().map_or(1, |last| last.0 + 1))
}

fn add(ledger: &mut Ledger, entry: JobEntry) {
    let id = entry.id;
    ledger.add_job(Job::new(entry.identified(), None));
    ledger.effects.change_entry(id);
    want_plan(ledger, id);
}

fn check(ledger: &Ledger, asked: &Submission) -> Result<(), SubmissionRefusal> {
    if ledger.jobs.n_open() + usize::from(asked.second_pass.is_some()) >= MOST_OPEN_JOBS {
        return Err(TooManyJobs.into());
    }
    let &Submission { n, method, .. } = asked;
    if !asked.confirmed && price_of_job(n, method).is_some() {
        return Err(SubmissionRefusal::Expensive { n, method });
    }
    if let Some(second) = asked.second_pass {
        check_second(method, second, asked.part_range)?;
    }
    if let Some(part_range) = asked.part_range {
        let n_parts = parts_in_counting_order(n, method).len();
        if part_range.range().end as usize > n_parts {
            return Err(SubmissionRefusal::PartRange { n, method, n_parts, part_range });
        }
    }
    Ok(())
}
