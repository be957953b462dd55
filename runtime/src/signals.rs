//! Handles SIGINT, SIGTERM and SIGHUP, and tells a supervisor that the process is ready.

use std::io;
use std::process;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::output::complain;

/// The time in which repeated signals count as one: a sender may signal both the process and its group.
const SAME_SIGNAL: Duration = Duration::from_millis(250);

/// Makes SIGHUP a request to reload files: those who listen to it reload, and other code ignores it. By default the
/// signal ends a process. Must be called in a Tokio runtime.
///
/// # Errors
/// If the process can't listen to the signal.
pub fn go_on_at_hangup() -> io::Result<()> {
    signal(SignalKind::hangup()).map(drop)
}

/// Notifies a supervisor such as systemd, by its protocol, that this process is ready. Does nothing without one.
pub fn ready() {
    if let Err(error) = sd_notify::notify(&[NotifyState::Ready]) {
        warn!(%error, "failed to notify the supervisor that this process is ready");
    }
}

/// Cancels `stop` at the first Ctrl-C or SIGTERM and ends the process at the second.
///
/// # Errors
/// If the process can't listen to the signals.
pub fn cancel_on_signal(stop: CancellationToken) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        next(&mut interrupt, &mut terminate).await;
        stop.cancel();
        tokio::time::sleep(SAME_SIGNAL).await;
        // A check of the time since the first would fail: after a suspension, the process handles the second late.
        _ = timeout(Duration::ZERO, interrupt.recv()).await;
        _ = timeout(Duration::ZERO, terminate.recv()).await;
        next(&mut interrupt, &mut terminate).await;
        complain("stopped at once by a second signal");
        process::exit(1);
    });
    Ok(())
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
