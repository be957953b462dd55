//! Signals that this process receives, and the one that it sends to its supervisor.

use std::{io, process};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff,
    ctrl_shutdown,
};

/// A request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT, as by Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl StopSignal {
    /// Ends this process by this signal: with exit status 130 or 143. A shell ends its loop only if the signal itself
    /// ended the process.
    pub fn end_process(self) -> ! {
        let number = match self {
            Self::Interrupt => 2,
            Self::Terminate => 15,
        };
        // SAFETY: both functions take any number. The default action, unlike a handler, needs nothing of this process.
        #[cfg(unix)]
        unsafe {
            libc::signal(number, libc::SIG_DFL);
            libc::raise(number);
        }
        // The first process of a container survives its own signals.
        process::exit(128 + number)
    }
}

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
    pub async fn next(&mut self) -> StopSignal {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => StopSignal::Interrupt,
            _ = self.terminate.recv() => StopSignal::Terminate,
        }
        #[cfg(windows)]
        tokio::select! {
            _ = self.keys.0.recv() => StopSignal::Interrupt,
            _ = self.keys.1.recv() => StopSignal::Interrupt,
            _ = self.ends.0.recv() => StopSignal::Terminate,
            _ = self.ends.1.recv() => StopSignal::Terminate,
            _ = self.ends.2.recv() => StopSignal::Terminate,
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
