//! Notices to workers, as text.

use queens_model::{Name, Party, ToWorker};

use crate::workers::worker::Worker;
use crate::workers::worker_table::{Suspicion, Workers};

/// Returns the user-visible reason why a worker is blocked; `None` if an operator has blocked its name.
pub(crate) fn reason_of_block(workers: &Workers, worker: &Worker) -> Option<String> {
    workers.suspicion(worker.party()).map(|suspicion| of_suspicion(worker, suspicion))
}

/// Returns the notice for a blocked worker.
pub(crate) fn of_block(workers: &Workers, worker: &Worker) -> Option<ToWorker> {
    let of_party = workers.suspicion(worker.party()).map(|suspicion| suspect(worker, suspicion));
    of_party.or_else(|| workers.is_name_blocked(worker.name()).then(|| blocked(worker.name())))
}

/// Returns the notice for workers with a blocked name.
pub(crate) fn blocked(name: &Name) -> ToWorker {
    ToWorker::Notice(format!(
        "workers named '{name}' are blocked: this one gets no work until they are unblocked"
    ))
}

/// Returns the notice for a worker whose party has lost a dispute.
pub(crate) fn suspect(worker: &Worker, suspicion: &Suspicion) -> ToWorker {
    let name = worker.name();
    let (whose, what) = match is_name_alone(worker) {
        true => (format!("workers named '{name}'"), "name"),
        false => ("all workers of this one's invitation".to_owned(), "invitation"),
    };
    let reason = of_suspicion(worker, suspicion);
    ToWorker::Notice(format!(
        "{whose} are blocked until an operator clears the {what}: {reason}; look whether the machine is sound"
    ))
}

/// Describes the suspicion to one of the party's workers.
fn of_suspicion(worker: &Worker, Suspicion { name, reason }: &Suspicion) -> String {
    if is_name_alone(worker) {
        format!("it {reason}")
    } else {
        format!("'{name}' of its invitation {reason}; all names of that invitation are blocked")
    }
}

/// Whether a worker's party is only its name, because the coordinator asks for no invitations.
fn is_name_alone(worker: &Worker) -> bool {
    worker.party() == Party::of_name(worker.name())
}

/// Returns the notice for workers whose name was unblocked.
pub(crate) fn unblocked(name: &Name) -> ToWorker {
    ToWorker::Notice(format!("workers named '{name}' are not blocked any more"))
}
