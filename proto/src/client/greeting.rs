//! The call that asks a coordinator for its status, its clock and the caller's role.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use queens_model::CoordinatorStatus;

use crate::client::connection::PATIENCE;
use crate::client::error::Problem;
use crate::client::route::Route;
use crate::convert::some_line;
use crate::pb;
use crate::pb::jobs_client::JobsClient;

/// A coordinator's answer about itself and the caller.
#[derive(Clone, Debug)]
pub struct Greeting {
    /// The coordinator's status.
    pub status: CoordinatorStatus,
    /// The time of the answer, by the coordinator's clock.
    pub now: SystemTime,
    /// The caller's role; `None` if the coordinator does not authenticate.
    pub role: Option<String>,
}

impl Route {
    /// Asks the coordinator for its status and the caller's role.
    ///
    /// # Errors
    /// If it can't be reached, does not answer in time, is a standby or refuses.
    pub async fn greeting(&self) -> Result<Greeting, Problem> {
        let mut jobs = JobsClient::new(self.open().await?);
        let answer = jobs.get_coordinator(pb::GetCoordinatorRequest {});
        let answer = tokio::time::timeout(PATIENCE, answer).await.map_err(|_| Problem::Silent)?;
        Ok(Greeting::from(answer?.into_inner()))
    }
}

impl From<pb::Coordinator> for Greeting {
    fn from(answer: pb::Coordinator) -> Self {
        let now = UNIX_EPOCH + Duration::from_millis(answer.now_ms);
        let role = some_line(&answer.role);
        Self { now, role, status: CoordinatorStatus::from(answer) }
    }
}
