//! An open session of a worker, which gRPC and counting in this process use alike.

use queens_ledger::{Session, WorkerRefusal};
use queens_model::ToCoordinator;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::command::Command;
use crate::loop_monitor::LoopMonitor;

/// The most messages that wait for a worker: two leases for each thread of a very large machine.
pub(crate) const MOST_WAITING: usize = 8192;

/// A worker's open session. If the coordinator stops or closes it, its messages to the worker end.
#[derive(Debug)]
pub struct OpenSession {
    pub(crate) session: Session,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) loop_monitor: LoopMonitor,
}

impl OpenSession {
    /// Passes a message of the worker to the event loop, and waits until that has taken it. The last message to the
    /// worker answers a goodbye.
    ///
    /// # Errors
    /// If the worker is refused.
    pub async fn pass(&self, message: ToCoordinator) -> Result<(), WorkerRefusal> {
        let (session, came, (reply, answer)) = (self.session, Instant::now(), oneshot::channel());
        // Without an answer, the coordinator has stopped.
        if self.commands.send(Command::Message { session, message, came, reply }).await.is_ok() {
            answer.await.unwrap_or(Ok(()))?;
        }
        self.loop_monitor.note_contact();
        Ok(())
    }

    /// Ends the session, unless the worker has said goodbye. It may come back.
    pub async fn disconnect(self) {
        self.commands.send(Command::Disconnect { session: self.session }).await.unwrap_or(());
    }
}
