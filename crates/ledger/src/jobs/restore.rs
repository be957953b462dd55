//! Restores jobs from the store and sets aside those that contradict themselves.

use std::sync::Arc;

use queens_model::{JobId, PartRange};
use queens_solver::{Method, Plan, WrongParts};
use thiserror::Error;

use crate::jobs::counting::Counting;
use crate::jobs::job::Job;
use crate::run::Run;
use crate::store::{Coverage, Phase, StoredJob};

/// Upper bounds, on all boards, for a part's work, solutions and nodes, and for its subproblems. No sum and no product
/// of the two reaches 2^128.
const MOST_WORK: u128 = 1 << 80;
const MOST_SUBPROBLEMS: u64 = 1 << 48;

/// A stored job that this program can't continue.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "job {job} was counted with decomposition version {found} of the method {method}, this program has version {}: use \
     the program it was begun with, or another directory",
    method.decomposition()
)]
pub struct RestoreError {
    /// The job.
    pub job: JobId,
    /// The counting method.
    pub method: Method,
    /// The version that it was counted with.
    pub found: u32,
}

/// Why a job's stored state is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Contradiction {
    /// The store reports it.
    #[error("{0}")]
    Stored(String),
    #[error("its plan is not this program's: {0}")]
    Plan(#[from] WrongParts),
    #[error("it is done, but not all of it is recorded")]
    Incomplete,
    /// It waits for a plan that it has, or is active without one.
    #[error("it is {}, which does not go with its plan", .0.name())]
    Phase(Phase),
    #[error("it counts parts {part_range} of a plan with {n_parts}")]
    PartRange { part_range: PartRange, n_parts: usize },
    /// Its numbers would overflow the sums.
    #[error("it has numbers in part {0} that no board comes to")]
    Numbers(u32),
    #[error("it has records outside part {0} of its plan")]
    Coverage(u32),
    #[error("it is no second pass of job {0}")]
    Second(JobId),
}

/// Restores a job, with a new seed unless all of it is recorded. Sets it aside if its stored state is invalid.
///
/// # Errors
/// If it was made under another decomposition.
pub(crate) fn restored(stored: StoredJob, run: Run) -> Result<Job, RestoreError> {
    let entry = stored.entry.clone();
    let (job, method, found) = (entry.id, entry.method, entry.decomposition);
    if found != method.decomposition() {
        return Err(RestoreError { job, method, found });
    }
    Ok(whole(stored, run).unwrap_or_else(|contradiction| Job::damaged(entry, contradiction.to_string())))
}

fn whole(stored: StoredJob, run: Run) -> Result<Job, Contradiction> {
    let StoredJob { entry, choices, coverage, has_second_counts, damage } = stored;
    if let Some(reason) = damage {
        return Err(Contradiction::Stored(reason));
    }
    let job = entry.id;
    let mut counting = None;
    if let Some(choices) = choices {
        let plan = Plan::from_choices(entry.n, entry.method, &choices)?;
        let (n_parts, part_range) = (plan.parts().len(), entry.terms.part_range);
        if let Some(part_range) = part_range.filter(|part_range| part_range.range().end as usize > n_parts) {
            return Err(Contradiction::PartRange { part_range, n_parts });
        }
        for (part, choice) in (0..).zip(&choices) {
            if choice.work >= MOST_WORK || choice.n_subproblems >= MOST_SUBPROBLEMS {
                return Err(Contradiction::Numbers(part));
            }
        }
        let mut all = vec![Coverage::default(); n_parts];
        for (part, coverage) in coverage {
            let counted =
                plan.part(part).filter(|_| part_range.is_none_or(|part_range| part_range.contains(part)));
            let n_subproblems = counted.map_or(0, |part| part.choice().n_subproblems);
            let end = coverage.recorded.ranges().next_back().map_or(0, |range| range.end);
            if coverage.solutions.max(coverage.work) >= MOST_WORK {
                return Err(Contradiction::Numbers(part));
            }
            match all.get_mut(part as usize) {
                Some(slot) if end <= n_subproblems => *slot = coverage,
                _ => return Err(Contradiction::Coverage(part)),
            }
        }
        counting = Some(Counting::new(Arc::new(plan), part_range, all));
    }
    let is_planned = counting.is_some();
    if (entry.phase == Phase::Planning && is_planned) || (entry.phase == Phase::Active && !is_planned) {
        return Err(Contradiction::Phase(entry.phase));
    }
    let mut restored = Job::new(entry, counting).restored();
    // The seed tells which records nobody recounts. Only liars that still make records could exploit that.
    if restored.is_open() && !restored.is_complete() {
        restored.set_seed(run.seed(job));
    }
    if has_second_counts && let Some((recounts, _)) = restored.recounting_mut() {
        recounts.note_second_count();
    }
    if restored.phase() == Phase::Done && !restored.is_complete() {
        return Err(Contradiction::Incomplete);
    }
    Ok(restored)
}
