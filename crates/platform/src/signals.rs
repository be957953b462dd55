//! Signals that this process receives, and the one that it sends to its supervisor.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff,
    ctrl_shutdown,
};

/// Requests to stop.
///
/// On Unix: SIGINT, which Ctrl-C sends, and SIGTERM. On Windows: Ctrl-C, Ctrl-Break, closing the console, logging
/// off, and the system's shutdown; after the last three, Windows ends the process within seconds.
#[derive(Debug)]
pub struct StopSignals {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(windows)]
    keys: (CtrlC, CtrlBreak),
    #[cfg(windows)]
    ends: (CtrlClose, CtrlLogoff, CtrlShutdown),
}

impl StopSignals {
    /// Listens to them from now on: they no longer end the process. Must be called in a Tokio runtime.
    ///
    /// # Errors
    /// If the process can't listen.
    pub fn new() -> io::Result<Self> {
        #[cfg(unix)]
        return Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        });
        #[cfg(windows)]
        Ok(Self { keys: (ctrl_c()?, ctrl_break()?), ends: (ctrl_close()?, ctrl_logoff()?, ctrl_shutdown()?) })
    }

    /// Waits for the next one. Signals of one kind that came before this call count as one. Cancel safe.
    pub async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        #[cfg(windows)]
        tokio::select! {
            _ = self.keys.0.recv() => {}
            _ = self.keys.1.recv() => {}
            _ = self.ends.0.recv() => {}
            _ = self.ends.1.recv() => {}
            _ = self.ends.2.recv() => {}
        }
    }
}

/// Requests to read files again: SIGHUP on Unix. Windows has none.
#[derive(Debug)]
pub struct Hangups {
    #[cfg(unix)]
    hangup: Signal,
}

impl Hangups {
    /// Listens to them from now on: they no longer end the process, also when this value is dropped. Must be called in
    /// a Tokio runtime.
    ///
    /// # Errors
    /// If the process can't listen.
    pub fn new() -> io::Result<Self> {
        #[cfg(unix)]
        return Ok(Self { hangup: signal(SignalKind::hangup())? });
        #[cfg(windows)]
        Ok(Self {})
    }

    /// Waits for the next one; on Windows for ever. Cancel safe.
    pub async fn next(&mut self) {
        #[cfg(unix)]
        {
            _ = self.hangup.recv().await;
        }
        #[cfg(windows)]
        std::future::pending::<()>().await;
    }
}

/// Notifies a supervisor such as systemd, by its protocol, that this process is ready. Does nothing without one, or on
/// Windows.
///
/// # Errors
/// If there is one, and it can't be notified.
pub fn notify_ready() -> io::Result<()> {
    #[cfg(unix)]
    sd_notify::notify(&[sd_notify::NotifyState::Ready])?;
    Ok(())
}
