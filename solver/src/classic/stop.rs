//! When methods give up.

use std::sync::atomic::{AtomicBool, Ordering};

/// The methods read the stop flag at each partial placement with at least so many queens to go. What is below takes
/// milliseconds at most, and so few reads cost nothing.
const QUEENS_TO_GO_AT_STOP_CHECKS: usize = 6;

/// Whether a method is to give up, as nobody wants its count any more.
pub(super) fn is_to_stop(queens_to_go: usize, stop: &AtomicBool) -> bool {
    queens_to_go >= QUEENS_TO_GO_AT_STOP_CHECKS && stop.load(Ordering::Relaxed)
}
