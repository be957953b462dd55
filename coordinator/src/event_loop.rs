//! The thread that owns the ledger and its store.
//!
//! Commands come in through a bounded queue. The thread takes all that wait, plays them to the ledger, makes the
//! resulting writes durable in one transaction and only then sends messages and answers. Everybody else sees
//! [`Snapshot`]s and never waits for the ledger.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use queens_proto::{Failure, Hello, JobId, JobStatus, Priority, Report, ToWorker, WorkerId};
use queens_solver::BoardSize;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::coordinator::{Command, JobChange, Snapshot, StartError, WorkerChange};
use crate::ledger::{Effects, JobRefusal, Ledger, Outcome, Refusal, UnknownWorker};
use crate::planners::Planners;
use crate::store::{Store, StoreError, Write};

/// Commands made durable in one transaction, at most.
const BATCH: usize = 1024;

/// How often time passes for the ledger while something is counted: an idle thread waits this long for the tail of
/// somebody else's lease. Snapshots come as often, and whenever a job begins or ends.
const TICK: Duration = Duration::from_millis(100);

/// The same while nothing is counted: silent workers still have to be noticed.
const IDLE_TICK: Duration = Duration::from_secs(1);

/// How long to wait before writing again what could not be written, and how often to say so.
const RETRY: Duration = Duration::from_secs(1);
const COMPLAIN: Duration = Duration::from_secs(60);

/// The state of the coordinator's thread.
pub(crate) struct EventLoop {
    ledger: Ledger,
    store: Box<dyn Store>,
    queue: mpsc::Receiver<Command>,
    planners: Planners,
    sessions: HashMap<WorkerId, Session>,
    n_sessions: u64,
    /// Answers that wait until the writes are durable.
    answers: Vec<Box<dyn FnOnce() + Send>>,
    started: Instant,
    /// For how long nothing could be written since.
    blocked: Duration,
    ticked: Instant,
    publisher: watch::Sender<Arc<Snapshot>>,
    published: Instant,
    /// Whether something may have happened since.
    unpublished: bool,
    stop: CancellationToken,
}

/// The open session of a worker. A worker that connects again gets a new number, and the end of its old session does
/// not matter any more.
struct Session {
    number: u64,
    to_worker: mpsc::Sender<ToWorker>,
}

impl EventLoop {
    /// Takes over what `store` holds.
    pub(crate) fn new(
        mut store: Box<dyn Store>,
        n_threads: NonZeroUsize,
        queue: mpsc::Receiver<Command>,
        commands: mpsc::WeakSender<Command>,
        stop: CancellationToken,
    ) -> Result<Self, StartError> {
        let ledger = Ledger::restore(store.load()?)?;
        let blocked = ledger.blocked().map(str::to_owned).collect();
        let snapshot = Snapshot { jobs: ledger.jobs(), blocked, ..Snapshot::default() };
        Ok(Self {
            ledger,
            store,
            queue,
            planners: Planners::new(n_threads, commands),
            sessions: HashMap::new(),
            n_sessions: 0,
            answers: Vec::new(),
            started: Instant::now(),
            blocked: Duration::ZERO,
            ticked: Instant::now(),
            publisher: watch::Sender::new(Arc::new(snapshot)),
            published: Instant::now(),
            unpublished: false,
            stop,
        })
    }

    pub(crate) fn snapshots(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.publisher.subscribe()
    }

    /// Runs it on a thread of its own.
    pub(crate) fn spawn(self) -> Result<JoinHandle<()>, StartError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let thread = thread::Builder::new().name("ledger".into());
        Ok(thread.spawn(move || runtime.block_on(self.run()))?)
    }

    pub(crate) async fn run(mut self) {
        self.carry_out().await;
        while self.step().await {
            self.carry_out().await;
            self.publish();
        }
        self.planners.stop_all();
        self.publish_now();
    }

    /// Waits for something to happen and plays it to the ledger; `false` if the coordinator is to stop.
    async fn step(&mut self) -> bool {
        let next_tick = self.ticked + self.tick_interval();
        tokio::select! {
            biased;
            () = self.stop.cancelled() => return false,
            command = self.queue.recv() => {
                let Some(command) = command else { return false };
                self.apply(command);
                for _ in 1..BATCH {
                    let Ok(command) = self.queue.try_recv() else { break };
                    self.apply(command);
                }
            }
            () = tokio::time::sleep_until(next_tick),
                if self.ledger.has_workers() || self.unpublished =>
            {
                self.ticked = Instant::now();
                for silent in self.ledger.tick(self.now()) {
                    warn!(worker = %silent, "nothing was heard of the worker, its leases are free");
                    // If it lives, it is to notice: something on its connection is stuck.
                    self.sessions.remove(&silent);
                }
            }
        }
        true
    }

    /// The ledger's time, which stands still while nothing can be written: nobody is heard then, so that nobody is to be
    /// given up for his silence.
    fn now(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.blocked)
    }

    fn apply(&mut self, command: Command) {
        let now = self.now();
        match command {
            Command::Submit { n, priority, reply } => {
                let job = self.submit(now, n, priority);
                self.answers.push(Box::new(move || _ = reply.send(job)));
            }
            Command::ChangeJob { job, change, reply } => {
                let result = self.change_job(now, job, change);
                self.answers.push(Box::new(move || _ = reply.send(result)));
            }
            Command::ChangeWorkers { name, change, reply } => {
                let result = self.change_workers(now, &name, change);
                self.answers.push(Box::new(move || _ = reply.send(result)));
            }
            Command::Cancel { job, reply } => {
                let result = self.ledger.cancel(now, job);
                self.planners.stop(job);
                self.answers.push(Box::new(move || _ = reply.send(result)));
            }
            Command::Connect { hello, to_worker, reply } => {
                _ = reply.send(self.connect(now, hello, to_worker));
            }
            Command::Report { worker, session, report, reply } => {
                _ = reply.send(self.report(now, worker, session, &report));
            }
            Command::Failure { worker, session, failure, reply } => {
                _ = reply.send(self.fail(now, worker, session, &failure));
            }
            Command::Goodbye { worker, session } => {
                if self.close(worker, session) {
                    self.ledger.goodbye(now, worker);
                    info!(%worker, "worker left");
                }
            }
            Command::Disconnect { worker, session } => {
                if self.close(worker, session) {
                    self.ledger.disconnect(now, worker);
                    warn!(%worker, "connection to worker lost");
                }
            }
            Command::Planned { job, plan } => {
                info!(%job, crosses = plan.crosses().len(), work = %plan.work(), "job planned");
                self.planners.stop(job);
                self.ledger.planned(now, job, plan);
            }
        }
    }

    fn submit(&mut self, now: Duration, n: BoardSize, priority: Priority) -> JobId {
        let job = self.ledger.submit(n, unix_ms());
        info!(%job, %n, %priority, "job submitted");
        if priority != Priority::default()
            && let Err(error) = self.ledger.set_priority(now, job, priority)
        {
            error!(%error, "a new job has no priority");
        }
        job
    }

    fn change_job(&mut self, now: Duration, job: JobId, change: JobChange) -> Result<(), JobRefusal> {
        match change {
            JobChange::Pause => self.ledger.pause(now, job),
            JobChange::Resume => self.ledger.resume(now, job),
            JobChange::Priority(priority) => self.ledger.set_priority(now, job, priority),
        }
        .inspect(|()| match change {
            JobChange::Pause => info!(%job, "job paused"),
            JobChange::Resume => info!(%job, "job resumed"),
            JobChange::Priority(priority) => info!(%job, %priority, "job's priority changed"),
        })
    }

    fn change_workers(
        &mut self,
        now: Duration,
        name: &str,
        change: WorkerChange,
    ) -> Result<usize, UnknownWorker> {
        match change {
            WorkerChange::Drain => self.ledger.drain(now, name),
            WorkerChange::Block => self.ledger.block(now, name),
            WorkerChange::Unblock => self.ledger.unblock(now, name),
        }
        .inspect(|&workers| match change {
            WorkerChange::Drain => info!(name, workers, "workers sent home"),
            WorkerChange::Block => info!(name, workers, "workers blocked"),
            WorkerChange::Unblock => info!(name, workers, "workers unblocked"),
        })
    }

    fn fail(
        &mut self,
        now: Duration,
        worker: WorkerId,
        session: u64,
        failure: &Failure,
    ) -> Result<(), Refusal> {
        if !self.is_open(worker, session) {
            return Err(Refusal::Unknown(worker));
        }
        let Failure { job, span, reason, .. } = failure;
        warn!(%worker, %job, %span, reason, "worker failed to count");
        self.ledger.fail(now, worker, failure)
    }

    fn connect(
        &mut self,
        now: Duration,
        hello: Hello,
        to_worker: mpsc::Sender<ToWorker>,
    ) -> Result<u64, Refusal> {
        let (worker, name, kernel) = (hello.worker, hello.name.clone(), hello.kernel.clone());
        self.ledger.connect(now, hello)?;
        self.n_sessions += 1;
        self.sessions.insert(worker, Session { number: self.n_sessions, to_worker });
        info!(%worker, name, kernel, "worker connected");
        Ok(self.n_sessions)
    }

    fn report(
        &mut self,
        now: Duration,
        worker: WorkerId,
        session: u64,
        report: &Report,
    ) -> Result<(), Refusal> {
        if !self.is_open(worker, session) {
            return Err(Refusal::Unknown(worker));
        }
        let outcomes = self.ledger.report(now, worker, report)?;
        for (delta, outcome) in report.deltas.iter().zip(outcomes) {
            if outcome != Outcome::Recorded {
                debug!(%worker, job = %delta.job, span = %delta.span, ?outcome, "span not added");
            }
        }
        Ok(())
    }

    fn is_open(&self, worker: WorkerId, session: u64) -> bool {
        self.sessions.get(&worker).is_some_and(|open| open.number == session)
    }

    /// Forgets a session, unless the worker has begun another since.
    fn close(&mut self, worker: WorkerId, session: u64) -> bool {
        let open = self.is_open(worker, session);
        if open {
            self.sessions.remove(&worker);
        }
        open
    }

    /// Does what the ledger wants done: first makes it durable, then tells.
    async fn carry_out(&mut self) {
        loop {
            let Effects { writes, comparisons, messages, plans } = self.ledger.take_effects();
            if !self.write(&writes).await {
                return;
            }
            if !self.answers.is_empty() {
                // Whoever gets an answer finds what it is about in the snapshot.
                self.publish_now();
            }
            for answer in self.answers.drain(..) {
                answer();
            }
            messages.into_iter().for_each(|(worker, message)| self.send(worker, message));
            plans.into_iter().for_each(|(job, n)| self.planners.start(job, n));
            if comparisons.is_empty() {
                return;
            }
            for comparison in &comparisons {
                match self.store.find(comparison.job, comparison.span) {
                    Ok(recorded) => self.ledger.compared(comparison, recorded),
                    Err(error) => error!(%error, span = %comparison.span, "cannot compare a repeated span"),
                }
            }
        }
    }

    /// Writes until it works; `false` if the coordinator is told to stop before. Nothing else happens meanwhile: no
    /// report is acknowledged, workers wait, and what they hold is not lost.
    async fn write(&mut self, writes: &[Write]) -> bool {
        let Err(mut error) = self.commit(writes) else { return true };
        let failed = Instant::now();
        let mut complained = None;
        loop {
            if complained.is_none_or(|complained: Instant| complained.elapsed() >= COMPLAIN) {
                complained = Some(Instant::now());
                error!(%error, "nothing is acknowledged until the store can be written again");
            }
            self.say_store_error(Some(&error));
            tokio::select! {
                () = self.stop.cancelled() => return false,
                () = tokio::time::sleep(RETRY) => {}
            }
            match self.commit(writes) {
                Ok(()) => break,
                Err(again) => error = again,
            }
        }
        let blocked = failed.elapsed();
        self.blocked += blocked;
        self.say_store_error(None);
        info!(seconds = blocked.as_secs(), "the store can be written again");
        true
    }

    fn say_store_error(&self, error: Option<&StoreError>) {
        self.publisher.send_modify(|snapshot| {
            Arc::make_mut(snapshot).store_error = error.map(ToString::to_string);
        });
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        if writes.is_empty() { Ok(()) } else { self.store.commit(writes) }
    }

    /// Never waits: a worker that doesn't read what it is sent loses its session.
    fn send(&mut self, worker: WorkerId, message: ToWorker) {
        let Some(session) = self.sessions.get(&worker) else { return };
        if let Err(error) = session.to_worker.try_send(message) {
            // A closed channel is the end of a session, which will be said to have ended.
            if matches!(error, TrySendError::Full(_)) {
                warn!(%worker, "worker does not read what it is sent");
            }
            self.sessions.remove(&worker);
            self.ledger.disconnect(self.now(), worker);
        }
    }

    fn tick_interval(&self) -> Duration {
        if self.ledger.has_leases() { TICK } else { IDLE_TICK }
    }

    fn publish(&mut self) {
        let jobs = self.ledger.jobs();
        let begun_and_ended =
            |jobs: &[JobStatus]| (jobs.len(), jobs.iter().filter(|job| job.state.is_over()).count());
        let changed = begun_and_ended(&jobs) != begun_and_ended(&self.publisher.borrow().jobs);
        self.unpublished = true;
        if changed || self.published.elapsed() >= self.tick_interval() {
            self.publish_now();
        }
    }

    fn publish_now(&mut self) {
        self.published = Instant::now();
        self.unpublished = false;
        let (jobs, workers) = (self.ledger.jobs(), self.ledger.workers());
        for job in jobs.iter().filter(|job| job.state.is_over()) {
            let before = self.publisher.borrow().job(job.id).is_some_and(|before| before.state.is_over());
            if !before {
                let (id, state, solutions) = (job.id, job.state.name(), job.progress.solutions);
                info!(job = %id, n = %job.n, state, %solutions, "job over");
            }
        }
        let blocked = self.ledger.blocked().map(str::to_owned).collect();
        self.publisher.send_replace(Arc::new(Snapshot { jobs, workers, blocked, store_error: None }));
    }
}

fn unix_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}
