//! Workers are told how often to report.
//!
//! Each is told when it connects and, if there are more or fewer workers by then, with the acknowledgement of a report:
//! that costs no message at a time when there are many. When tails are about to be cut off, those that count are told at
//! once, some at a time.

use queens_model::{ReportInterval, ToWorker, WorkerId};
use queens_solver::Method;

use crate::state::State;
use crate::workers::worker::Worker;

/// Workers that one tick looks at. All of a large cluster are told within seconds.
const MOST_LOOKS: usize = 512;

/// An interval is not worth a message unless it is longer or shorter by this factor.
const WORTH_IT: f64 = 1.25;

/// Tells a worker how often to report, if that is not what it was told.
pub(crate) fn tell_interval(state: &mut State, id: WorkerId) {
    let Some(worker) = state.workers().get(id).filter(|worker| worker.is_connected()) else { return };
    let is_hurried = Method::ALL.into_iter().any(|method| is_tail_of(state, worker, method));
    let interval = state.workers().interval(is_hurried);
    if is_worth_it(worker.interval(), interval) {
        state.tell_interval(id, interval);
        state.changes().send(id, ToWorker::ReportEvery(interval));
    }
}

/// When no work of a method is free, has those who count by it report more often: tails are cut off where leases should
/// be by then, and a worker that is slower than expected should not be taken for one that hangs.
pub(crate) fn hurry_for_tails(state: &mut State) {
    for method in Method::ALL {
        let is_tail = state.jobs().first_free(method).is_none() && !state.leases().is_empty();
        for id in state.next_to_hurry(method, is_tail, MOST_LOOKS) {
            if state.workers().get(id).is_some_and(|worker| is_tail_of(state, worker, method)) {
                tell_interval(state, id);
            }
        }
    }
}

/// Whether a worker counts what nobody else can begin, as all of it is held.
fn is_tail_of(state: &State, worker: &Worker, method: Method) -> bool {
    worker.held_leases().n_running_by(method) > 0 && state.jobs().first_free(method).is_none()
}

fn is_worth_it(told: ReportInterval, interval: ReportInterval) -> bool {
    let ratio = interval.get().as_secs_f64() / told.get().as_secs_f64();
    !(1.0 / WORTH_IT..=WORTH_IT).contains(&ratio)
}
