//! The running coordinator and the handles to it.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use queens_messages::{
    Contribution, CoordinatorStatus, Event, Failure, Hello, JobId, JobStatus, Name, Priority, Report,
    ToCoordinator, ToWorker, WorkerId, WorkerStatus,
};
use queens_proto::Link;
use queens_solver::{BoardSize, Plan};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::contributions::{Contributions, Untold};
use crate::event_loop::EventLoop;
use crate::history::{Historian, SharedCurves};
use crate::metrics::{Counters, Metrics};
use crate::pulse::Pulse;
use crate::status;
use crate::store::Archive;
use crate::turns::Symmetric;
use queens_ledger::store::StoreError;
use queens_ledger::{CrossStatus, JobRefusal, Refusal, RestoreError, UnknownJob, UnknownWorker};

/// Commands that may wait; whoever sends more waits too.
const QUEUE: usize = 4096;

/// How old the details of a job may be that somebody looks at.
pub(crate) const DETAILS_AGE: Duration = Duration::from_secs(1);

/// How long to wait for the details of a job that nobody has looked at lately.
const LOOK_PATIENCE: Duration = Duration::from_secs(3);

/// A coordinator's state as of a moment ago.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// All jobs, in the order of submission.
    pub jobs: Vec<JobStatus>,
    /// All workers that are connected or may come back, as of the last second.
    pub workers: Arc<Vec<WorkerStatus>>,
    /// Names of workers that get no leases, whether or not there are any.
    pub blocked: Vec<Name>,
    /// Why reports are not acknowledged at present, if they are not.
    pub store_error: Option<String>,
    /// Why the coordinator has ended by itself, if it has: what is stored is damaged, and what to do.
    pub damage: Option<String>,
    /// The last events, the oldest first.
    pub events: Arc<[Arc<Event>]>,
    /// The jobs that somebody [looks at](Handle::details).
    pub details: BTreeMap<JobId, Arc<Details>>,
}

/// What is too much to be told of every job all the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// The job's plan.
    pub plan: Arc<Plan>,
    /// What is recorded of each of its crosses.
    pub crosses: Vec<CrossStatus>,
    /// As of when.
    pub(crate) made: Instant,
}

impl Snapshot {
    /// The job with this id.
    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&JobStatus> {
        let at = self.jobs.binary_search_by_key(&id, |job| job.id).ok()?;
        self.jobs.get(at)
    }
}

/// Why a coordinator could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its store can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored can't be gone on with.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Its thread could not be started.
    #[error("failed to start the coordinator's thread: {0}")]
    Thread(#[from] io::Error),
}

/// Jobs that may be there to be planned or counted. What is told of them all, several times a second, stays short work,
/// and what each takes in memory stays within bounds.
pub(crate) const MOST_OPEN_JOBS: usize = 10_000;

/// A job is refused, because there are too many that are not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there are {MOST_OPEN_JOBS} jobs that are not over: wait for some to be done, or cancel some")]
pub struct TooManyJobs;

/// The coordinator has stopped; nothing more will come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the coordinator has stopped")]
pub struct Stopped;

/// A running coordinator. Stops when told to.
#[derive(Debug)]
pub struct Coordinator {
    handle: Handle,
    stop: CancellationToken,
    /// The event loop's and the historian's, which ends when that has.
    threads: [JoinHandle<()>; 2],
}

/// A way to talk to a running coordinator; cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle {
    commands: mpsc::Sender<Command>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    metrics: Arc<Metrics>,
    pulse: Pulse,
    contributions: Arc<Contributions>,
    curves: SharedCurves,
    /// What its store is called.
    store: &'static str,
}

/// What an operator decides about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobChange {
    /// It is stopped for now.
    Pause,
    /// It goes on, and what failed is tried again.
    Resume,
    /// It is this urgent.
    Priority(Priority),
}

/// What an operator decides about all workers of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerChange {
    /// Those that are there now are sent home.
    Drain,
    /// They get no leases, now and later.
    Block,
    /// They get leases again.
    Unblock,
}

type Verdict = oneshot::Sender<Result<(), Refusal>>;

#[derive(Debug)]
pub(crate) enum Command {
    Submit { n: BoardSize, priority: Priority, reply: oneshot::Sender<Result<JobId, TooManyJobs>> },
    Cancel { job: JobId, reply: oneshot::Sender<Result<(), UnknownJob>> },
    ChangeJob { job: JobId, change: JobChange, reply: oneshot::Sender<Result<(), JobRefusal>> },
    ChangeWorkers { name: Name, change: WorkerChange, reply: oneshot::Sender<Result<usize, UnknownWorker>> },
    Connect { hello: Hello, to_worker: mpsc::Sender<ToWorker>, reply: oneshot::Sender<Result<u64, Refusal>> },
    Report { worker: WorkerId, session: u64, report: Report, came: Instant, reply: Verdict },
    Failure { worker: WorkerId, session: u64, failure: Failure, reply: oneshot::Sender<Result<(), Refusal>> },
    Goodbye { worker: WorkerId, session: u64 },
    Disconnect { worker: WorkerId, session: u64 },
    PlanEnded { n: BoardSize, plan: Option<Plan> },
    SearchEnded { n: BoardSize, found: Option<Symmetric> },
    Look { job: JobId },
}

impl Coordinator {
    /// Starts a coordinator on what `store` holds. Plans are made with `n_threads` threads.
    ///
    /// # Errors
    /// If what is stored can't be read or gone on with.
    pub fn start(store: Box<dyn Archive>, n_threads: NonZeroUsize) -> Result<Self, StartError> {
        let stop = CancellationToken::new();
        let (handle, event_loop, historian) = prepare(store, n_threads, stop.clone())?;
        // In this order: the historian ends by itself if the other can't be started.
        let historian = historian.spawn()?;
        Ok(Self { handle, stop, threads: [event_loop.spawn()?, historian] })
    }

    /// A handle to talk to it.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns when its thread has ended without being told to.
    pub async fn stopped(&self) {
        self.handle.commands.closed().await;
    }

    /// Lets it end what it is writing and stop. Sessions are closed; what was not acknowledged is not recorded.
    pub fn stop(self) {
        self.stop.cancel();
        for thread in self.threads {
            if thread.join().is_err() {
                error!("a thread of the coordinator panicked");
            }
        }
    }
}

/// A coordinator without a thread: it runs while the future is polled, in the time of that runtime, until no handle
/// is left. So it can be put among simulated machines.
///
/// # Errors
/// If what is stored can't be read or gone on with.
pub fn unthreaded(
    store: Box<dyn Archive>,
    n_threads: NonZeroUsize,
) -> Result<(Handle, impl Future<Output = ()>), StartError> {
    let (handle, event_loop, historian) = prepare(store, n_threads, CancellationToken::new())?;
    let run = async {
        tokio::join!(event_loop.run(), historian.run());
    };
    Ok((handle, run))
}

fn prepare(
    store: Box<dyn Archive>,
    n_threads: NonZeroUsize,
    stop: CancellationToken,
) -> Result<(Handle, EventLoop, Historian), StartError> {
    let (commands, queue) = mpsc::channel(QUEUE);
    let kind = store.kind();
    let contributions = Arc::new(Contributions::of(store.records()));
    let counters = Counters::new();
    let pulse = Pulse::new();
    let (event_loop, historian) =
        EventLoop::new(store, n_threads, queue, commands.downgrade(), counters.clone(), pulse.clone(), stop)?;
    let snapshots = event_loop.snapshots();
    let metrics = Arc::new(Metrics::new(counters, snapshots.clone()));
    let curves = historian.curves();
    let handle = Handle { commands, snapshots, metrics, pulse, contributions, curves, store: kind };
    Ok((handle, event_loop, historian))
}

impl Handle {
    /// Submits a job; it is durable when its id is returned.
    ///
    /// # Errors
    /// If the coordinator has stopped; inside, if there are too many jobs.
    pub async fn submit(
        &self,
        n: BoardSize,
        priority: Priority,
    ) -> Result<Result<JobId, TooManyJobs>, Stopped> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Submit { n, priority, reply }).await?;
        answer.await.map_err(|_| Stopped)
    }

    /// Changes how a job is served; the change is durable when this returns.
    ///
    /// # Errors
    /// If the coordinator has stopped; inside, if there is no such job or it is over.
    pub async fn change_job(&self, job: JobId, change: JobChange) -> Result<Result<(), JobRefusal>, Stopped> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::ChangeJob { job, change, reply }).await?;
        answer.await.map_err(|_| Stopped)
    }

    /// Drains, blocks or unblocks all workers of a name; returns how many there are. Blocks are durable then.
    ///
    /// # Errors
    /// If the coordinator has stopped; inside, if there is no such worker.
    pub async fn change_workers(
        &self,
        name: Name,
        change: WorkerChange,
    ) -> Result<Result<usize, UnknownWorker>, Stopped> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::ChangeWorkers { name, change, reply }).await?;
        answer.await.map_err(|_| Stopped)
    }

    /// Gives a job up.
    ///
    /// # Errors
    /// If the coordinator has stopped; inside, if there is no such job.
    pub async fn cancel(&self, job: JobId) -> Result<Result<(), UnknownJob>, Stopped> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Cancel { job, reply }).await?;
        answer.await.map_err(|_| Stopped)
    }

    /// The present state, and a way to wait for changes.
    #[must_use]
    pub fn snapshots(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }

    /// The present state.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }

    /// How the coordinator itself stands.
    #[must_use]
    pub fn status(&self) -> CoordinatorStatus {
        status::of_coordinator(&self.snapshot(), self.store, &self.pulse)
    }

    /// Its numbers for Prometheus.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// How fast jobs were counted.
    pub(crate) fn curves(&self) -> &SharedCurves {
        &self.curves
    }

    /// For how long the coordinator has been busy with one step, if that is so long that others notice.
    pub(crate) fn busy(&self) -> Option<Duration> {
        self.pulse.busy()
    }

    /// Whether the coordinator has stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.commands.is_closed()
    }

    /// The details of a job: those of a second or so ago, if somebody has looked lately, or else as soon as they are
    /// made. `None` if there is no such job, or its plan is not made, or if they take long.
    pub async fn details(&self, job: JobId) -> Option<Arc<Details>> {
        let mut snapshots = self.snapshots();
        let known = |snapshot: &Snapshot| snapshot.details.get(&job).cloned();
        if snapshots.borrow().job(job)?.progress.n_subproblems == 0 {
            return None;
        }
        let details = known(&snapshots.borrow());
        if details.as_ref().is_none_or(|details| details.made.elapsed() >= DETAILS_AGE) {
            // If the queue is full there is much to do, and somebody looks again.
            _ = self.commands.try_send(Command::Look { job });
        }
        if details.is_some() {
            return details;
        }
        let made = snapshots.wait_for(|snapshot| snapshot.details.contains_key(&job));
        let made = tokio::time::timeout(LOOK_PATIENCE, made).await;
        known(&*made.ok()?.ok()?)
    }

    /// Who has counted a job, those with the most nodes first: as of some seconds ago, or longer if it takes long. Nobody
    /// of a count that is not kept.
    ///
    /// # Errors
    /// If the records can't be read, or not now.
    pub async fn contributions(&self, job: JobId) -> Result<Arc<[Contribution]>, Untold> {
        self.contributions.of_job(job).await
    }

    /// Who has counted a cross of a job.
    ///
    /// # Errors
    /// As with [`contributions`](Self::contributions).
    pub async fn contributions_to(&self, job: JobId, cross: u32) -> Result<Vec<Contribution>, Untold> {
        self.contributions.of_cross(job, cross).await
    }

    /// Serves one session of a worker to its end, which is when the worker says goodbye or its link breaks, or when
    /// the coordinator stops or closes it.
    ///
    /// # Errors
    /// If the worker is refused.
    pub async fn serve(&self, link: Link<ToWorker, ToCoordinator>) -> Result<(), Refusal> {
        let Link { sender, mut receiver } = link;
        let Some(ToCoordinator::Hello(hello)) = receiver.recv().await else { return Err(Refusal::NoHello) };
        let worker = hello.worker;
        let (reply, answer) = oneshot::channel();
        let connect = Command::Connect { hello, to_worker: sender, reply };
        if self.send(connect).await.is_err() {
            return Ok(());
        }
        let Ok(session) = answer.await else { return Ok(()) };
        let session = session?;
        let end = loop {
            let (reply, answer) = oneshot::channel();
            let command = match receiver.recv().await {
                Some(ToCoordinator::Report(report)) => {
                    Command::Report { worker, session, report, came: Instant::now(), reply }
                }
                Some(ToCoordinator::Failure(failure)) => Command::Failure { worker, session, failure, reply },
                Some(ToCoordinator::Goodbye) => {
                    self.send(Command::Goodbye { worker, session }).await.unwrap_or(());
                    return Ok(());
                }
                Some(ToCoordinator::Hello(_)) => break Err(Refusal::SecondHello),
                None => break Ok(()),
            };
            if self.send(command).await.is_err() {
                return Ok(());
            }
            match answer.await {
                Ok(Ok(())) => {}
                Ok(Err(refusal)) => break Err(refusal),
                Err(_) => return Ok(()),
            }
        };
        self.send(Command::Disconnect { worker, session }).await.unwrap_or(());
        end
    }

    async fn send(&self, command: Command) -> Result<(), Stopped> {
        self.commands.send(command).await.map_err(|_| Stopped)
    }
}
