//! The desk as counting threads and the session share it.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use queens_model::{LeaseId, LeasedSpan};
use queens_solver::{BoardSize, Count, Method, Part, parts_in_counting_order};
use queens_worker_session::{LeaseQueue, LeaseToCount};
use tokio::sync::Notify;

/// A desk, and who waits for what happens on it. A thread comes to it twice for each chunk, for a moment.
#[derive(Debug, Default)]
pub(crate) struct SharedQueue {
    open: Mutex<OpenDesk>,
    /// For threads: there may be a lease to count.
    lease_came: Condvar,
    /// For the session: a lease has ended.
    lease_ended: Notify,
    /// What span numbers mean, of the last board of each method.
    parts: Mutex<BTreeMap<Method, PartsOfBoard>>,
}

/// All parts of a board, in counting order.
type PartsOfBoard = (BoardSize, Arc<[Part]>);

#[derive(Debug, Default)]
struct OpenDesk {
    queue: LeaseQueue,
    /// Whether the threads are to go home.
    is_closed: bool,
}

/// What counting threads do.
impl SharedQueue {
    /// The next lease to count; waits for one. `None` when the desk is closed.
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

    /// Takes the next chunk of a lease in hand; `None` if nothing is left of it.
    pub(crate) fn begin(&self, lease: LeaseId) -> Option<LeasedSpan> {
        lock(&self.open).queue.begin(lease)
    }

    /// The chunk in hand has been counted.
    pub(crate) fn finish(&self, lease: LeaseId, count: Count, duration: Duration) {
        lock(&self.open).queue.finish(lease, count, duration);
    }

    /// The chunk in hand can't be counted, or what comes next if none is in hand.
    pub(crate) fn fail(&self, lease: LeaseId, reason: String) {
        lock(&self.open).queue.fail(lease, reason);
    }

    /// Lets go of a lease.
    pub(crate) fn end(&self, lease: LeaseId) {
        lock(&self.open).queue.end(lease);
        self.lease_ended.notify_one();
    }

    /// The parts that span numbers of boards of size `n` mean by this method; kept for the last n asked for.
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

/// What the session does.
impl SharedQueue {
    /// Does something at the desk.
    pub(crate) fn at<T>(&self, act: impl FnOnce(&mut LeaseQueue) -> T) -> T {
        act(&mut lock(&self.open).queue)
    }

    /// There may be one more lease to count.
    pub(crate) fn wake_thread(&self) {
        self.lease_came.notify_one();
    }

    /// Returns when a lease has ended since the last time.
    pub(crate) async fn lease_ended(&self) {
        self.lease_ended.notified().await;
    }
}

/// What anybody does.
impl SharedQueue {
    /// How many leases are held.
    pub(crate) fn n_held(&self) -> usize {
        lock(&self.open).queue.n_held()
    }

    /// Sends the threads home.
    pub(crate) fn close(&self) {
        let mut open = lock(&self.open);
        open.queue.cancel_all();
        open.is_closed = true;
        drop(open);
        self.lease_came.notify_all();
    }
}

/// A thread that panicked leaves its data as complete as any other: each lock is held for one whole change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
