//! Counts inside this process: a coordinator and its workers.

use std::collections::BTreeSet;
use std::path::{Display, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use futures_util::TryFutureExt;
use futures_util::future::try_join_all;
use queens_counting::{Config, Duty, End, LeaveRequests, Metrics, Worker, default_threads};
use queens_event_loop::{Coordinator, Handle, Snapshot};
use queens_gpu::CardId;
use queens_ledger::store::memory::MemoryStore;
use queens_ledger::{JobChange, Reporting, WorkerChange, WorkerRefusal};
use queens_model::{JobId, JobState, JobStatus, Name, Submission, ToCoordinator, ToWorker, percent};
use queens_program::say;
use queens_solver::{BoardSize, Kernel};
use queens_store::sqlite::{SqliteStore, counted_by};
use queens_store::{Archive, CountedBy};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::counting::counted::{Counted, Counter, kernels};
use crate::method::MethodChoice;
use crate::present::job::{REPAIR, describe_damage, describe_failure};
use crate::present::progress::{Progress, Showing};

/// The name of the worker in this process.
const NAME: &str = "local";

/// The count to run in this process.
pub(crate) struct LocalCount {
    pub(crate) n: BoardSize,
    pub(crate) method: MethodChoice,
    pub(crate) kernel: Kernel,
    /// Threads of the processor; 0 if only cards count, `None` for as many as are of use.
    pub(crate) n_threads: Option<usize>,
    /// Cards that count beside the threads.
    pub(crate) cards: Vec<CardId>,
    /// The directory that keeps the counts.
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) showing: Showing,
}

impl LocalCount {
    /// Counts until the job is done. Says so and returns `None` if it is interrupted.
    pub(crate) async fn run(&self, stop: &CancellationToken) -> anyhow::Result<Option<Counted>> {
        let store: Box<dyn Archive> = match &self.data_dir {
            Some(dir) => Box::new(SqliteStore::open(dir)?),
            None => Box::new(MemoryStore::default()),
        };
        let started = Coordinator::start(store, default_threads(), Reporting::default());
        let coordinator = started.with_context(|| match &self.data_dir {
            Some(dir) => format!("failed to go on with data directory '{}'", dir.display()),
            None => "failed to start".to_owned(),
        })?;
        let snapshots = coordinator.handle().snapshots();
        let before = held(&snapshots.borrow()).cloned();
        let counted = self.count_with(&coordinator.handle(), stop).await;
        let sources = match &counted {
            Ok(id) if snapshots.borrow().job(*id).is_some_and(|job| job.state == JobState::Done) => {
                self.who_counted(*id).await
            }
            _ => Ok(Vec::new()),
        };
        // This thread must stay free to handle a second signal.
        tokio::task::spawn_blocking(move || coordinator.stop()).await?;
        if let Some(damage) = &snapshots.borrow().damage {
            bail!("{damage}");
        }
        let id = counted?;
        // The job after the coordinator's end, with the last report of an interrupted count.
        let job = snapshots.borrow().job(id).context("the job has vanished")?.clone();
        if job.state != JobState::Done {
            let (share, of, hint) = match (job.state, &self.data_dir) {
                (JobState::Planning, Some(_)) => (
                    job.plan_fraction.unwrap_or_default().get(),
                    "plan",
                    "nothing of it is kept, and the same command begins it again",
                ),
                (JobState::Planning, None) => {
                    (job.plan_fraction.unwrap_or_default().get(), "plan", "nothing is kept")
                }
                (_, Some(_)) => (job.fraction(), "work", "run the same command again to go on"),
                (_, None) => (job.fraction(), "work", "nothing is kept; with --data-dir DIR it could go on"),
            };
            say(&format!("interrupted at {} of the {of}: {hint}", percent(share)));
            return Ok(None);
        }
        let counted_now = job.progress.work - before.as_ref().map_or(0, |before| before.progress.work);
        let was_done = before.is_some_and(|before| before.state == JobState::Done);
        let sources = sources.context("failed to read the contributions")?;
        let counted_by: Vec<Counter> = sources.iter().map(Counter::from).collect();
        let kernel = match counted_by.is_empty() {
            // Nothing is stored, or nothing was left to count.
            true => {
                let kernels: BTreeSet<&str> = self.workers().iter().map(Config::counter_name).collect();
                kernels.into_iter().collect::<Vec<_>>().join("+")
            }
            false => kernels(&counted_by),
        };
        let n_counting = self.workers().iter().map(Config::n_threads).sum();
        let n_threads = Some(if was_done { 0 } else { n_counting });
        Ok(Some(Counted { job, n_threads, kernel, counted_now, counted_by }))
    }

    /// Reads the contributors from the directory. The coordinator must still hold it, because it cleans up when it
    /// stops.
    async fn who_counted(&self, job: JobId) -> anyhow::Result<Vec<CountedBy>> {
        let Some(dir) = self.data_dir.clone() else { return Ok(Vec::new()) };
        Ok(tokio::task::spawn_blocking(move || counted_by(&dir, job)).await??)
    }

    /// Returns the data directory for messages.
    fn dir(&self) -> Display<'_> {
        self.data_dir.as_deref().unwrap_or(Path::new("")).display()
    }

    /// Counts the job in the data directory, or a new one, until it is done or interrupted.
    async fn count_with(&self, coordinator: &Handle, stop: &CancellationToken) -> anyhow::Result<JobId> {
        let id = self.find_or_submit(coordinator).await?;
        if coordinator.snapshots().borrow().job(id).is_some_and(|job| job.state == JobState::Done) {
            return Ok(id);
        }
        let metrics = Metrics::new();
        let mut workers = Vec::new();
        for config in self.workers() {
            _ = coordinator.change_workers(config.name.clone(), WorkerChange::Unblock).await?;
            workers.push(Worker::start(config, &metrics).context("failed to start counting threads")?);
        }
        let drain = CancellationToken::new();
        let follow = async {
            let followed = self.follow(coordinator, id, stop).await;
            drain.cancel();
            followed
        };
        let followed = {
            let count = workers.iter_mut().map(|worker| count_until_drained(coordinator, worker, &drain));
            let count = try_join_all(count).map_ok(drop);
            tokio::pin!(count, follow);
            tokio::select! {
                counted = &mut count => match counted {
                    Ok(()) => follow.await,
                    Err(refusal) => Err(refusal),
                },
                followed = &mut follow => count.await.and(followed),
            }
        };
        workers.into_iter().for_each(Worker::stop);
        followed?;
        Ok(id)
    }

    /// Returns the workers in this process.
    fn workers(&self) -> Vec<Config> {
        let name = Name::of_any(NAME);
        Config::of_machine(&name, self.kernel, self.n_threads, &self.cards, Duty::FULL, Some(self.n))
    }

    /// Returns the job in the data directory, or submits one.
    async fn find_or_submit(&self, coordinator: &Handle) -> anyhow::Result<JobId> {
        let snapshot = coordinator.snapshots().borrow().clone();
        let (n, dir) = (self.n, self.dir());
        if let Some(other) = snapshot.jobs.iter().find(|job| job.n != n) {
            let found = other.n;
            bail!("data directory '{dir}' holds a count for n = {found}, not {n}: choose another directory");
        }
        let Some(job) = held(&snapshot) else {
            let method = self.method.method(n, self.kernel);
            return Ok(coordinator.submit(Submission::new(n, method)).await??);
        };
        if let Some(method) = self.method.named().filter(|method| *method != job.method) {
            let found = job.method;
            bail!(
                "data directory '{dir}' holds a count by {found}, not by {method}: choose another directory"
            );
        }
        // The user wants it counted now, even if it was paused in a cluster.
        coordinator.change_job(job.id, JobChange::Resume).await?.unwrap_or(());
        Ok(job.id)
    }

    /// Shows progress until the job is done or a signal arrives.
    async fn follow(&self, coordinator: &Handle, id: JobId, stop: &CancellationToken) -> anyhow::Result<()> {
        let mut progress = Progress::new(self.showing);
        let mut snapshots = coordinator.snapshots();
        loop {
            let snapshot = snapshots.borrow_and_update().clone();
            let job = snapshot.job(id).context("the job has vanished")?;
            // What it waits for is in this process, for an instant.
            let shown = JobStatus { waits_for: None, ..job.clone() };
            progress.show(&shown, snapshot.store_error.as_deref());
            if job.state == JobState::Damaged {
                progress.clear();
                bail!("the count in '{}' is damaged: {}: {REPAIR}", self.dir(), describe_damage(job));
            }
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
                // A line may be due without a change.
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
    }
}

/// Runs sessions of the worker until it is drained. If the store could not be written for longer than a worker waits
/// for an answer, the session ends and another begins.
async fn count_until_drained(
    coordinator: &Handle,
    worker: &mut Worker,
    drain: &CancellationToken,
) -> anyhow::Result<()> {
    // Processors begin while cards are being opened.
    tokio::select! {
        () = worker.is_ready() => {}
        () = drain.cancelled() => return Ok(()),
    }
    let requests = LeaveRequests::without_pauses(drain.clone());
    loop {
        let (count, from_worker, to_worker) = worker.begin(&requests);
        let serve = pass_messages(coordinator, from_worker, to_worker);
        tokio::pin!(serve, count);
        // A coordinator that can't write does not answer, so nothing waits for it after the worker has left.
        let end = tokio::select! {
            biased;
            served = &mut serve => match served {
                Ok(()) | Err(WorkerRefusal::Unknown(_)) => count.await,
                Err(refusal) => return Err(refusal).context("the coordinator refused its own worker"),
            },
            end = &mut count => end,
        };
        if matches!(end, End::Left(_)) || drain.is_cancelled() {
            return Ok(());
        }
        tokio::time::timeout(Duration::from_secs(1), drain.cancelled()).await.unwrap_or(());
    }
}

/// Passes messages between a coordinator and its worker until either ends the session.
async fn pass_messages(
    coordinator: &Handle,
    mut from_worker: mpsc::Receiver<ToCoordinator>,
    to_worker: mpsc::Sender<ToWorker>,
) -> Result<(), WorkerRefusal> {
    let Some(ToCoordinator::Hello(hello)) = from_worker.recv().await else { return Ok(()) };
    let Ok(opened) = coordinator.open(*hello, None).await else { return Ok(()) };
    let (session, mut messages) = opened?;
    loop {
        tokio::select! {
            message = from_worker.recv() => match message {
                Some(message) => session.pass(message).await?,
                None => break,
            },
            message = messages.recv() => match message {
                Some(message) => _ = to_worker.send(message).await,
                None => break,
            },
        }
    }
    session.disconnect().await;
    Ok(())
}

/// Returns the job in a data directory.
fn held(snapshot: &Snapshot) -> Option<&JobStatus> {
    snapshot.jobs.iter().rfind(|job| job.state != JobState::Cancelled)
}
