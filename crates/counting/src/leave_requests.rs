//! Requests to a worker to leave its session: for good, or for a while.

use std::future::pending;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The requests that a worker's sessions listen to. Clones listen to the same ones.
#[derive(Clone, Debug)]
pub struct LeaveRequests {
    /// Cancelled when the worker must leave for good. It then waits a limited time for its last acknowledgements.
    pub drain: CancellationToken,
    /// Says whether the worker must count nothing for now.
    pub pause: PauseFlag,
}

impl LeaveRequests {
    /// Returns requests that never pause the worker.
    #[must_use]
    pub fn without_pauses(drain: CancellationToken) -> Self {
        Self { drain, pause: PauseFlag(watch::channel(false).1) }
    }
}

/// Whether a worker must count nothing for now. If the sender is dropped, the last value stays.
#[derive(Clone, Debug)]
pub struct PauseFlag(watch::Receiver<bool>);

impl PauseFlag {
    /// Returns whether the worker must count nothing now.
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the worker must count nothing. Cancel safe.
    pub async fn set(&self) {
        self.becomes(true).await;
    }

    /// Waits until the worker may count. Cancel safe.
    pub async fn cleared(&self) {
        self.becomes(false).await;
    }

    async fn becomes(&self, wanted: bool) {
        if self.0.clone().wait_for(|value| *value == wanted).await.is_err() {
            pending::<()>().await;
        }
    }
}

impl From<watch::Receiver<bool>> for PauseFlag {
    fn from(receiver: watch::Receiver<bool>) -> Self {
        Self(receiver)
    }
}
