//! Gives the tails of leases to idle threads when no work is free.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{JobId, LeaseId, ToWorker, WorkerId};
use queens_solver::{Method, Span};

use crate::later::later;
use crate::leases::live_lease::{LiveLease, Purpose};
use crate::schedule::assign::grant;
use crate::schedule::lease_size::{shortest_seconds, whole_nodes};
use crate::state::State;

/// The most tails that one tick hands over, and the most leases or workers that it looks at in vain. The next tick does
/// the rest, so that no event takes long.
const MOST_TAILS: usize = 64;
const MOST_LOOKS: usize = 256;

/// Shares the rest of the leases of each method that has no free work.
pub(crate) fn share_tails(state: &mut State) {
    for method in Method::ALL {
        if state.jobs().first_free(method).is_none() {
            share_tails_of(state, method);
        }
    }
}

/// Cuts off the later half of the slowest leases and gives it to idle threads. The fastest threads come first, so that
/// a tail does not go back to a worker that was too slow for it.
fn share_tails_of(state: &mut State, method: Method) {
    if state.workers().readiness(method).first_idle().is_none() {
        return;
    }
    let worth_it = 2.0 * shortest_seconds(state.workers().readiness(method).power());
    let soon = later(state.now(), worth_it);
    look_at_late_queues(state, soon, method);
    let mut n_shared = 0;
    for _ in 0..MOST_LOOKS {
        let readiness = state.workers().readiness(method);
        let Some(idle) = readiness.first_idle().filter(|_| n_shared < MOST_TAILS) else { return };
        let running = state.leases().last_end(method).filter(|&(end, _)| end >= soon);
        let waiting = readiness.last_queue_end().filter(|&(end, _)| end >= soon);
        let tail = match (running, waiting) {
            (Some((end, lease)), queue) if queue.is_none_or(|(queue_end, _)| queue_end <= end) => {
                cut_running(state, lease)
            }
            (_, Some((_, worker))) => take_waiting(state, worker, method, worth_it),
            (_, None) => return,
        };
        if let Some((job, tail)) = tail {
            grant(state, idle, job, tail, Purpose::First { tried: BTreeSet::new() });
            n_shared += 1;
        }
    }
}

/// Postpones the queue ends of workers whose waiting leases should have ended by `soon` and still wait.
fn look_at_late_queues(state: &mut State, soon: Duration, method: Method) {
    for _ in 0..MOST_LOOKS {
        let Some((end, worker)) = state.workers().readiness(method).first_queue_end() else { return };
        if end >= soon {
            return;
        }
        state.refresh_queue_end(worker);
        let first = state.workers().readiness(method).first_queue_end();
        if first.is_some_and(|(end, first)| first == worker && end < soon) {
            state.forget_queue_end(worker, method);
        }
    }
}

/// Cuts the later half of the expected rest off a running lease.
fn cut_running(state: &mut State, id: LeaseId) -> Option<(JobId, Vec<Span>)> {
    let lease = state.leases().get(id)?;
    let (job, worker) = (lease.job(), state.workers().get(lease.worker())?);
    let silent = state.now().saturating_sub(lease.last_contact());
    let done = worker.estimated(lease.load().method)?.work_per_second() * silent.as_secs_f64();
    let share = whole_nodes((lease.work() as f64 - done).max(0.0) / 2.0);
    let plan = state.counting(job)?.plan().clone();
    let tail = state.change_lease(id, |lease| lease.cut_tail(&plan, share))?;
    tell_cut(state, id, tail).map(|tail| (job, tail))
}

/// Takes the largest waiting lease of a method from a worker.
fn take_waiting(
    state: &mut State,
    id: WorkerId,
    method: Method,
    worth_it: f64,
) -> Option<(JobId, Vec<Span>)> {
    let worker = state.workers().get(id)?;
    let (work, lease) = worker.held_leases().largest_tail(method)?;
    let speed = worker.estimated(method)?.work_per_second();
    let seconds = worker.seconds_before_waiting(state.now()) + work as f64 / speed;
    if seconds < worth_it {
        state.forget_queue_end(id, method);
        return None;
    }
    let job = state.leases().get(lease)?.job();
    let tail = state.change_lease(lease, LiveLease::cut_all)?;
    tell_cut(state, lease, tail).map(|tail| (job, tail))
}

/// Tells a worker which spans were cut off its lease, if any were.
fn tell_cut(state: &mut State, id: LeaseId, tail: Vec<Span>) -> Option<Vec<Span>> {
    let lease = state.leases().get(id).filter(|_| !tail.is_empty())?;
    let (worker, is_over) = (lease.worker(), lease.spans().is_empty());
    state.changes().send(worker, ToWorker::Shorten { lease: id, spans: tail.clone() });
    if is_over {
        state.end_lease(id);
    }
    Some(tail)
}
