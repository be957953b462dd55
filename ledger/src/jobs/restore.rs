//! Jobs as they were stored, and what may be wrong with them.

use std::sync::Arc;

use queens_messages::{Crosses, JobId};
use queens_solver::{Method, Plan, WrongParts};
use thiserror::Error;

use crate::jobs::counting::Counting;
use crate::jobs::job::Job;
use crate::run::Run;
use crate::store::{Coverage, Phase, StoredJob};

/// What to do about jobs that contradict themselves.
const REPAIR: &str = "restore a backup, or keep what proves itself with 'queens-coordinator recover'";

/// Work, solutions and nodes of a part stay below this on all boards, and its subproblems below that: no sum of the one
/// and no product of both reaches 2^128.
const MOST_WORK: u128 = 1 << 80;
const MOST_SUBPROBLEMS: u64 = 1 << 48;

/// Stored jobs that this ledger can't go on with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RestoreError {
    /// The numbers of its subproblems mean something else here.
    #[error(
        "job {job} was counted with decomposition version {found} of the method {method}, this program has version {}: \
         use the program it was begun with, or another directory",
        method.decomposition()
    )]
    Decomposition {
        /// The job.
        job: JobId,
        /// How it was counted.
        method: Method,
        /// The version it was counted with.
        found: u32,
    },
    /// Its plan is not one of this program's.
    #[error("the plan of job {job} is not this program's: {reason}: {REPAIR}")]
    Plan {
        /// The job.
        job: JobId,
        /// What is wrong with it.
        reason: WrongParts,
    },
    /// It is said to be done, and is not.
    #[error("job {job} is done, but not all of it is recorded: {REPAIR}")]
    Incomplete {
        /// The job.
        job: JobId,
    },
    /// It waits for a plan that it has, or is counted without one.
    #[error("job {job} is {}, which does not go with its plan: {REPAIR}", phase.name())]
    Phase {
        /// The job.
        job: JobId,
        /// Where it is said to stand.
        phase: Phase,
    },
    /// It counts parts that its plan has not.
    #[error("job {job} counts crosses {crosses} of a plan with {n_parts}: {REPAIR}")]
    Crosses {
        /// The job.
        job: JobId,
        /// What it counts.
        crosses: Crosses,
        /// The parts of its plan.
        n_parts: usize,
    },
    /// It is not the second pass of the job that it is said to be of.
    #[error("job {job} is no second pass of job {first}: {REPAIR}")]
    Second {
        /// The job.
        job: JobId,
        /// The other.
        first: JobId,
    },
    /// It has numbers that would not fit where they are added up.
    #[error("job {job} has numbers in cross {cross} that no board comes to: {REPAIR}")]
    Numbers {
        /// The job.
        job: JobId,
        /// The cross.
        cross: u32,
    },
    /// A record lies outside its plan.
    #[error("job {job} has records outside cross {cross} of its plan: {REPAIR}")]
    Coverage {
        /// The job.
        job: JobId,
        /// The cross.
        cross: u32,
    },
}

/// A job that goes on where it was left, with a new seed if it is open.
///
/// # Errors
/// If it was made under another decomposition or contradicts its plan.
pub(crate) fn restored(stored: StoredJob, run: Run) -> Result<Job, RestoreError> {
    let StoredJob { entry, choices, coverage, has_second_counts } = stored;
    let job = entry.id;
    let method = entry.method;
    if entry.decomposition != method.decomposition() {
        return Err(RestoreError::Decomposition { job, method, found: entry.decomposition });
    }
    let mut counting = None;
    if let Some(choices) = choices {
        let plan = Plan::from_choices(entry.n, method, &choices)
            .map_err(|reason| RestoreError::Plan { job, reason })?;
        let (n_parts, crosses) = (plan.parts().len(), entry.terms.crosses);
        if let Some(crosses) = crosses.filter(|crosses| crosses.range().end as usize > n_parts) {
            return Err(RestoreError::Crosses { job, crosses, n_parts });
        }
        for (cross, choice) in (0..).zip(&choices) {
            if choice.work >= MOST_WORK || choice.n_subproblems >= MOST_SUBPROBLEMS {
                return Err(RestoreError::Numbers { job, cross });
            }
        }
        let mut all = vec![Coverage::default(); n_parts];
        for (cross, coverage) in coverage {
            let counted = plan.part(cross).filter(|_| crosses.is_none_or(|crosses| crosses.contains(cross)));
            let n_subproblems = counted.map_or(0, |cross| cross.choice().n_subproblems);
            let end = coverage.recorded.ranges().next_back().map_or(0, |range| range.end);
            if coverage.solutions.max(coverage.nodes) >= MOST_WORK {
                return Err(RestoreError::Numbers { job, cross });
            }
            match all.get_mut(cross as usize) {
                Some(slot) if end <= n_subproblems => *slot = coverage,
                _ => return Err(RestoreError::Coverage { job, cross }),
            }
        }
        counting = Some(Counting::new(Arc::new(plan), crosses, all));
    }
    let is_planned = counting.is_some();
    if (entry.phase == Phase::Planning && is_planned) || (entry.phase == Phase::Active && !is_planned) {
        return Err(RestoreError::Phase { job, phase: entry.phase });
    }
    let mut restored = Job::new(entry, counting).restored();
    if restored.is_open() {
        restored.set_seed(run.seed(job));
    }
    if has_second_counts && let Some((recounts, _)) = restored.recounting_mut() {
        recounts.note_second_count();
    }
    if restored.phase() == Phase::Done && !restored.is_complete() {
        return Err(RestoreError::Incomplete { job });
    }
    Ok(restored)
}
