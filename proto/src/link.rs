//! A worker's session within one process, as a pair of channels.

use tokio::sync::mpsc;

use queens_model::{ToCoordinator, ToWorker};

/// The most messages that wait for a worker: two leases for each thread of a very large machine.
const TO_WORKER: usize = 8192;

/// The most messages of one worker that wait for the coordinator.
const TO_COORDINATOR: usize = 16;

/// One end of a session: it sends `S` and receives `R`. Dropping it ends the session.
#[derive(Debug)]
pub struct Link<S, R> {
    /// Sends to the other end.
    pub sender: mpsc::Sender<S>,
    /// Receives from the other end; `None` after that is dropped.
    pub receiver: mpsc::Receiver<R>,
}

/// Creates a session within one process: the worker's end and the coordinator's.
#[must_use]
pub fn link() -> (Link<ToCoordinator, ToWorker>, Link<ToWorker, ToCoordinator>) {
    let (to_coordinator, from_worker) = mpsc::channel(TO_COORDINATOR);
    let (to_worker, from_coordinator) = mpsc::channel(TO_WORKER);
    let worker = Link { sender: to_coordinator, receiver: from_coordinator };
    let coordinator = Link { sender: to_worker, receiver: from_worker };
    (worker, coordinator)
}
