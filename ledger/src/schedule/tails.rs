//! The tails of leases, for threads that have nothing to do when no work is free.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_messages::{JobId, LeaseId, ToWorker, WorkerId};
use queens_solver::{Method, Span};

use crate::book::Book;
use crate::later::later;
use crate::leases::live::{LiveLease, Purpose};
use crate::schedule::feed::grant;
use crate::schedule::size::{shortest_seconds, whole_nodes};

/// Tails handed over in one tick, and leases or workers that one tick looks at in vain: what is left comes with the
/// next tick, so that nothing that happens takes long.
const MOST_TAILS: usize = 64;
const MOST_LOOKS: usize = 256;

/// When no work of a method is free, shares what its leases have left.
pub(crate) fn share_tails(book: &mut Book) {
    for method in Method::ALL {
        if book.jobs().first_free(method).is_none() {
            share_tails_of(book, method);
        }
    }
}

/// Cuts off the later half of what the slowest leases have left and gives it to threads that have nothing to do: the
/// fastest first, as a tail should not go back to the worker that was too slow for it.
fn share_tails_of(book: &mut Book, method: Method) {
    if book.workers().readiness(method).first_idle().is_none() {
        return;
    }
    let worth_it = 2.0 * shortest_seconds(book.workers().readiness(method).power());
    let soon = later(book.now(), worth_it);
    look_at_late_queues(book, soon, method);
    let mut n_shared = 0;
    for _ in 0..MOST_LOOKS {
        let readiness = book.workers().readiness(method);
        let Some(idle) = readiness.first_idle().filter(|_| n_shared < MOST_TAILS) else { return };
        let running = book.leases().last_end(method).filter(|&(end, _)| end >= soon);
        let waiting = readiness.last_queue_end().filter(|&(end, _)| end >= soon);
        let tail = match (running, waiting) {
            (Some((end, lease)), queue) if queue.is_none_or(|(queue_end, _)| queue_end <= end) => {
                cut_running(book, lease)
            }
            (_, Some((_, worker))) => take_waiting(book, worker, method, worth_it),
            (_, None) => return,
        };
        if let Some((job, tail)) = tail {
            grant(book, idle, job, tail, Purpose::First { tried: BTreeSet::new() });
            n_shared += 1;
        }
    }
}

/// Workers whose waiting leases should have ended by `soon` are late, if they wait still: they end later.
fn look_at_late_queues(book: &mut Book, soon: Duration, method: Method) {
    for _ in 0..MOST_LOOKS {
        let Some((end, worker)) = book.workers().readiness(method).first_queue_end() else { return };
        if end >= soon {
            return;
        }
        book.refresh_queue_end(worker);
        let first = book.workers().readiness(method).first_queue_end();
        if first.is_some_and(|(end, first)| first == worker && end < soon) {
            book.forget_queue_end(worker, method);
        }
    }
}

/// Takes the later half of what a running lease should have left off it.
fn cut_running(book: &mut Book, id: LeaseId) -> Option<(JobId, Vec<Span>)> {
    let lease = book.leases().get(id)?;
    let (job, worker) = (lease.job(), book.workers().get(lease.worker())?);
    let silent = book.now().saturating_sub(lease.heard());
    let done = worker.estimated(lease.load().method)?.nodes_per_second() * silent.as_secs_f64();
    let share = whole_nodes((lease.work() as f64 - done).max(0.0) / 2.0);
    let plan = book.counting(job)?.plan().clone();
    let tail = book.change_lease(id, |lease| lease.cut_tail(&plan, share))?;
    tell_cut(book, id, tail).map(|tail| (job, tail))
}

/// Takes the largest of a worker's leases of a method that wait.
fn take_waiting(book: &mut Book, id: WorkerId, method: Method, worth_it: f64) -> Option<(JobId, Vec<Span>)> {
    let worker = book.workers().get(id)?;
    let (work, lease) = worker.hand().largest_tail(method)?;
    let speed = worker.estimated(method)?.nodes_per_second();
    let seconds = worker.seconds_before_waiting(book.now()) + work as f64 / speed;
    if seconds < worth_it {
        book.forget_queue_end(id, method);
        return None;
    }
    let job = book.leases().get(lease)?.job();
    let tail = book.change_lease(lease, LiveLease::cut_all)?;
    tell_cut(book, lease, tail).map(|tail| (job, tail))
}

/// Tells a worker what was taken off its lease, if anything was.
fn tell_cut(book: &mut Book, id: LeaseId, tail: Vec<Span>) -> Option<Vec<Span>> {
    let lease = book.leases().get(id).filter(|_| !tail.is_empty())?;
    let (worker, is_over) = (lease.worker(), lease.spans().is_empty());
    book.changes().send(worker, ToWorker::Shorten { lease: id, spans: tail.clone() });
    if is_over {
        book.end_lease(id);
    }
    Some(tail)
}
