//! TLS of the coordinator's ports, with certificates that are reloaded when their files change.

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

/// How often the files are checked.
const LOOK: Duration = Duration::from_secs(5);

/// The protocol above TLS on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppProtocol {
    Grpc,
    Pages,
}

/// The present TLS configuration of the ports, which follows its files.
pub struct Tls {
    files: ServerFiles,
    now: RwLock<Now>,
}

/// The configuration for new connections.
struct Now {
    loaded: Loaded,
    grpc: TlsAcceptor,
    pages: TlsAcceptor,
}

impl Now {
    fn new(loaded: Loaded) -> Self {
        // The pages request no client certificate: browsers would ask people to choose one.
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

    /// Returns the pin of the present key, by which workers can verify the coordinator.
    #[must_use]
    pub fn pin(&self) -> Pin {
        self.now(|now| now.loaded.pin())
    }

    /// Returns the acceptor of a port's next connections.
    pub(crate) fn acceptor(&self, app_protocol: AppProtocol) -> TlsAcceptor {
        self.now(|now| match app_protocol {
            AppProtocol::Grpc => now.grpc.clone(),
            AppProtocol::Pages => now.pages.clone(),
        })
    }

    /// Reloads the files when they change, and on SIGHUP, until `stop` is cancelled. Unusable files are logged, and the
    /// previous ones stay in use. Established connections are not affected.
    ///
    /// # Errors
    /// If the signal handler can't be installed.
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
                // Logged once, not at each check.
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
            info!(pin = %loaded.pin(), "the TLS files have changed: new connections use them");
            *self.now.write().unwrap_or_else(PoisonError::into_inner) = Now::new(loaded);
        }
        Ok(())
    }

    fn now<T>(&self, look: impl FnOnce(&Now) -> T) -> T {
        // A panic leaves no inconsistent state: the value is replaced as a whole.
        look(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Tls {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}
