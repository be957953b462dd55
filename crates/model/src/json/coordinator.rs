//! The status of a coordinator as JSON.

use crate::CoordinatorStatus;
use serde::Serialize;

/// The status of the coordinator itself.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Coordinator {
    /// The version of the program.
    version: String,
    /// Time since it started.
    seconds_up: f64,
    /// The kind of its store.
    store: String,
    /// Why nothing can be recorded now; null if all is well.
    store_error: Option<String>,
    /// Requests that it refuses now, with the reasons, in words.
    refuses: Vec<String>,
    /// The longest step of the event loop in the last minute or two, including the current one.
    slowest_step_seconds: f64,
}

impl From<CoordinatorStatus> for Coordinator {
    fn from(coordinator: CoordinatorStatus) -> Self {
        Self {
            version: coordinator.version.to_string(),
            seconds_up: coordinator.uptime.as_secs_f64(),
            store: coordinator.store.to_string(),
            store_error: coordinator.store_error,
            refuses: coordinator.refuses,
            slowest_step_seconds: coordinator.slowest_step.as_secs_f64(),
        }
    }
}
