//! Follows a job across lost connections.

use std::time::Duration;

use queens_model::{JobId, JobStatus};
use queens_proto::client::{ClientError, Operator};
use tokio::time::MissedTickBehavior;
use tracing::warn;

/// The pause before retrying a lost coordinator.
const RETRY: Duration = Duration::from_millis(500);

/// The interval of checks whether the coordinator can write, while a job is watched.
const LOOK: Duration = Duration::from_secs(1);

/// Calls `show` with the job now and at each change until it ends, with the reason if the coordinator can't write. A
/// lost coordinator does not end the job: warns once, and waits for this coordinator or another leader.
pub(crate) async fn watch_job(
    operator: &Operator,
    job: JobId,
    mut show: impl FnMut(&JobStatus, Option<&str>),
) -> Result<JobStatus, ClientError> {
    let mut lost = false;
    loop {
        match watch_once(operator, job, &mut show, &mut lost).await {
            Ok(Some(status)) => return Ok(status),
            Err(error) if error.problem.is_final() => return Err(error),
            Ok(None) | Err(_) if lost => {}
            Ok(None) | Err(_) => {
                let what_now = if operator.knows_others() {
                    "looking for the one that leads"
                } else {
                    "waiting for it to come back"
                };
                warn!("lost the coordinator at {}; {what_now}", operator.coordinator());
                lost = true;
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Watches over one connection. Returns the job if it has ended, `None` if the coordinator ended the stream before.
async fn watch_once(
    operator: &Operator,
    job: JobId,
    show: &mut impl FnMut(&JobStatus, Option<&str>),
    lost: &mut bool,
) -> Result<Option<JobStatus>, ClientError> {
    let mut changes = operator.watch(job).await?;
    let (mut job, mut store_error) = (None, operator.store_error().await.unwrap_or_default());
    let mut look_again = tokio::time::interval(LOOK);
    look_again.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look_again.reset();
    loop {
        tokio::select! {
            change = changes.next() => {
                let Some(change) = change? else { return Ok(None) };
                *lost = false;
                job = Some(change);
            }
            _ = look_again.tick() => {
                // The job's stream detects a coordinator that is gone.
                store_error = operator.store_error().await.unwrap_or(store_error);
            }
        }
        let Some(job) = &job else { continue };
        show(job, store_error.as_deref());
        if job.state.is_over() {
            return Ok(Some(job.clone()));
        }
    }
}

/// Warns that the coordinator can't write, so that other figures are meaningless.
pub(crate) fn warn_if_nothing_is_recorded(store_error: Option<&str>) {
    if let Some(reason) = store_error {
        warn!("the coordinator records nothing at present: {reason}");
    }
}
