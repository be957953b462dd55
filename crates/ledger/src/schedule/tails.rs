//! Gives the tails of leases to idle threads when no work is free.
//!
//! A graphics card's thread is a hundred times as fast as a processor's. Half of a processor's lease keeps a card busy
//! for a moment, and half of a card's a processor for minutes. So the speeds of both threads decide how much is cut
//! off.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{JobId, LeaseId, ToWorker, WorkerId};
use queens_solver::{Method, Span};

use crate::clock::later;
use crate::leases::live_lease::Purpose;
use crate::ledger::Ledger;
use crate::schedule::assign::grant;
use crate::schedule::lease_size::{shortest_tail_seconds, whole_nodes};

/// The most tails that one tick hands over, and the most leases or workers that it looks at in vain. The next tick does
/// the rest, so that no event takes long.
const MOST_TAILS: usize = 64;
const MOST_LOOKS: usize = 256;

/// Shares the rest of the leases of each method that has no free work.
pub(crate) fn share_tails(ledger: &mut Ledger) {
    for method in Method::ALL {
        if ledger.jobs.first_open_free(method).is_none() {
            share_tails_of(ledger, method);
        }
    }
}

/// Cuts off the later half of the slowest leases and gives it to idle threads. The fastest threads come first, so that
/// a tail does not go back to a worker that was too slow for it.
fn share_tails_of(ledger: &mut Ledger, method: Method) {
    if ledger.workers.readiness(method).first_idle().is_none() {
        return;
    }
    let worth_it = 2.0 * shortest_tail_seconds(ledger.workers.readiness(method).power);
    let soon = later(ledger.now, worth_it);
    look_at_late_queues(ledger, soon, method);
    let mut n_shared = 0;
    for _ in 0..MOST_LOOKS {
        let readiness = ledger.workers.readiness(method);
        let Some(idle) = readiness.first_idle().filter(|_| n_shared < MOST_TAILS) else { return };
        let running = ledger.leases.last_end(method).filter(|&(end, _)| end >= soon);
        let waiting = readiness.last_queue_end().filter(|&(end, _)| end >= soon);
        let tail = match (running, waiting) {
            (Some((end, lease)), queue) if queue.is_none_or(|(queue_end, _)| queue_end <= end) => {
                cut_running(ledger, lease, idle)
            }
            (_, Some((_, worker))) => take_waiting(ledger, worker, method, worth_it, idle),
            (_, None) => return,
        };
        if let Some((job, tail)) = tail {
            grant(ledger, idle, job, tail, Purpose::First { tried: BTreeSet::new(), due: None });
            n_shared += 1;
        }
    }
}

/// Postpones the queue ends of workers whose waiting leases should have ended by `soon` and still wait.
fn look_at_late_queues(ledger: &mut Ledger, soon: Duration, method: Method) {
    for _ in 0..MOST_LOOKS {
        let Some((end, worker)) = ledger.workers.readiness(method).first_queue_end() else { return };
        if end >= soon {
            return;
        }
        ledger.workers.refresh_queue_end(ledger.now, worker);
        let first = ledger.workers.readiness(method).first_queue_end();
        if first.is_some_and(|(end, first)| first == worker && end < soon) {
            ledger.workers.forget_queue_end(worker, method);
        }
    }
}

/// Cuts so much of the expected rest off a running lease that its thread and the idle one end together: half, if they
/// are equally fast.
fn cut_running(ledger: &mut Ledger, id: LeaseId, idle: WorkerId) -> Option<(JobId, Vec<Span>)> {
    let lease = ledger.leases.get(id)?;
    let (job, worker) = (lease.job, ledger.workers.get(lease.worker)?);
    let silent = ledger.now.saturating_sub(lease.heard);
    let method = lease.load().method;
    let speed = worker.estimated(method)?.work_per_second;
    let idle_speed = speed_beside(ledger, idle, method, speed)?;
    let rest = (lease.work as f64 - speed * silent.as_secs_f64()).max(0.0);
    let share = whole_nodes(rest * idle_speed / (speed + idle_speed));
    let plan = ledger.counting(job)?.plan().clone();
    let tail = ledger.change_lease(id, |lease| lease.cut_tail(&plan, share))?;
    tell_cut(ledger, id, tail).map(|tail| (job, tail))
}

/// Returns the speed of an idle thread, beside one that has this speed. A thread is not faster because it claims so.
fn speed_beside(ledger: &Ledger, idle: WorkerId, method: Method, speed: f64) -> Option<f64> {
    let idle = ledger.workers.get(idle)?.estimated(method)?;
    let idle_speed = idle.work_per_second;
    Some(if idle.is_guess() { idle_speed.min(speed) } else { idle_speed })
}

/// Takes the largest waiting lease of a method from a worker, or its tail.
fn take_waiting(
    ledger: &mut Ledger,
    id: WorkerId,
    method: Method,
    worth_it: f64,
    idle: WorkerId,
) -> Option<(JobId, Vec<Span>)> {
    let worker = ledger.workers.get(id)?;
    let (work, lease) = worker.held.largest_tail(method)?;
    let speed = worker.estimated(method)?.work_per_second;
    let seconds = worker.seconds_before_waiting(ledger.now) + work as f64 / speed;
    if seconds < worth_it {
        ledger.workers.forget_queue_end(id, method);
        return None;
    }
    let job = ledger.leases.get(lease)?.job;
    // A slower thread gets no more than it counts in this time.
    let most = whole_nodes(speed_beside(ledger, idle, method, speed)? * seconds);
    let plan = ledger.counting(job)?.plan().clone();
    let tail = ledger.change_lease(lease, |lease| match most < work {
        true => lease.cut_tail(&plan, most),
        false => lease.cut_all(),
    })?;
    tell_cut(ledger, lease, tail).map(|tail| (job, tail))
}

/// Tells a worker which spans were cut off its lease, if any were.
fn tell_cut(ledger: &mut Ledger, id: LeaseId, tail: Vec<Span>) -> Option<Vec<Span>> {
    let lease = ledger.leases.get(id).filter(|_| !tail.is_empty())?;
    let (worker, is_over) = (lease.worker, lease.spans.is_empty());
    ledger.effects.send(worker, ToWorker::Shorten { lease: id, spans: tail.clone() });
    if is_over {
        ledger.end_lease(id, false);
    }
    Some(tail)
}
