//! The two ends of a worker's session.

use tokio::sync::mpsc;

use queens_model::{ToCoordinator, ToWorker};

/// How many messages may wait for a worker: two leases for each thread of a very large machine fit in.
const TO_WORKER: usize = 8192;

/// How many messages of one worker may wait for the coordinator.
const TO_COORDINATOR: usize = 16;

/// One end of a session: it sends `S` and receives `R`. Dropping it ends the session.
#[derive(Debug)]
pub struct Link<S, R> {
    /// To the other end.
    pub sender: mpsc::Sender<S>,
    /// From the other end; `None` once that is gone.
    pub receiver: mpsc::Receiver<R>,
}

/// A session inside one process: the worker's end and the coordinator's.
#[must_use]
pub fn link() -> (Link<ToCoordinator, ToWorker>, Link<ToWorker, ToCoordinator>) {
    let (to_coordinator, from_worker) = mpsc::channel(TO_COORDINATOR);
    let (to_worker, from_coordinator) = mpsc::channel(TO_WORKER);
    let worker = Link { sender: to_coordinator, receiver: from_coordinator };
    let coordinator = Link { sender: to_worker, receiver: from_worker };
    (worker, coordinator)
}
