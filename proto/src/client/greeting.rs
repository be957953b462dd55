//! How a coordinator answers to whoever asks how it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use queens_model::CoordinatorStatus;

use crate::client::connection::PATIENCE;
use crate::client::error::Problem;
use crate::client::route::Route;
use crate::convert::some_line;
use crate::pb;
use crate::pb::jobs_client::JobsClient;

/// How a coordinator answers to whoever asks how it is.
#[derive(Clone, Debug)]
pub struct Greeting {
    /// How it stands.
    pub status: CoordinatorStatus,
    /// When it answered, by its clock.
    pub now: SystemTime,
    /// What whoever asks was invited as; `None` where nobody is asked.
    pub role: Option<String>,
}

impl Route {
    /// Asks the coordinator how it is, and what it makes of whoever asks.
    ///
    /// # Errors
    /// If it can't be reached, does not answer in time, stands by or refuses to.
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
