//! Following a job across breaks of the connection.

use std::time::Duration;

use queens_model::{JobId, JobStatus};
use queens_proto::client::{ClientError, Operator};
use tokio::time::MissedTickBehavior;
use tracing::warn;

/// How long to wait before asking a coordinator again that has gone away.
const RETRY: Duration = Duration::from_millis(500);

/// How often to ask whether the coordinator can record anything, while a job is watched.
const LOOK: Duration = Duration::from_secs(1);

/// Calls `show` with the job now and at every change, until the job is over; and with the reason if the coordinator
/// records nothing. When the coordinator goes away, the job does not: says so once and waits for it to come back, or for
/// another to lead.
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

/// Watches over one connection: the job if it is over, `None` if the coordinator ended the stream before.
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
                // Whether it is there, the stream of the job says.
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

/// Warns that the coordinator can't write: nothing else that is shown means much meanwhile.
pub(crate) fn warn_if_nothing_is_recorded(store_error: Option<&str>) {
    if let Some(reason) = store_error {
        warn!("the coordinator records nothing at present: {reason}");
    }
}
