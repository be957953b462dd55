//! What planning decides about parts, and how far it is.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::symmetry::Symmetry;

/// What planning decides about a part. With this stored, the plan can be had again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The image that a cross is counted on; the identity for halves.
    pub image: Symmetry,
    /// The number of subproblems.
    pub n_subproblems: u64,
    /// The estimated work of the whole part: nodes for a cross, units of work for halves.
    pub work: u128,
}

/// Which of the two times a board is counted by one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    /// The first.
    #[default]
    First,
    /// The second: each cross on another image, so that its nodes are others and its solutions the same.
    Second,
}

/// How far a plan is while it is being made. Other threads may look at it.
#[derive(Debug, Default)]
pub struct PlanProgress {
    n_parts: AtomicUsize,
    n_planned: AtomicUsize,
}

impl PlanProgress {
    /// The parts of the plan; 0 before they are listed, which takes a fraction of a second.
    #[must_use]
    pub fn n_parts(&self) -> usize {
        self.n_parts.load(Ordering::Relaxed)
    }

    /// How many of them are planned. Their order is scattered, so this grows evenly with time.
    #[must_use]
    pub fn n_planned(&self) -> usize {
        self.n_planned.load(Ordering::Relaxed)
    }

    /// So many parts are listed.
    pub(crate) fn begin(&self, n_parts: usize) {
        self.n_parts.store(n_parts, Ordering::Relaxed);
    }

    /// One more is planned.
    pub(crate) fn step(&self) {
        self.n_planned.fetch_add(1, Ordering::Relaxed);
    }
}
