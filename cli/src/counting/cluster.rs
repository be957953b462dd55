//! Counts in the cluster of a coordinator.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use queens_model::{Contribution, JobId, JobState, JobStatus, Name, Priority, Submission};
use queens_program::say;
use queens_proto::client::{Operator, Problem, Routes};
use queens_solver::BoardSize;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::connect::watch_job;
use crate::counting::counted::{Counted, Counter, kernels};
use crate::flags::coordinator_option;
use crate::method::MethodChoice;
use crate::present::job::{REPAIR, describe_damage, describe_failure};
use crate::present::progress::{Progress, Showing};
use crate::terms::TermsArgs;

/// The interval and the timeout of requests for a job's contributions.
const ASK_AGAIN: Duration = Duration::from_millis(250);
const MOST_ASKED: Duration = Duration::from_secs(5);

/// Counts in a cluster. If the user interrupts, says that the job goes on and returns `None`.
pub(crate) async fn count(
    n: BoardSize,
    method: MethodChoice,
    priority: Priority,
    routes: Routes,
    showing: Showing,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Counted>> {
    let operator = Operator::connect(routes).await?;
    // The user has confirmed the cost before.
    let asked = TermsArgs::default().submission(n, method.in_cluster(n), priority);
    let id = submit(&operator, asked, None).await?;
    let mut progress = Progress::new(showing);
    let job = tokio::select! {
        job = watch_job(&operator, id, |job, store_error| progress.show(job, store_error)) => job,
        () = stop.cancelled() => {
            progress.clear();
            let at = coordinator_option(&operator.coordinator());
            say(&format!("job {id} goes on: 'queens watch {id}{at}' follows it, 'queens cancel {id}{at}' gives it up"));
            return Ok(None);
        }
    };
    progress.clear();
    let job = job?;
    if job.state == JobState::Failed {
        bail!("job {id} has failed: {}", describe_failure(&job));
    }
    if job.state == JobState::Damaged {
        bail!("job {id} is damaged: {}: {REPAIR}", describe_damage(&job));
    }
    anyhow::ensure!(job.state == JobState::Done, "job {id} was {}", job.state.name());
    let contributions = who_counted(&operator, &job).await;
    let counted_by: Vec<Counter> = contributions.iter().map(Counter::from).collect();
    let (kernel, counted_now) = (kernels(&counted_by), job.progress.work);
    Ok(Some(Counted { job, n_threads: None, kernel, counted_now, counted_by }))
}

/// Submits a job.
pub(crate) async fn submit(
    operator: &Operator,
    asked: Submission,
    recount_by: Option<&Name>,
) -> anyhow::Result<JobId> {
    let job = operator.submit(asked, recount_by).await;
    job.map_err(|error| match error.problem {
        Problem::Unconfirmed(_) => {
            let at = coordinator_option(&error.coordinator);
            anyhow!("{error}: 'queens jobs{at}' lists the job if it is there")
        }
        _ => error.into(),
    })
}

/// Returns the contributors of a completed job: all of them, or none if the coordinator's answer takes too long.
async fn who_counted(operator: &Operator, job: &JobStatus) -> Vec<Contribution> {
    let asked = Instant::now();
    let reason = loop {
        let reason = match operator.contributions(job.id).await {
            // The coordinator may answer from a cache that is out of date.
            Ok(all) if all.iter().map(|one| one.work).sum::<u128>() == job.progress.work => return all,
            Ok(_) => "not all records are read".to_owned(),
            Err(error) if error.problem.is_final() => break error.to_string(),
            Err(error) => error.to_string(),
        };
        if asked.elapsed() >= MOST_ASKED {
            break reason;
        }
        tokio::time::sleep(ASK_AGAIN).await;
    };
    let id = job.id;
    warn!("the contributors are not known yet ({reason}); 'queens contributions {id}' may show them later");
    Vec::new()
}
