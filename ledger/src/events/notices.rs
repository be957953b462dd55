//! What workers are told in words.

use queens_messages::{Name, ToWorker};

/// For workers whose name is blocked, for this reason, or none that was given.
pub(crate) fn of_block(name: &Name, reason: &str) -> ToWorker {
    if reason.is_empty() { blocked(name) } else { suspect(name, reason) }
}

/// For workers whose name is blocked.
pub(crate) fn blocked(name: &Name) -> ToWorker {
    ToWorker::Notice(format!(
        "workers named '{name}' are blocked: this one gets no work until they are unblocked"
    ))
}

/// For workers whose name has lost a dispute.
pub(crate) fn suspect(name: &Name, reason: &str) -> ToWorker {
    ToWorker::Notice(format!(
        "workers named '{name}' are blocked until an operator clears the name: {reason}; look whether the machine is sound"
    ))
}

/// For workers whose name was blocked.
pub(crate) fn unblocked(name: &Name) -> ToWorker {
    ToWorker::Notice(format!("workers named '{name}' are not blocked any more"))
}
