//! Time limits of computations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Parses a time limit in seconds.
pub(crate) fn time_limit(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.ok_or_else(|| "expected a number of seconds, more than 0".to_owned())
}

/// Runs `work` with a flag that is set after the time limit.
pub(crate) fn within<T>(limit: Duration, work: impl FnOnce(&AtomicBool) -> T) -> T {
    let stop = &AtomicBool::new(false);
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let result = work(stop);
        drop(done);
        result
    })
}
