//! The commands that talk to a coordinator.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use queens_messages::{JobId, JobState, JobStatus, Name};
use queens_process::{cancel_on_signal, is_screen, stdout};
use queens_proto::client::{ClientError, Operator};
use queens_solver::Kernel;
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::args::{
    JobArgs, Output, PriorityArgs, RemoteArgs, SubmitArgs, WorkerArgs, WorkersArgs, WorkersCommand,
};
use crate::confirm::confirm_count;
use crate::contributions::{contributions_json, contributions_table};
use crate::describe::{align_right, describe, job_json, line, speed, state, table, time_left, worker_json};
use crate::output::{percent, print};
use crate::progress::{Progress, Showing};

/// How long to wait before asking a coordinator again that has gone away.
const RETRY: Duration = Duration::from_millis(500);

/// How often to ask whether the coordinator can record anything, while a job is watched.
const LOOK: Duration = Duration::from_secs(1);

/// The least time between two lines of `queens watch`.
const LINE: Duration = Duration::from_secs(1);

/// What is done to all workers of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerAction {
    Drain,
    Block,
    Unblock,
}

impl WorkerAction {
    /// Does it; returns how many workers have this name.
    pub(crate) async fn carry_out(self, operator: &Operator, name: &Name) -> Result<u64, ClientError> {
        match self {
            Self::Drain => operator.drain_workers(name).await,
            Self::Block => operator.block_workers(name).await,
            Self::Unblock => operator.unblock_workers(name).await,
        }
    }

    /// What has become of so many workers of a name.
    pub(crate) fn describe(self, n_workers: u64, name: &Name) -> String {
        let done = match self {
            Self::Drain => "sent home",
            Self::Block => "blocked",
            Self::Unblock => "not blocked",
        };
        match n_workers {
            0 => format!("workers named '{name}': {done}; there is none at present"),
            1 => format!("1 worker named '{name}': {done}"),
            _ => format!("{n_workers} workers named '{name}': {done}"),
        }
    }
}

/// Calls `show` with the job, and why nothing is recorded if so, now and at every change, until the job is over. If the
/// coordinator goes away, the job does not: says so once and waits for it to come back.
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
                warn!("lost the coordinator at {}; waiting for it to come back", operator.coordinator());
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

/// `queens submit`
pub(crate) async fn submit(args: &SubmitArgs) -> anyhow::Result<ExitCode> {
    if let Err(code) = confirm_count(args.n, Kernel::Avx512, args.yes) {
        return Ok(code);
    }
    let job = Operator::connect(&args.remote.coordinator).await?.submit(args.n, args.priority).await?;
    print(&match args.remote.output {
        Output::Text => job.to_string(),
        Output::Json => json!({ "job": job.to_string() }).to_string(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `queens jobs`
pub(crate) async fn jobs(args: &RemoteArgs) -> anyhow::Result<ExitCode> {
    let operator = Operator::connect(&args.coordinator).await?;
    let jobs = operator.jobs().await?;
    let store_error = operator.store_error().await?;
    if args.output == Output::Text {
        warn_if_nothing_is_recorded(store_error.as_deref());
    }
    print(&match args.output {
        Output::Json => {
            jobs.iter().map(|job| job_json(job, store_error.as_deref())).collect::<Value>().to_string()
        }
        Output::Text if jobs.is_empty() => "no jobs; 'queens submit N' makes one".to_owned(),
        Output::Text => {
            let mut table =
                table(["JOB", "N", "PRIORITY", "STATE", "DONE", "SOLUTIONS SO FAR", "LEFT", "WORKERS"]);
            for job in &jobs {
                table.add_row([
                    job.id.to_string(),
                    job.n.to_string(),
                    job.priority.to_string(),
                    state(job),
                    percent(job.fraction()),
                    job.progress.solutions.to_string(),
                    time_left(job),
                    job.n_workers.to_string(),
                ]);
            }
            align_right(&mut table, &[0, 1, 2, 4, 5, 6, 7]);
            table.trim_fmt()
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `queens workers`
pub(crate) async fn workers(args: &WorkersArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => list_workers(&args.remote).await?,
        Some(WorkersCommand::Drain(args)) => change_workers(args, WorkerAction::Drain).await?,
        Some(WorkersCommand::Block(args)) => change_workers(args, WorkerAction::Block).await?,
        Some(WorkersCommand::Unblock(args)) => change_workers(args, WorkerAction::Unblock).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Changes all workers of a name and says what became of them.
async fn change_workers(args: &WorkerArgs, action: WorkerAction) -> anyhow::Result<()> {
    let name = &args.name;
    let operator = Operator::connect(&args.remote.coordinator).await?;
    let n_workers = action.carry_out(&operator, name).await?;
    print(&match args.remote.output {
        Output::Json => json!({ "name": name.as_str(), "workers": n_workers }).to_string(),
        Output::Text => action.describe(n_workers, name),
    })
}

async fn list_workers(args: &RemoteArgs) -> anyhow::Result<()> {
    let (mut workers, blocked) = Operator::connect(&args.coordinator).await?.workers_and_blocked().await?;
    workers.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    let is_absent = |name: &&Name| workers.iter().all(|worker| worker.name != **name);
    let absent: Vec<&Name> = blocked.iter().filter(is_absent).collect();
    print(&match args.output {
        Output::Json => {
            let absent = absent
                .iter()
                .map(|name| json!({ "name": name.as_str(), "state": "blocked", "connected": false }));
            workers.iter().map(worker_json).chain(absent).collect::<Value>().to_string()
        }
        Output::Text if workers.is_empty() && absent.is_empty() => {
            format!("no workers; 'queens-worker --coordinator {}' makes one", args.coordinator.uri())
        }
        Output::Text => {
            let mut table = table([
                "NAME",
                "STATE",
                "KERNEL",
                "THREADS",
                "M NODES/S",
                "LEASES",
                "COUNTING",
                "RECORDED",
                "HEARD OF",
                "BUILD",
            ]);
            for worker in &workers {
                if let Some(failure) = &worker.failure {
                    warn!("worker {} failed: {failure}", worker.name);
                }
                let counting = worker.counting.map(|(job, span)| format!("job {job} cross {}", span.cross()));
                let heard = format!("{:.0} s ago", worker.silent.as_secs_f64());
                table.add_row([
                    worker.name.to_string(),
                    worker.state.name().to_owned(),
                    worker.kernel.to_string(),
                    worker.n_threads.to_string(),
                    speed(worker.rate),
                    worker.n_leases.to_string(),
                    counting.unwrap_or_default(),
                    worker.n_recorded.to_string(),
                    if worker.connected { heard } else { format!("{heard}, connection lost") },
                    worker.build.to_string(),
                ]);
            }
            for name in absent {
                table.add_row([name.as_str(), "blocked", "", "", "", "", "", "", "not connected", ""]);
            }
            align_right(&mut table, &[3, 4, 5, 7]);
            table.trim_fmt()
        }
    })
}

/// `queens status`
pub(crate) async fn status(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = Operator::connect(&args.remote.coordinator).await?;
    let job = operator.job(args.job).await?;
    let store_error = operator.store_error().await?;
    print(&match args.remote.output {
        Output::Json => job_json(&job, store_error.as_deref()).to_string(),
        Output::Text => {
            warn_if_nothing_is_recorded(store_error.as_deref());
            describe(&job)
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `queens contributions`
pub(crate) async fn contributions(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let contributions = Operator::connect(&args.remote.coordinator).await?.contributions(args.job).await?;
    print(&match args.remote.output {
        Output::Json => contributions_json(&contributions).to_string(),
        Output::Text if contributions.is_empty() => format!("nothing is recorded of job {}", args.job),
        Output::Text => contributions_table(&contributions),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `queens cancel`
pub(crate) async fn cancel(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = Operator::connect(&args.remote.coordinator).await?;
    operator.cancel(args.job).await?;
    let job = operator.job(args.job).await?;
    if job.state == JobState::Done {
        bail!("job {} is done: there is nothing to give up", job.id);
    }
    show_change(&operator, &args.remote, args.job).await
}

/// `queens pause`
pub(crate) async fn pause(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = Operator::connect(&args.remote.coordinator).await?;
    operator.pause(args.job).await?;
    show_change(&operator, &args.remote, args.job).await
}

/// `queens resume`
pub(crate) async fn resume(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = Operator::connect(&args.remote.coordinator).await?;
    operator.resume(args.job).await?;
    show_change(&operator, &args.remote, args.job).await
}

/// `queens priority`
pub(crate) async fn priority(args: &PriorityArgs) -> anyhow::Result<ExitCode> {
    let operator = Operator::connect(&args.remote.coordinator).await?;
    operator.set_priority(args.job, args.priority).await?;
    show_change(&operator, &args.remote, args.job).await
}

/// Says how a job stands after it was changed.
async fn show_change(operator: &Operator, args: &RemoteArgs, job: JobId) -> anyhow::Result<ExitCode> {
    let job = operator.job(job).await?;
    print(&match args.output {
        Output::Json => job_json(&job, operator.store_error().await?.as_deref()).to_string(),
        Output::Text if job.state.is_over() => format!("job {} is {}", job.id, job.state.name()),
        Output::Text => format!("job {} is {}, priority {}", job.id, job.state.name(), job.priority),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Nothing else that is shown means much while a coordinator can't write.
fn warn_if_nothing_is_recorded(store_error: Option<&str>) {
    if let Some(reason) = store_error {
        warn!("the coordinator records nothing at present: {reason}");
    }
}

/// `queens watch`: exit status 0 when the job is done, 1 if it ends otherwise.
pub(crate) async fn watch(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let stop = CancellationToken::new();
    cancel_on_signal(stop.clone()).context("failed to listen to signals")?;
    let operator = Operator::connect(&args.remote.coordinator).await?;
    let bar_instead = is_screen(&stdout()?) && args.remote.output == Output::Text;
    let mut progress = Progress::new(if bar_instead { Showing::Bar } else { Showing::None });
    let (mut failed, mut printed) = (None, None);
    let watching = watch_job(&operator, args.job, |job, store_error| {
        progress.show(job, store_error);
        if bar_instead && !job.state.is_over() {
            return;
        }
        // A line says something new, and at most once a second.
        let news = (state(job), job.progress.n_recorded, job.n_workers);
        let is_old = printed
            .as_ref()
            .is_some_and(|(before, at): &(_, Instant)| *before == news || at.elapsed() < LINE);
        if is_old && !job.state.is_over() {
            return;
        }
        printed = Some((news, Instant::now()));
        progress.clear();
        let line = match args.remote.output {
            Output::Json => job_json(job, store_error).to_string(),
            Output::Text => line(job),
        };
        if let Err(error) = print(&line) {
            failed.get_or_insert(error);
        }
    });
    let job = tokio::select! {
        job = watching => job?,
        () = stop.cancelled() => {
            progress.clear();
            return Ok(ExitCode::FAILURE);
        }
    };
    match failed {
        Some(error) => Err(error),
        None if job.state == JobState::Done => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::FAILURE),
    }
}
