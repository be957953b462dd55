//! What the signals mean that stop a process.

use std::io;
use std::process;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::output::complain;

/// How long further signals count as the first: one may be sent to a process and to its group.
const SAME_SIGNAL: Duration = Duration::from_millis(250);

/// From now on, SIGHUP means that files are to be read again, to whoever listens to it, and nothing where nobody does. To
/// other processes it means the end. Has to be called in a runtime.
///
/// # Errors
/// If the signal can't be listened to.
pub fn go_on_at_hangup() -> io::Result<()> {
    signal(SignalKind::hangup()).map(drop)
}

/// Tells whoever supervises this process, as systemd does by its protocol, that it is ready. Where nobody does, nothing.
pub fn ready() {
    if let Err(error) = sd_notify::notify(&[NotifyState::Ready]) {
        warn!(%error, "whoever supervises this is not told that it is ready");
    }
}

/// Cancels `stop` at the first Ctrl-C or SIGTERM and ends the process at the second.
///
/// # Errors
/// If the signals can't be listened to.
pub fn cancel_on_signal(stop: CancellationToken) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        next(&mut interrupt, &mut terminate).await;
        stop.cancel();
        tokio::time::sleep(SAME_SIGNAL).await;
        // Not by the time since the first: a machine that stood still between the two handles the other late.
        _ = timeout(Duration::ZERO, interrupt.recv()).await;
        _ = timeout(Duration::ZERO, terminate.recv()).await;
        next(&mut interrupt, &mut terminate).await;
        complain("stopped at once by a second signal");
        process::exit(1);
    });
    Ok(())
}

/// Waits for either signal.
async fn next(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
