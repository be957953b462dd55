//! Measures the cost of reading an input.

use std::time::Duration;

use peak_alloc::PeakAlloc;
use queens_platform::thread_time;

/// Counts allocations.
#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The cost of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// The peak of allocated bytes above the amount before.
    pub(crate) n_bytes: usize,
    /// Processor time of this thread.
    pub(crate) time: Duration,
}

/// Runs a function and measures its cost. The bytes include all threads of the process.
pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (bytes_before, time_before) = (ALLOCATOR.current_usage(), thread_time());
    ALLOCATOR.reset_peak_usage();
    let done = work();
    let time = thread_time().saturating_sub(time_before);
    let n_bytes = ALLOCATOR.peak_usage().saturating_sub(bytes_before);
    (done, Cost { n_bytes, time })
}
