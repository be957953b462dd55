//! TLS of the coordinator's ports: what they show now, read again when its files change.

use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use queens_auth::{Loaded, Pin, ServerFiles, TlsError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(5);

/// What is spoken above TLS on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Above {
    Grpc,
    Pages,
}

/// TLS of the coordinator's ports.
pub struct Tls {
    files: ServerFiles,
    now: RwLock<Now>,
}

/// What is shown to those that connect now.
struct Now {
    loaded: Loaded,
    grpc: TlsAcceptor,
    pages: TlsAcceptor,
}

impl Now {
    fn new(loaded: Loaded) -> Self {
        // Browsers would have people choose a certificate of theirs, if they were asked for one.
        let grpc = loaded.config(&[b"h2"], true).into();
        let pages = loaded.config(&[b"http/1.1"], false).into();
        Self { loaded, grpc, pages }
    }
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// If they can't be used.
    pub fn load(files: ServerFiles) -> Result<Arc<Self>, TlsError> {
        let now = RwLock::new(Now::new(files.load()?));
        Ok(Arc::new(Self { files, now }))
    }

    /// What workers may know the coordinator by.
    #[must_use]
    pub fn pin(&self) -> Pin {
        self.now(|now| now.loaded.pin())
    }

    pub(crate) fn acceptor(&self, above: Above) -> TlsAcceptor {
        self.now(|now| match above {
            Above::Grpc => now.grpc.clone(),
            Above::Pages => now.pages.clone(),
        })
    }

    /// Reads the files again whenever they change, or SIGHUP comes, until `stop` is cancelled. As long as what is in them
    /// can't be used, all stays as it was, and the log says so. Connections that are there stay as they are.
    ///
    /// # Errors
    /// If the signal can't be listened to.
    pub fn follow(self: &Arc<Self>, stop: CancellationToken) -> io::Result<()> {
        let mut hangup = signal(SignalKind::hangup())?;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let tls = self.clone();
        tokio::spawn(async move {
            let mut told = None;
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = hangup.recv() => told = None,
                    _ = look.tick() => {}
                }
                let looking = tls.clone();
                let looked = tokio::task::spawn_blocking(move || looking.look()).await;
                let failure = looked.ok().and_then(Result::err).map(|error| error.to_string());
                // Said once, however often it is looked at.
                if let Some(reason) = failure.as_deref().filter(|reason| told.as_deref() != Some(*reason)) {
                    warn!(reason, "the new TLS files can't be used: those of before stay in use");
                }
                told = failure;
            }
        });
        Ok(())
    }

    fn look(&self) -> Result<(), TlsError> {
        let before = self.now(|now| now.loaded.clone());
        if let Some(loaded) = self.files.load_if_changed(&before)? {
            info!(pin = %loaded.pin(), "the TLS files have changed: new connections are shown what is in them now");
            *self.now.write().unwrap_or_else(PoisonError::into_inner) = Now::new(loaded);
        }
        Ok(())
    }

    fn now<T>(&self, look: impl FnOnce(&Now) -> T) -> T {
        // Nothing is left half done in there.
        look(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Tls {
    /// Nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}
