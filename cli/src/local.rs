//! Counting inside this process: a coordinator and a worker, joined by a link.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use queens_coordinator::store::Archive;
use queens_coordinator::store::sqlite::{CountedBy, SqliteStore, counted_by};
use queens_coordinator::{Coordinator, Handle, Snapshot};
use queens_ledger::store::memory::MemoryStore;
use queens_ledger::{JobChange, WorkerChange};
use queens_messages::{JobId, JobState, Name, Priority};
use queens_process::say;
use queens_proto::link;
use queens_worker::{Config, Worker};
use tokio_util::sync::CancellationToken;

use crate::args::CountArgs;
use crate::count::Counted;
use crate::describe::describe_failure;
use crate::output::percent;
use crate::progress::Progress;

/// The name of the worker in this process.
const NAME: &str = "local";

/// Counts until the job is done, or `None` if that was interrupted, which has then been said.
pub(crate) async fn count(args: &CountArgs, stop: &CancellationToken) -> anyhow::Result<Option<Counted>> {
    let store: Box<dyn Archive> = match &args.data_dir {
        Some(dir) => Box::new(SqliteStore::open(dir)?),
        None => Box::new(MemoryStore::default()),
    };
    let started = Coordinator::start(store, args.threads);
    let coordinator = started.with_context(|| match &args.data_dir {
        Some(dir) => format!("failed to go on with data directory '{}'", dir.display()),
        None => "failed to start".to_owned(),
    })?;
    let snapshots = coordinator.handle().snapshots();
    let before = done_before(args, &snapshots.borrow());
    let counted = count_with(args, &coordinator.handle(), stop).await;
    let sources = match &counted {
        Ok(id) if snapshots.borrow().job(*id).is_some_and(|job| job.state == JobState::Done) => {
            who_counted(args, *id).await
        }
        _ => Ok(Vec::new()),
    };
    // Not on this thread, which has to hear a second signal.
    tokio::task::spawn_blocking(move || coordinator.stop()).await?;
    if let Some(damage) = &snapshots.borrow().damage {
        bail!("{damage}");
    }
    let id = counted?;
    // As of its end, the last report of an interrupted count included.
    let job = snapshots.borrow().job(id).context("the job has vanished")?.clone();
    if job.state != JobState::Done {
        if job.state == JobState::Planning {
            let share = percent(job.plan_fraction.unwrap_or_default().get());
            let hint = match &args.data_dir {
                Some(_) => "nothing of it is kept, and the same command begins it again",
                None => "nothing is kept",
            };
            say(&format!("interrupted at {share} of the plan: {hint}"));
            return Ok(None);
        }
        let share = percent(job.fraction());
        let hint = match &args.data_dir {
            Some(_) => "run the same command again to go on",
            None => "nothing is kept; with --data-dir DIR it could go on",
        };
        say(&format!("interrupted at {share} of the work: {hint}"));
        return Ok(None);
    }
    let counted_now = job.progress.nodes - before.nodes;
    let counted_by = sources.context("failed to find out who counted")?;
    let kernels: BTreeSet<&str> = counted_by.iter().map(|by| by.source.kernel.as_str()).collect();
    let kernel = match kernels.is_empty() {
        // Nothing is kept, or there was nothing to count.
        true => args.kernel.kernel().name().to_owned(),
        false => kernels.into_iter().collect::<Vec<_>>().join("+"),
    };
    let n_threads = if before.is_done { 0 } else { args.threads.get() };
    Ok(Some(Counted { job, n_threads, kernel, counted_now, counted_by }))
}

/// Who counted what is kept. Read while the coordinator has the directory, which it leaves as it should be.
async fn who_counted(args: &CountArgs, job: JobId) -> anyhow::Result<Vec<CountedBy>> {
    let Some(dir) = args.data_dir.clone() else { return Ok(Vec::new()) };
    Ok(tokio::task::spawn_blocking(move || counted_by(&dir, job)).await??)
}

/// What is known of the job before anything is counted.
#[derive(Default)]
struct Before {
    is_done: bool,
    nodes: u128,
}

fn done_before(args: &CountArgs, snapshot: &Snapshot) -> Before {
    let job = snapshot.jobs.iter().rfind(|job| job.n == args.n && job.state != JobState::Cancelled);
    job.map(|job| Before { is_done: job.state == JobState::Done, nodes: job.progress.nodes })
        .unwrap_or_default()
}

/// Counts the job of the data directory, or a new one, until it is done or that is interrupted.
async fn count_with(
    args: &CountArgs,
    coordinator: &Handle,
    stop: &CancellationToken,
) -> anyhow::Result<JobId> {
    let id = find_or_submit(args, coordinator).await?;
    if coordinator.snapshots().borrow().job(id).is_some_and(|job| job.state == JobState::Done) {
        return Ok(id);
    }
    let name = Name::of_any(NAME);
    _ = coordinator.change_workers(name.clone(), WorkerChange::Unblock).await?;
    let mut worker = Worker::start(Config { name, kernel: args.kernel.kernel(), n_threads: args.threads })
        .context("failed to start counting threads")?;
    let (worker_end, coordinator_end) = link();
    let serve = coordinator.serve(coordinator_end);
    let drain = CancellationToken::new();
    let follow = async {
        let followed = follow(args, coordinator, id, stop).await;
        drain.cancel();
        followed
    };
    let followed = {
        let count = async { tokio::join!(worker.serve(worker_end, &drain), follow).1 };
        tokio::pin!(serve, count);
        // A coordinator that can't write does not answer: when the worker has left, nobody waits for that.
        tokio::select! {
            biased;
            served = &mut serve => match served {
                Ok(()) => count.await,
                Err(refusal) => Err(refusal).context("the coordinator refused its own worker"),
            },
            followed = &mut count => followed,
        }
    };
    worker.stop();
    followed?;
    Ok(id)
}

/// The job that the data directory holds, or a new one.
async fn find_or_submit(args: &CountArgs, coordinator: &Handle) -> anyhow::Result<JobId> {
    let snapshot = coordinator.snapshots().borrow().clone();
    if let Some(other) = snapshot.jobs.iter().find(|job| job.n != args.n) {
        let dir = args.data_dir.as_deref().unwrap_or(Path::new(""));
        bail!(
            "data directory '{}' holds a count for n = {}, not {}: choose another directory",
            dir.display(),
            other.n,
            args.n
        );
    }
    match snapshot.jobs.iter().rfind(|job| job.state != JobState::Cancelled) {
        Some(job) => {
            // Whoever counts it now wants it counted, whatever was decided for a cluster.
            coordinator.change_job(job.id, JobChange::Resume).await?.unwrap_or(());
            Ok(job.id)
        }
        None => Ok(coordinator.submit(args.n, Priority::default()).await??),
    }
}

/// Shows progress until the job is done or a signal comes.
async fn follow(
    args: &CountArgs,
    coordinator: &Handle,
    id: JobId,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let mut progress = Progress::new(args.showing());
    let mut snapshots = coordinator.snapshots();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let job = snapshot.job(id).context("the job has vanished")?;
        progress.show(job, snapshot.store_error.as_deref());
        if job.state == JobState::Failed {
            progress.clear();
            bail!("some of it can't be counted: {}", describe_failure(job));
        }
        if job.state == JobState::Done || snapshot.damage.is_some() || stop.is_cancelled() {
            progress.clear();
            return Ok(());
        }
        tokio::select! {
            changed = snapshots.changed() => changed.context("the coordinator has stopped")?,
            () = stop.cancelled() => {}
            // A line may be due though nothing has changed.
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}
