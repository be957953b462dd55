//! Results and statistics of searches.

use super::placement::Placement;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// The search found a solution.
    Found(Placement),
    /// The search is complete, and there is no solution.
    None,
    /// A flag stopped the search before its end.
    Stopped,
}

/// The statistics of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Squares on which a queen was tried.
    pub squares: u64,
    /// Queens placed.
    pub placed: u64,
    /// Queens taken back.
    pub taken_back: u64,
    /// Squares that placed queens made unavailable, in searches that count them; else 0.
    pub pruned: u64,
}

/// Squares tried between two reads of the stop flag.
pub(super) const SQUARES_BETWEEN_STOP_CHECKS: u64 = 1024;
