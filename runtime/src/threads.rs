//! Parses the number of counting threads.

use std::num::{NonZeroU32, NonZeroUsize};
use std::thread;

use queens_model::MOST_THREADS;

/// Parses a number of counting threads.
///
/// # Errors
/// If the text is no number from 1 to 4096.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads: Option<NonZeroU32> = text.parse().ok();
    let threads = threads.filter(|threads| threads.get() <= MOST_THREADS);
    let threads = threads.and_then(|threads| threads.try_into().ok());
    threads.ok_or_else(|| format!("expected a number of threads from 1 to {MOST_THREADS}"))
}

/// Returns one thread for each processor, at most a worker's maximum.
#[must_use]
pub fn default_threads() -> NonZeroUsize {
    let most = usize::try_from(MOST_THREADS).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN);
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN).min(most)
}
