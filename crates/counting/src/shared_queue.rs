//! The lease queue, shared by the counting threads and the session, and a cache of the parts of boards.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use queens_model::LeaseId;
use queens_solver::{BoardSize, Method, Part, parts_in_counting_order};
use queens_worker_session::{ChunkAim, LeaseQueue, LeaseToCount};
use tokio::sync::Notify;

/// A lease queue with its notifications. A thread locks it twice for each chunk, for a moment.
#[derive(Debug)]
pub(crate) struct SharedQueue {
    open: Mutex<OpenQueue>,
    /// Notifies threads of a new lease.
    lease_came: Condvar,
    /// Notifies the session of an ended lease.
    lease_ended: Notify,
    /// The parts that span numbers refer to, for the last board of each method.
    parts: Mutex<BTreeMap<Method, PartsOfBoard>>,
}

/// All parts of a board, in counting order.
type PartsOfBoard = (BoardSize, Arc<[Part]>);

#[derive(Debug)]
struct OpenQueue {
    queue: LeaseQueue,
    /// Whether the threads must end.
    is_closed: bool,
}

impl SharedQueue {
    /// Returns a queue without leases.
    pub(crate) fn new(aim: ChunkAim) -> Self {
        Self {
            open: Mutex::new(OpenQueue { queue: LeaseQueue::new(aim), is_closed: false }),
            lease_came: Condvar::new(),
            lease_ended: Notify::new(),
            parts: Mutex::default(),
        }
    }
}

/// Operations of the counting threads.
impl SharedQueue {
    /// Waits for the next lease to count; `None` when the queue is closed.
    pub(crate) fn next_lease(&self) -> Option<LeaseToCount> {
        let mut open = lock(&self.open);
        while !open.is_closed {
            if let Some(lease) = open.queue.next_lease() {
                return Some(lease);
            }
            open = self.lease_came.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// Releases a lease.
    pub(crate) fn end(&self, lease: LeaseId) {
        lock(&self.open).queue.end(lease);
        self.lease_ended.notify_one();
    }

    /// Returns the parts of boards of size `n` by this method, indexed by the numbers in spans. Caches the last `n` of
    /// each method.
    pub(crate) fn parts(&self, n: BoardSize, method: Method) -> Arc<[Part]> {
        let mut kept = lock(&self.parts);
        match kept.get(&method) {
            Some((size, parts)) if *size == n => parts.clone(),
            _ => {
                let parts: Arc<[Part]> = parts_in_counting_order(n, method).into();
                kept.insert(method, (n, parts.clone()));
                parts
            }
        }
    }
}

/// Operations of the session.
impl SharedQueue {
    /// Runs `act` on the locked queue.
    pub(crate) fn at<T>(&self, act: impl FnOnce(&mut LeaseQueue) -> T) -> T {
        act(&mut lock(&self.open).queue)
    }

    /// Wakes a thread for a new lease.
    pub(crate) fn wake_thread(&self) {
        self.lease_came.notify_one();
    }

    /// Waits until a lease has ended since the last call.
    pub(crate) async fn lease_ended(&self) {
        self.lease_ended.notified().await;
    }
}

/// Operations of any caller.
impl SharedQueue {
    /// Returns the number of leases held.
    pub(crate) fn n_held(&self) -> usize {
        lock(&self.open).queue.n_held()
    }

    /// Cancels all leases and ends the threads.
    pub(crate) fn close(&self) {
        let mut open = lock(&self.open);
        open.queue.cancel_all();
        open.is_closed = true;
        drop(open);
        self.lease_came.notify_all();
    }
}

/// Locks a mutex. A panic can't leave its data inconsistent: each lock is held for one whole change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
