//! Stops a process at a signal, and tells a supervisor that it is ready.

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context;
use queens_platform::{StopSignal, StopSignals, notify_ready};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::output::complain;

/// The time in which repeated signals count as one: a sender may signal both the process and its group.
const SAME_SIGNAL: Duration = Duration::from_millis(250);

/// The first signal that this process handled.
static RECEIVED: OnceLock<StopSignal> = OnceLock::new();

/// Notifies a supervisor such as systemd that this process is ready. Does nothing without one.
pub fn ready() {
    if let Err(error) = notify_ready() {
        warn!(%error, "failed to notify the supervisor that this process is ready");
    }
}

/// Returns a token that the first [signal](StopSignals) cancels. The second ends the process. A command that ends soon
/// after the first calls [`end_if_signalled`].
///
/// # Errors
/// If the process can't listen to the signals.
pub fn stop_on_signal() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    let mut signals = StopSignals::new().context("failed to listen to signals")?;
    tokio::spawn(async move {
        _ = RECEIVED.set(signals.next().await);
        cancelled.cancel();
        tokio::time::sleep(SAME_SIGNAL).await;
        // A check of the time since the first would fail: after a suspension, the process handles the second late.
        while timeout(Duration::ZERO, signals.next()).await.is_ok() {}
        let second = signals.next().await;
        complain("stopped at once by a second signal");
        second.end_process();
    });
    Ok(stop)
}

/// Notes Ctrl-C from a terminal in raw mode, which sends no signal.
pub fn note_ctrl_c() {
    _ = RECEIVED.set(StopSignal::Interrupt);
}

/// Ends this process by the signal that it handled, if there was one.
pub fn end_if_signalled() {
    if let Some(signal) = RECEIVED.get() {
        signal.end_process();
    }
}
