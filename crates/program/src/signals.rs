//! Stops a process at a signal, and tells a supervisor that it is ready.

use std::io;
use std::process;
use std::time::Duration;

use queens_platform::{StopSignals, notify_ready};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::output::complain;

/// The time in which repeated signals count as one: a sender may signal both the process and its group.
const SAME_SIGNAL: Duration = Duration::from_millis(250);

/// Notifies a supervisor such as systemd that this process is ready. Does nothing without one.
pub fn ready() {
    if let Err(error) = notify_ready() {
        warn!(%error, "failed to notify the supervisor that this process is ready");
    }
}

/// Cancels `stop` at the first [signal](StopSignals) and ends the process at the second.
///
/// # Errors
/// If the process can't listen to the signals.
pub fn cancel_on_signal(stop: CancellationToken) -> io::Result<()> {
    let mut signals = StopSignals::new()?;
    tokio::spawn(async move {
        signals.next().await;
        stop.cancel();
        tokio::time::sleep(SAME_SIGNAL).await;
        // A check of the time since the first would fail: after a suspension, the process handles the second late.
        while timeout(Duration::ZERO, signals.next()).await.is_ok() {}
        signals.next().await;
        complain("stopped at once by a second signal");
        process::exit(1);
    });
    Ok(())
}
