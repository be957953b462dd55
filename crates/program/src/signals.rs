//! Stops a process at a signal, and tells a supervisor that it is ready.

use std::process;
use std::time::Duration;

use anyhow::Context;
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

/// Returns a token that the first [signal](StopSignals) cancels. The second ends the process.
///
/// # Errors
/// If the process can't listen to the signals.
pub fn stop_on_signal() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    let mut signals = StopSignals::new().context("failed to listen to signals")?;
    tokio::spawn(async move {
        signals.next().await;
        cancelled.cancel();
        tokio::time::sleep(SAME_SIGNAL).await;
        // A check of the time since the first would fail: after a suspension, the process handles the second late.
        while timeout(Duration::ZERO, signals.next()).await.is_ok() {}
        signals.next().await;
        complain("stopped at once by a second signal");
        process::exit(1);
    });
    Ok(stop)
}
