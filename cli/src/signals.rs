//! Ctrl-C and SIGTERM: the first asks to stop, the second stops.

use std::io::{self, Write};
use std::process;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels `stop` at the first signal and ends the process at the second.
///
/// # Errors
/// If the signals can't be listened to.
pub(crate) fn cancel_on_signal(stop: CancellationToken) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        for first in [true, false] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if first {
                stop.cancel();
            } else {
                _ = writeln!(io::stderr(), "stopped at once");
                process::exit(1);
            }
        }
    });
    Ok(())
}
