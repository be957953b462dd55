//! TLS of the coordinator's ports, with certificates that are reloaded when their files change.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use queens_auth::{Loaded, Pin, ServerFiles, TlsError};
use queens_platform::Hangups;
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How often the files are checked.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The protocol of a port, above TLS if it has that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppProtocol {
    Grpc,
    Pages,
}

/// The present TLS configuration of the ports, which follows its files.
pub(crate) struct Tls {
    files: ServerFiles,
    /// The configuration for new connections.
    current: RwLock<Loaded>,
}

impl Tls {
    pub(crate) fn load(files: ServerFiles) -> Result<Arc<Self>, TlsError> {
        let current = RwLock::new(files.load()?);
        Ok(Arc::new(Self { files, current }))
    }

    /// Returns the pin of the present key, by which workers can verify the coordinator.
    pub(crate) fn pin(&self) -> Pin {
        self.current.read().pin
    }

    /// Returns the acceptor of a port's next connections.
    pub(crate) fn acceptor(&self, app_protocol: AppProtocol) -> TlsAcceptor {
        let current = self.current.read();
        match app_protocol {
            AppProtocol::Grpc => current.grpc.clone().into(),
            AppProtocol::Pages => current.pages.clone().into(),
        }
    }

    /// Reloads the files when they change, and at a [request](Hangups), until `stop` is cancelled. Unusable files are
    /// logged, and the previous ones stay in use. Established connections are not affected.
    pub(crate) fn follow(self: &Arc<Self>, stop: CancellationToken) -> io::Result<()> {
        let mut hangups = Hangups::new()?;
        let mut poll = tokio::time::interval(POLL_INTERVAL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let tls = self.clone();
        tokio::spawn(async move {
            let mut told = None;
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = hangups.next() => told = None,
                    _ = poll.tick() => {}
                }
                let reloading = tls.clone();
                let reloaded = tokio::task::spawn_blocking(move || reloading.reload_if_changed()).await;
                let failure = reloaded.ok().and_then(Result::err).map(|error| error.to_string());
                // Logged once, not at each check.
                if let Some(reason) = failure.as_deref().filter(|reason| told.as_deref() != Some(*reason)) {
                    warn!(reason, "the new TLS files can't be used: those of before stay in use");
                }
                told = failure;
            }
        });
        Ok(())
    }

    fn reload_if_changed(&self) -> Result<(), TlsError> {
        let before = self.current.read().clone();
        if let Some(loaded) = self.files.load_if_changed(&before)? {
            info!(pin = %loaded.pin, "the TLS files have changed: new connections use them");
            *self.current.write() = loaded;
        }
        Ok(())
    }
}

impl fmt::Debug for Tls {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}
