//! The coordinator itself.

use crate::CoordinatorStatus;
use serde::Serialize;

/// How the coordinator itself stands.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Coordinator {
    /// The version of its program.
    version: String,
    /// How long it has run.
    seconds_up: f64,
    /// What it keeps jobs in.
    store: String,
    /// Why nothing can be recorded at present.
    #[cfg_attr(feature = "schema", schema(required))]
    store_error: Option<String>,
    /// What it refuses at present and why, in words.
    refuses: Vec<String>,
    /// The longest step of its event loop in the last minute or two, the present one included.
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
