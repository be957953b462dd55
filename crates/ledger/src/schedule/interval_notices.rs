//! Tells workers how often to report.
//!
//! A worker is told when it connects. If the number of workers has changed, it is told with the acknowledgement of a
//! report, which saves a message when there are many workers. Before tails are cut off, the workers that count are told
//! directly, some at a time.

use queens_model::{ReportInterval, ToWorker, WorkerId};
use queens_solver::Method;

use crate::ledger::Ledger;
use crate::workers::worker::Worker;

/// The most workers that one tick looks at. Even a large cluster is told within seconds.
const MOST_LOOKS: usize = 512;

/// A new interval is sent only if it is longer or shorter by this factor.
const WORTH_IT: f64 = 1.25;

/// Tells a worker its report interval, if that has changed.
pub(crate) fn tell_interval(ledger: &mut Ledger, id: WorkerId) {
    let Some(worker) = ledger.workers.get(id).filter(|worker| worker.is_connected()) else { return };
    let is_hurried = Method::ALL.into_iter().any(|method| is_tail_of(ledger, worker, method));
    let interval = ledger.workers.interval(is_hurried);
    if is_worth_it(worker.interval, interval) {
        ledger.workers.tell_interval(ledger.now, id, interval);
        ledger.effects.send(id, ToWorker::ReportEvery(interval));
    }
}

/// When no work of a method is free, makes the workers that count by it report more often. Tails are cut where leases
/// are expected to be, and a slow worker must not look as if it hangs.
pub(crate) fn hurry_for_tails(ledger: &mut Ledger) {
    for method in Method::ALL {
        let is_tail = ledger.jobs.first_free(method).is_none() && !ledger.leases.is_empty();
        for id in ledger.workers.next_to_hurry(method, is_tail, MOST_LOOKS) {
            if ledger.workers.get(id).is_some_and(|worker| is_tail_of(ledger, worker, method)) {
                tell_interval(ledger, id);
            }
        }
    }
}

/// Whether a worker counts by a method whose work is all held.
fn is_tail_of(ledger: &Ledger, worker: &Worker, method: Method) -> bool {
    worker.held.n_running_by(method) > 0 && ledger.jobs.first_free(method).is_none()
}

fn is_worth_it(told: ReportInterval, interval: ReportInterval) -> bool {
    let ratio = interval.get().as_secs_f64() / told.get().as_secs_f64();
    !(1.0 / WORTH_IT..=WORTH_IT).contains(&ratio)
}
