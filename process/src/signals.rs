//! What the signals mean that stop a process.

use std::io;
use std::process;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::output::complain;

/// A signal that comes sooner after the first counts as the same one: it may be sent to a process and to its group.
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
