//! One session with a coordinator: exchanges the messages of a [`WorkerSession`] over a link, at its times.

use queens_model::{ToCoordinator, ToWorker};
use queens_proto::Link;
use queens_worker_session::{AfterStep, Remark, WorkerSession};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::shared_queue::SharedQueue;

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The worker has left, as requested.
    Left(Departure),
    /// The link broke; the worker can start another session.
    LinkLost,
}

/// The outcome of a worker's departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The coordinator has answered the goodbye: all counts are recorded.
    Recorded,
    /// All counts are recorded, but the goodbye got no answer.
    Unanswered,
    /// Some counts may not be recorded.
    Unreported,
}

/// Runs a session until the link breaks or the worker has left.
pub(crate) async fn run(
    session: &mut WorkerSession,
    queue: &SharedQueue,
    mut link: Link<ToCoordinator, ToWorker>,
    drain: &CancellationToken,
) -> End {
    let is_linked = converse(session, queue, &mut link, drain).await.is_some();
    if session.is_answered() {
        End::Left(Departure::Recorded)
    } else if !is_linked && !session.is_leaving() {
        End::LinkLost
    } else if queue.at(|queue| session.has_something(queue)) {
        End::Left(Departure::Unreported)
    } else {
        End::Left(Departure::Unanswered)
    }
}

/// Exchanges messages until the worker has left; `None` if the link breaks first, or is stuck.
async fn converse(
    session: &mut WorkerSession,
    queue: &SharedQueue,
    link: &mut Link<ToCoordinator, ToWorker>,
    drain: &CancellationToken,
) -> Option<()> {
    let began = Instant::now();
    send(link, queue.at(|queue| session.connect(began.elapsed(), queue))).await?;
    loop {
        let step = queue.at(|queue| session.step(began.elapsed(), queue));
        step.remark.into_iter().for_each(tell);
        let until = match step.next {
            AfterStep::Wait { until } | AfterStep::Left { until } => began + until,
            AfterStep::Reconnect => return None,
        };
        if session.is_leaving() {
            // A leaving worker waits with a timeout, even for capacity on the link.
            tokio::time::timeout_at(until, send(link, step.messages)).await.unwrap_or(Some(()))?;
        } else {
            send(link, step.messages).await?;
        }
        if matches!(step.next, AfterStep::Left { .. }) {
            return Some(());
        }
        tokio::select! {
            () = drain.cancelled(), if !session.is_leaving() => {
                queue.at(|queue| session.leave(began.elapsed(), queue));
            }
            message = link.receiver.recv() => hear(session, queue, began, message?),
            () = queue.lease_ended() => {}
            () = sleep_until(until) => {}
        }
    }
}

fn hear(session: &mut WorkerSession, queue: &SharedQueue, began: Instant, message: ToWorker) {
    debug!(?message, "heard");
    let is_lease = matches!(message, ToWorker::Lease(_));
    let remark = queue.at(|queue| session.hear(began.elapsed(), message, queue));
    if is_lease {
        queue.wake_thread();
    }
    remark.into_iter().for_each(tell);
}

async fn send(link: &Link<ToCoordinator, ToWorker>, messages: Vec<ToCoordinator>) -> Option<()> {
    for message in messages {
        link.sender.send(message).await.ok()?;
    }
    Some(())
}

fn tell(remark: Remark) {
    match remark {
        Remark::Notice(text) => warn!("the coordinator says: {text}"),
        Remark::SentHome => {
            info!("drained by the coordinator: leaving after the current chunks");
        }
        Remark::Stuck => warn!("no answer to the last reports, trying another connection"),
        Remark::WaitsToLeave => {
            warn!("waiting for the last reports to be acknowledged; another signal ends this at once");
        }
        Remark::LeavesUnacknowledged { n_reports } => {
            warn!(n_reports, "leaving although the last reports are not acknowledged");
        }
    }
}
