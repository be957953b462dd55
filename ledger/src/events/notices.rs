//! What workers are told in words.

use queens_messages::{Name, ToWorker};

/// For workers whose name is blocked.
pub(crate) fn blocked(name: &Name) -> ToWorker {
    ToWorker::Notice(format!(
        "workers named '{name}' are blocked: this one gets no work until they are unblocked"
    ))
}

/// For workers whose name was blocked.
pub(crate) fn unblocked(name: &Name) -> ToWorker {
    ToWorker::Notice(format!("workers named '{name}' are not blocked any more"))
}
