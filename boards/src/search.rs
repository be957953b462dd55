//! How searches end, and what they tried on the way.

use crate::placement::Placement;

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// With a solution.
    Found(Placement),
    /// Everything was looked at, and there is no solution.
    None,
    /// It was told to stop before its end.
    Stopped,
}

/// What a search tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Squares on which a queen was tried.
    pub squares: u64,
    /// Queens placed.
    pub placed: u64,
    /// Queens taken back.
    pub taken_back: u64,
    /// Squares that placed queens made unavailable, in searches that keep account of them; else 0.
    pub pruned: u64,
}

/// The stop flag is read once for so many squares tried.
pub(super) const SQUARES_BETWEEN_STOP_CHECKS: u64 = 1024;
