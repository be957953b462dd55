//! What is asked of the coordinator: how it stands, once a second, and what operators want at a key.

use std::time::Duration;

use queens_proto::client::{ClientError, Operator};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::top::screen::{ClusterState, FromCoordinator, OperatorAction};

/// How often the coordinator is asked.
const REFRESH: Duration = Duration::from_secs(1);

/// Asks the coordinator how it stands, again and again, and does what operators want. Connects anew by itself, to whichever
/// coordinator leads then.
pub(crate) async fn ask(
    operator: Operator,
    mut actions: mpsc::Receiver<OperatorAction>,
    to_screen: mpsc::Sender<FromCoordinator>,
) {
    let mut refresh = tokio::time::interval(REFRESH);
    refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let action = tokio::select! {
            action = actions.recv() => match action {
                Some(action) => Some(action),
                None => return,
            },
            _ = refresh.tick() => None,
        };
        if let Some(action) = action {
            let done = carry_out(&operator, &action).await;
            if to_screen.send(FromCoordinator::Done(done)).await.is_err() {
                return;
            }
        }
        let answer = cluster_state(&operator)
            .await
            .map_or_else(|error| FromCoordinator::Away(error.problem), FromCoordinator::Cluster);
        if to_screen.send(answer).await.is_err() {
            return;
        }
    }
}

async fn cluster_state(operator: &Operator) -> Result<ClusterState, ClientError> {
    let mut jobs = operator.jobs().await?;
    // As they are served; below, what is over, the latest first.
    jobs.sort_by_key(|job| match job.state.is_over() {
        false => (false, -job.priority.get(), job.id.0),
        true => (true, 0, u64::MAX - job.id.0),
    });
    let (mut workers, blocked) = operator.workers_and_blocked().await?;
    workers.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    let events = operator.events().await?;
    let coordinator = operator.coordinator_status().await?;
    let store_error = operator.store_error_in(coordinator.as_ref());
    let url = operator.coordinator();
    Ok(ClusterState { url, jobs, workers, blocked, events, coordinator, store_error })
}

async fn carry_out(operator: &Operator, action: &OperatorAction) -> Result<String, ClientError> {
    Ok(match action {
        OperatorAction::Pause(job) => {
            operator.pause(*job).await?;
            format!("job {job} is paused")
        }
        OperatorAction::Resume(job) => {
            operator.resume(*job).await?;
            format!("job {job} goes on")
        }
        OperatorAction::Workers(action, name) => {
            let n_workers = action.carry_out(operator, name).await?;
            action.describe(n_workers, name)
        }
    })
}
