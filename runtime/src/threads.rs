//! How many threads count.

use std::num::{NonZeroU32, NonZeroUsize};
use std::thread;

use queens_model::MOST_THREADS;

/// Reads a number of counting threads.
///
/// # Errors
/// If the text is no number from 1 to 4096.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads: Option<NonZeroU32> = text.parse().ok();
    let threads = threads.filter(|threads| threads.get() <= MOST_THREADS);
    let threads = threads.and_then(|threads| threads.try_into().ok());
    threads.ok_or_else(|| format!("expected a number of threads from 1 to {MOST_THREADS}"))
}

/// One thread for each processor, as long as one worker can have as many.
#[must_use]
pub fn default_threads() -> NonZeroUsize {
    let most = usize::try_from(MOST_THREADS).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN);
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN).min(most)
}
