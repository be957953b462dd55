//! Conversions of a coordinator's status.

use std::time::Duration;

use queens_model::{CoordinatorStatus, Name};

use super::check::{millis, one_line, some_line};
use crate::pb;

/// The most refusals in a coordinator's status.
const MOST_REFUSALS: usize = 16;

impl From<CoordinatorStatus> for pb::Coordinator {
    fn from(coordinator: CoordinatorStatus) -> Self {
        Self {
            version: coordinator.version.to_string(),
            uptime_ms: millis(coordinator.uptime),
            store: coordinator.store.to_string(),
            store_error: coordinator.store_error.unwrap_or_default(),
            refuses: coordinator.refuses,
            slowest_step_us: u64::try_from(coordinator.slowest_step.as_micros()).unwrap_or(u64::MAX),
            // The handler of the call sets these two.
            now_ms: 0,
            role: String::new(),
        }
    }
}

impl From<pb::Coordinator> for CoordinatorStatus {
    fn from(coordinator: pb::Coordinator) -> Self {
        Self {
            version: Name::of_any(&coordinator.version),
            uptime: Duration::from_millis(coordinator.uptime_ms),
            store: Name::of_any(&coordinator.store),
            store_error: some_line(&coordinator.store_error),
            refuses: coordinator
                .refuses
                .iter()
                .take(MOST_REFUSALS)
                .map(|refusal| one_line(refusal))
                .collect(),
            slowest_step: Duration::from_micros(coordinator.slowest_step_us),
        }
    }
}
