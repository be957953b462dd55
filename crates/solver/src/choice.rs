//! Planning results for one part, and the progress of planning.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::symmetry::Symmetry;

/// The planned image, numbering and work of one part. Stored choices restore a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The image on which a cross is counted; the identity for half boards.
    pub image: Symmetry,
    /// The number of subproblems.
    pub n_subproblems: u64,
    /// The estimated work of the whole part: nodes for a cross, units for half boards.
    pub work: u128,
}

/// The first or second count of a board by one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    /// The first count.
    #[default]
    First,
    /// The second count: each cross on another image, which has other nodes and the same solutions.
    Second,
}

/// The progress of a plan in the making. Other threads may read it.
#[derive(Debug, Default)]
pub struct PlanProgress {
    n_parts: AtomicUsize,
    n_planned: AtomicUsize,
}

impl PlanProgress {
    /// Returns the number of parts; 0 before they are listed, which takes a fraction of a second.
    #[must_use]
    pub fn n_parts(&self) -> usize {
        self.n_parts.load(Ordering::Relaxed)
    }

    /// Returns the number of planned parts. Their order is scattered, so this grows evenly with time.
    #[must_use]
    pub fn n_planned(&self) -> usize {
        self.n_planned.load(Ordering::Relaxed)
    }

    /// Records the number of listed parts.
    pub(crate) fn begin(&self, n_parts: usize) {
        self.n_parts.store(n_parts, Ordering::Relaxed);
    }

    /// Records that one more part is planned.
    pub(crate) fn step(&self) {
        self.n_planned.fetch_add(1, Ordering::Relaxed);
    }
}
