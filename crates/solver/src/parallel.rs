//! A parallel map over several threads.

use std::io;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use thiserror::Error;

/// The error of a thread that can't be started.
#[derive(Debug, Error)]
#[error("failed to start a thread")]
pub struct ThreadError(#[from] io::Error);

/// Maps the numbers below `len`, in order, on several threads, while `go_on` returns true.
///
/// Each thread takes the next number as soon as it is done, so that none waits for work. A panic of `map` goes on in
/// the caller.
///
/// # Errors
/// If a thread can't be started.
pub fn parallel<T: Send>(
    n_threads: NonZeroUsize,
    len: usize,
    go_on: impl Fn(usize) -> bool + Sync,
    map: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>, ThreadError> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= len || !go_on(i) {
                return done;
            }
            done.push((i, map(i)));
        }
    };
    let mut mapped = thread::scope(|scope| {
        let mut helpers = Vec::new();
        for _ in 1..n_threads.get().min(len) {
            // A thread failed to start: the running threads get no more work.
            let stop = |_: &io::Error| next.store(len, Ordering::Relaxed);
            helpers.push(thread::Builder::new().spawn_scoped(scope, run).inspect_err(stop)?);
        }
        let mut mapped = run();
        for helper in helpers {
            mapped.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        Ok::<_, io::Error>(mapped)
    })?;
    mapped.sort_unstable_by_key(|&(i, _)| i);
    Ok(mapped.into_iter().map(|(_, value)| value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_do_each_item_once_in_order() {
        for n_threads in [1, 3, 8] {
            let n_threads = NonZeroUsize::new(n_threads).expect("not 0");
            let squares = parallel(n_threads, 100, |_| true, |i| i * i).expect("threads");
            assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
            let some = parallel(n_threads, 100, |i| i < 10, |i| i).expect("threads");
            assert_eq!(some, (0..10).collect::<Vec<_>>());
            assert!(parallel(n_threads, 0, |_| true, |i| i).expect("threads").is_empty());
        }
    }
}
