//! Counts in the cluster of a coordinator.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use queens_model::{Contribution, JobId, JobState, JobStatus, Name, Priority, Submission};
use queens_proto::client::{Operator, Problem, Routes};
use queens_runtime::say;
use queens_solver::{BoardSize, Method};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::connect::watch_job;
use crate::counting::counted::{Counted, Counter, kernels};
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
    routes: Routes,
    showing: Showing,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Counted>> {
    let operator = Operator::connect(routes).await?;
    let Submitted { job: id, remark } = submit(
        &operator,
        n,
        method,
        |method| {
            // The user has confirmed the cost before.
            TermsArgs::default().submission(n, method, Priority::default())
        },
        None,
    )
    .await?;
    if let Some(remark) = remark {
        say(&remark);
    }
    let mut progress = Progress::new(showing);
    let job = tokio::select! {
        job = watch_job(&operator, id, |job, store_error| progress.show(job, store_error)) => job,
        () = stop.cancelled() => {
            progress.clear();
            let url = operator.coordinator();
            say(&format!(
                "job {id} goes on: 'queens watch {id} --coordinator {url}' follows it, \
                 'queens cancel {id} --coordinator {url}' gives it up"
            ));
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

/// A submitted job.
pub(crate) struct Submitted {
    pub(crate) job: JobId,
    /// Why a slower method was chosen, in a sentence.
    pub(crate) remark: Option<String>,
}

/// Submits a job for this method, or for the one that should be faster with the connected workers.
pub(crate) async fn submit(
    operator: &Operator,
    n: BoardSize,
    choice: MethodChoice,
    asked: impl FnOnce(Method) -> Submission,
    recount_by: Option<&Name>,
) -> anyhow::Result<Submitted> {
    let (workers, _) = match choice.named() {
        Some(_) => Default::default(),
        None => operator.workers_and_blocked().await?,
    };
    let (method, reason) = choice.method_of_cluster(n, &workers);
    let job = operator.submit_to_be_recounted(asked(method), recount_by).await;
    let job = job.map_err(|error| match error.problem {
        Problem::Unconfirmed(_) => {
            anyhow!("{error}: 'queens jobs --coordinator {}' lists the job if it is there", error.coordinator)
        }
        _ => error.into(),
    })?;
    let remark = |reason| {
        format!(
            "n = {n} is counted by {method}, although halves are faster: {reason}; --method=halves chooses them"
        )
    };
    Ok(Submitted { job, remark: reason.map(remark) })
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
