//! What it costs to read an input.

use std::time::Duration;

use peak_alloc::PeakAlloc;
use rustix::time::{ClockId, clock_gettime};

/// Counts what is allocated.
#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What something has cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// The most that was allocated at a time beyond what was before.
    pub(crate) n_bytes: usize,
    /// Processor time of this thread.
    pub(crate) time: Duration,
}

/// Does something, and says what it has cost. All threads of the process count.
pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (bytes_before, time_before) = (ALLOCATOR.current_usage(), thread_time());
    ALLOCATOR.reset_peak_usage();
    let done = work();
    let time = thread_time().saturating_sub(time_before);
    let n_bytes = ALLOCATOR.peak_usage().saturating_sub(bytes_before);
    (done, Cost { n_bytes, time })
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
    seconds + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}
