//! Adds seconds to a time.

use std::time::Duration;

/// Returns the time some seconds later; the end of time if that is not representable.
pub(crate) fn later(time: Duration, seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|seconds| time.checked_add(seconds))
        .unwrap_or(Duration::MAX)
}
