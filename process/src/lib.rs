//! What every program of the project does alike: arguments, error messages, logs, numbers and signals.

mod arguments;
pub mod logs;
pub mod metrics;
mod output;

use std::io;
use std::num::NonZeroUsize;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use arguments::{arguments, wrong_usage};
pub use output::{complain, is_colourful, is_screen, print, say, stdout};

/// The version of the programs; that of a release with the commit it was built on, if that is known: "0.1.0+1a2b3c4d5e6f".
pub const VERSION: &str = env!("QUEENS_VERSION");

/// Signals that come sooner after the first are taken for the same: what stops a process may tell it and its group.
const SAME_SIGNAL: Duration = Duration::from_millis(250);

/// Cancels `stop` at the first Ctrl-C or SIGTERM and ends the process at the second.
///
/// # Errors
/// If the signals can't be listened to.
pub fn cancel_on_signal(stop: CancellationToken) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        let mut first: Option<Instant> = None;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            match first {
                None => {
                    first = Some(Instant::now());
                    stop.cancel();
                }
                Some(first) if first.elapsed() < SAME_SIGNAL => {}
                Some(_) => {
                    complain("stopped at once by a second signal");
                    process::exit(1);
                }
            }
        }
    });
    Ok(())
}

/// Lets this process open as many files, connections among them, as the system allows it to: the usual limit of 1024 is
/// meant for programs that do not know better. Returns how many that are.
///
/// # Errors
/// If the limit can't be read or raised.
pub fn allow_many_files() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(hard)
}

/// More threads than any machine has processors; a bound so that a typing error starts no million.
const MOST_THREADS: usize = 4096;

/// Reads a number of counting threads.
///
/// # Errors
/// If the text is no number from 1 to 4096.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads = text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= MOST_THREADS);
    threads.ok_or_else(|| format!("expected a number of threads from 1 to {MOST_THREADS}"))
}

/// One thread for each processor, as long as one worker can have as many.
#[must_use]
pub fn default_threads() -> NonZeroUsize {
    let most = NonZeroUsize::new(MOST_THREADS).unwrap_or(NonZeroUsize::MIN);
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN).min(most)
}
