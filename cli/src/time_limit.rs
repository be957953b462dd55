//! Limits on the time that something may take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Reads a time limit in seconds.
pub(crate) fn time_limit(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.ok_or_else(|| "expected a number of seconds, more than 0".to_owned())
}

/// Does `work`, whose flag is set when the time is over.
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
