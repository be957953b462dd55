//! The work of halves, and estimates of it.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use crate::choice::{Choice, PlanProgress};
use crate::halves::parts::HalvesPart;
use crate::parallel::parallel;
use crate::symmetry::Symmetry;

/// Pairs of halves that make a unit of work: so many that a fast thread does some 10^9 units a second.
pub(crate) const PAIRS_PER_UNIT: u128 = 256;

/// What is decided about each of the parts. `None` if `stop` is set before the end, or if a thread can't be started.
pub(crate) fn choices(
    parts: &[HalvesPart],
    n_threads: NonZeroUsize,
    stop: &AtomicBool,
    progress: &PlanProgress,
) -> Option<Vec<Choice>> {
    let go_on = |_| !stop.load(std::sync::atomic::Ordering::Relaxed);
    let choices = parallel(n_threads, parts.len(), go_on, |i| {
        let n_subproblems = parts[i].n_subproblems();
        progress.step();
        Choice { image: Symmetry::IDENTITY, n_subproblems, work: u128::from(n_subproblems) }
    });
    choices.ok().filter(|choices| choices.len() == parts.len())
}
