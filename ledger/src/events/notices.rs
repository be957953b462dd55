//! What workers are told in words.

use queens_model::{Name, Party, ToWorker};

use crate::workers::worker::Worker;
use crate::workers::worker_table::{Suspicion, Workers};

/// Why a worker is blocked, for people: nothing more than that if an operator has blocked its name.
pub(crate) fn reason_of_block(workers: &Workers, worker: &Worker) -> Option<String> {
    workers.suspicion(worker.party()).map(|suspicion| of_suspicion(worker, suspicion))
}

/// For a worker that gets no leases, if it is blocked.
pub(crate) fn of_block(workers: &Workers, worker: &Worker) -> Option<ToWorker> {
    let of_party = workers.suspicion(worker.party()).map(|suspicion| suspect(worker, suspicion));
    of_party.or_else(|| workers.is_name_blocked(worker.name()).then(|| blocked(worker.name())))
}

/// For workers whose name is blocked.
pub(crate) fn blocked(name: &Name) -> ToWorker {
    ToWorker::Notice(format!(
        "workers named '{name}' are blocked: this one gets no work until they are unblocked"
    ))
}

/// For a worker whose party has lost a dispute.
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

/// What has happened, to be told of one of the party's workers.
fn of_suspicion(worker: &Worker, Suspicion { name, reason }: &Suspicion) -> String {
    if is_name_alone(worker) {
        format!("it {reason}")
    } else {
        format!("'{name}' of its invitation {reason}; all names of that invitation are blocked")
    }
}

/// Whether a worker's party is no more than its name, because nobody was asked for an invitation.
fn is_name_alone(worker: &Worker) -> bool {
    worker.party() == Party::of_name(worker.name())
}

/// For workers whose name was blocked.
pub(crate) fn unblocked(name: &Name) -> ToWorker {
    ToWorker::Notice(format!("workers named '{name}' are not blocked any more"))
}
