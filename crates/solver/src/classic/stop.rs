//! The stop flag of the textbook methods.

use std::sync::atomic::{AtomicBool, Ordering};

/// The methods read the flag at each partial placement with at least this many queens to go. Fewer queens take
/// milliseconds at most, and so few reads cost nothing.
const QUEENS_TO_GO_AT_STOP_CHECKS: usize = 6;

/// Returns whether a method must stop.
pub(super) fn is_to_stop(queens_to_go: usize, stop: &AtomicBool) -> bool {
    queens_to_go >= QUEENS_TO_GO_AT_STOP_CHECKS && stop.load(Ordering::Relaxed)
}
