//! The thread that owns the ledger and its store.
//!
//! Commands come in through a bounded queue. The thread takes all that wait, plays them to the ledger, makes the
//! resulting writes durable in one transaction and only then sends messages and answers. Everybody else sees
//! [`Snapshot`]s and never waits for the ledger.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use queens_messages::{
    EventKind, Failure, Hello, JobId, JobState, Name, Priority, Report, ToWorker, WorkerId,
};
use queens_solver::{BoardSize, Count};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, debug_span, error, info, warn};

use crate::coordinator::{
    Command, DETAILS_AGE, Details, JobChange, MOST_OPEN_JOBS, Snapshot, StartError, TooManyJobs, WorkerChange,
};
use crate::history::{self, Historian};
use crate::journal::{Journal, unix_ms};
use crate::metrics::{Counters, Fate};
use crate::planners::Planners;
use crate::pulse::{Pulse, SLOW};
use crate::seldom::Seldom;
use crate::store::Archive;
use crate::traces::Traces;
use crate::turns::Turns;
use queens_ledger::store::{Recorded, StoreError, Write};
use queens_ledger::{Comparison, Effects, JobRefusal, Ledger, Loss, Outcome, Refusal, UnknownWorker};

/// Commands made durable in one transaction, at most.
const BATCH: usize = 1024;

/// How often time passes for the ledger while something is planned or counted, or has happened that is not published:
/// an idle thread waits this long for the tail of somebody else's lease. Snapshots come as often, and whenever a job
/// begins or ends.
const TICK: Duration = Duration::from_millis(100);

/// The same while nothing is counted: silent workers still have to be noticed.
const IDLE_TICK: Duration = Duration::from_secs(1);

/// How often the list of workers is made, if no operator has just changed it: it may be long.
const WORKERS_AGE: Duration = Duration::from_secs(1);

/// For how long details of a job are made after somebody has looked at them.
const INTEREST: Duration = Duration::from_secs(10);

/// How long a step goes on taking commands that wait.
const STEP: Duration = Duration::from_millis(50);

/// A worker that was not heard because the thread came so late to listen was not silent. That goes for a process that
/// was stopped, not for one that is always slow: so much time passes between two such delays, or the second counts.
const STANDSTILL: Duration = Duration::from_secs(1);
const LISTENING: Duration = Duration::from_secs(10);

/// How long to wait before writing again what could not be written, and how often to say so.
const RETRY: Duration = Duration::from_secs(1);
const COMPLAIN: Duration = Duration::from_secs(60);

/// The state of the coordinator's thread.
pub(crate) struct EventLoop {
    ledger: Ledger,
    store: Box<dyn Archive>,
    queue: mpsc::Receiver<Command>,
    planners: Planners,
    turns: Turns,
    sessions: HashMap<WorkerId, Session>,
    n_sessions: u64,
    /// Answers that wait until the writes are durable.
    answers: Vec<Box<dyn FnOnce() + Send>>,
    counters: Counters,
    traces: Traces,
    /// When the reports came that are not durable yet.
    reports: Vec<Instant>,
    started: Instant,
    /// For how long nothing could be written since, or this process stood still.
    blocked: Duration,
    ticked: Instant,
    /// When it last began to do something.
    woke: Instant,
    pulse: Pulse,
    /// When time was last discounted for coming late.
    discounted: Option<Instant>,
    slow_steps: Seldom,
    publisher: watch::Sender<Arc<Snapshot>>,
    published: Instant,
    /// What the ledger's census was then.
    census: (usize, usize),
    /// Whether something may have happened since.
    unpublished: bool,
    workers_published: Instant,
    journal: Journal,
    /// When somebody last looked at the details of a job.
    looked: BTreeMap<JobId, Instant>,
    stop: CancellationToken,
}

/// The open session of a worker. A worker that connects again gets a new number, and the end of its old session does
/// not matter any more.
struct Session {
    number: u64,
    to_worker: mpsc::Sender<ToWorker>,
}

impl EventLoop {
    /// Takes over what `store` holds. Whoever writes history down follows the snapshots.
    pub(crate) fn new(
        mut store: Box<dyn Archive>,
        n_threads: NonZeroUsize,
        queue: mpsc::Receiver<Command>,
        commands: mpsc::WeakSender<Command>,
        counters: Counters,
        pulse: Pulse,
        stop: CancellationToken,
    ) -> Result<(Self, Historian), StartError> {
        let stored = store.load()?;
        for name in stored.blocked.iter().filter(|name| name.parse::<Name>().is_err()) {
            warn!(?name, "a block is dropped: no worker can have this name any more");
        }
        let ledger = Ledger::restore(stored)?;
        let (history, past) = history::open(&*store, &ledger.jobs());
        let mut journal = Journal::after(&past.events);
        journal.add(EventKind::Store, None, "coordinator started".to_owned());
        let blocked = ledger.blocked().cloned().collect();
        let events = journal.events();
        let census = ledger.census();
        let (mut jobs, mut turns) = (ledger.jobs(), Turns::new(commands.clone()));
        turns.complete(&mut jobs);
        let snapshot = Snapshot { jobs, blocked, events, ..Snapshot::default() };
        let publisher = watch::Sender::new(Arc::new(snapshot));
        let historian = Historian::new(history, past, publisher.subscribe());
        let event_loop = Self {
            ledger,
            store,
            queue,
            planners: Planners::new(n_threads, commands),
            turns,
            sessions: HashMap::new(),
            n_sessions: 0,
            answers: Vec::new(),
            counters,
            traces: Traces::default(),
            reports: Vec::new(),
            started: Instant::now(),
            blocked: Duration::ZERO,
            ticked: Instant::now(),
            woke: Instant::now(),
            pulse,
            discounted: None,
            slow_steps: Seldom::default(),
            publisher,
            published: Instant::now(),
            census,
            unpublished: false,
            workers_published: Instant::now(),
            journal,
            looked: BTreeMap::new(),
            stop,
        };
        Ok((event_loop, historian))
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
        if let Err(damage) = self.go_on().await {
            self.journal.add(EventKind::Store, None, damage.to_string());
            self.say_store_error(Some(&damage));
            self.publisher.send_modify(|snapshot| Arc::make_mut(snapshot).damage = Some(damage.to_string()));
            self.planners.stop_all();
            return;
        }
        self.planners.stop_all();
        self.turns.stop();
        self.publish_now(true);
    }

    /// Serves until it is to stop, or the store is found to be damaged.
    async fn go_on(&mut self) -> Result<(), StoreError> {
        self.carry_out().await?;
        while self.step().await {
            self.carry_out().await?;
            self.publish();
            self.end_step();
        }
        Ok(())
    }

    /// Waits for something to happen and plays it to the ledger; `false` if the coordinator is to stop.
    async fn step(&mut self) -> bool {
        let next_tick = self.ticked + self.tick_interval();
        let is_ticking = self.ledger.has_workers() || self.unpublished || self.planners.is_making();
        let due = next_tick.max(self.woke);
        let mut command = tokio::select! {
            biased;
            () = self.stop.cancelled() => return false,
            command = self.queue.recv() => match command {
                Some(command) => Some(command),
                None => return false,
            },
            () = self.planners.wait_for_retry() => {
                self.planners.start();
                None
            }
            () = tokio::time::sleep_until(next_tick), if is_ticking => None,
            () = std::future::ready(()), if self.planners.is_ready() => None,
        };
        self.pulse.begin();
        self.discount_standstill(due, is_ticking);
        self.ledger.tell_date(unix_ms());
        for n_taken in 1.. {
            let Some(taken) = command else { break };
            self.unpublished |= !is_sign_of_life(&taken);
            self.apply(taken);
            let goes_on = n_taken < BATCH && self.woke.elapsed() < STEP;
            command = if goes_on { self.queue.try_recv().ok() } else { None };
        }
        // However much there is to do, time passes; and who has said something by then was not silent.
        if is_ticking && Instant::now() >= next_tick {
            self.tick();
        }
        self.take_plan();
        true
    }

    fn tick(&mut self) {
        self.ticked = Instant::now();
        for silent in self.ledger.tick(self.now()) {
            warn!(worker = %silent, "nothing was heard of the worker, its leases are free");
            // If it lives, it is to notice: something on its connection is stuck.
            self.sessions.remove(&silent);
        }
    }

    /// Has people told if everybody had to wait for a step.
    fn end_step(&mut self) {
        let took = self.pulse.end();
        self.counters.stepped_in(took);
        if took >= SLOW
            && let Some(left_out) = self.slow_steps.allows()
        {
            info!(seconds = took.as_secs_f64(), left_out, "a step of the event loop was slow");
            let text =
                format!("busy for {:.2} s with one step: everybody else had to wait", took.as_secs_f64());
            self.journal.add(EventKind::Store, None, text);
        }
    }

    /// Gives a job its plan, if there is one that waits for it. One at a time: there may be many jobs, and the plan of
    /// each is written.
    fn take_plan(&mut self) {
        let Some((job, plan)) = self.planners.take() else { return };
        self.unpublished = true;
        let (now, n_crosses) = (self.now(), plan.crosses().len());
        info!(%job, crosses = n_crosses, work = %plan.work(), "job planned");
        self.traces.planned(job);
        self.note_job(job, format!("planned: {n_crosses} crosses"));
        self.ledger.planned(now, job, plan);
    }

    /// Takes from the ledger's time that nobody was listened to though somebody should have been by `due`: this process
    /// or its machine was stopped, or a transaction took long.
    fn discount_standstill(&mut self, due: Instant, is_ticking: bool) {
        self.woke = Instant::now();
        let late = self.woke.saturating_duration_since(due);
        let has_listened = self.discounted.is_none_or(|at| at.elapsed().saturating_sub(late) >= LISTENING);
        if is_ticking && late >= STANDSTILL && has_listened {
            self.discounted = Some(self.woke);
            self.blocked += late;
            warn!(seconds = late.as_secs_f64(), "this process stood still; nobody is given up for that");
        }
    }

    /// The ledger's time, which stands still while nothing can be written, and while this process does: nobody is heard
    /// then, so that nobody is to be given up for his silence.
    fn now(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.blocked)
    }

    fn apply(&mut self, command: Command) {
        let now = self.now();
        match command {
            Command::Submit { n, priority, reply } => {
                let result = self.submit(now, n, priority);
                self.answers.push(Box::new(move || _ = reply.send(result)));
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
                self.planners.remove(job);
                self.answers.push(Box::new(move || _ = reply.send(result)));
            }
            Command::Connect { hello, to_worker, reply } => {
                _ = reply.send(self.connect(now, hello, to_worker));
            }
            Command::Report { worker, session, report, came, reply } => {
                self.reports.push(came);
                _ = reply.send(self.report(now, worker, session, &report));
            }
            Command::Failure { worker, session, failure, reply } => {
                _ = reply.send(self.fail(now, worker, session, &failure));
            }
            Command::Goodbye { worker, session } => {
                if self.close(worker, session) {
                    self.note_worker(worker, "left");
                    self.ledger.goodbye(now, worker);
                    info!(%worker, "worker left");
                }
            }
            Command::Disconnect { worker, session } => {
                if self.close(worker, session) {
                    self.note_worker(worker, "lost its connection");
                    self.ledger.disconnect(now, worker);
                    warn!(%worker, "connection to worker lost");
                }
            }
            Command::PlanEnded { n, plan } => self.planners.ended(n, plan),
            Command::SearchEnded { n, found } => self.turns.ended(n, found),
            Command::Look { job } => _ = self.looked.insert(job, Instant::now()),
        }
    }

    fn submit(&mut self, now: Duration, n: BoardSize, priority: Priority) -> Result<JobId, TooManyJobs> {
        if self.ledger.n_open() >= MOST_OPEN_JOBS {
            return Err(TooManyJobs);
        }
        let job = self.ledger.submit(n, unix_ms());
        info!(%job, %n, %priority, "job submitted");
        self.traces.submitted(job, n);
        self.note_job(job, format!("submitted for n = {n} with priority {priority}"));
        if priority != Priority::default()
            && let Err(error) = self.ledger.set_priority(now, job, priority)
        {
            error!(%error, "a new job has no priority");
        }
        Ok(job)
    }

    fn change_job(&mut self, now: Duration, job: JobId, change: JobChange) -> Result<(), JobRefusal> {
        match change {
            JobChange::Pause => self.ledger.pause(now, job),
            JobChange::Resume => self.ledger.resume(now, job),
            JobChange::Priority(priority) => self.ledger.set_priority(now, job, priority),
        }
        .inspect(|()| match change {
            JobChange::Pause => {
                info!(%job, "job paused");
                self.note_job(job, "paused".to_owned());
            }
            JobChange::Resume => {
                info!(%job, "job resumed");
                self.note_job(job, "resumed".to_owned());
            }
            JobChange::Priority(priority) => {
                info!(%job, %priority, "job's priority changed");
                self.note_job(job, format!("has priority {priority} now"));
            }
        })
    }

    fn note_job(&mut self, job: JobId, text: String) {
        self.journal.add(EventKind::Job, Some(job), text);
    }

    fn note_worker(&mut self, worker: WorkerId, what: &str) {
        let text = self.ledger.worker_name(worker).map(|name| format!("{name} {what}"));
        self.journal.add(EventKind::Worker, None, text.unwrap_or_else(|| format!("worker {worker} {what}")));
    }

    fn note_loss(&mut self, loss: &Loss) {
        let Loss { name, is_there, n_leases } = loss;
        let why = if *is_there { "reported nothing of what it held" } else { "was not heard of any more" };
        if !is_there {
            self.journal.add(EventKind::Worker, None, format!("{name} was given up: it {why}"));
        }
        for (&job, n_leases) in n_leases {
            let leases = if *n_leases == 1 { "lease is" } else { "leases are" };
            let text = format!("{name} {why}: {n_leases} {leases} free for others");
            self.journal.add(EventKind::Lease, Some(job), text);
        }
    }

    /// Has people told if two counts of a span contradict each other.
    fn note_dispute(&mut self, comparison: &Comparison, recorded: Option<&Recorded>) {
        let Comparison { job, span, count, worker } = comparison;
        let Some(recorded) = recorded.filter(|recorded| recorded.count != *count) else { return };
        error!(%job, %span, %worker, ?count, ?recorded, "a second count contradicts the record");
        let text = format!(
            "{worker} counted {} solutions of {span} with {} nodes, and {} with {} are recorded of {}: one of the two \
             is wrong",
            count.solutions, count.nodes, recorded.count.solutions, recorded.count.nodes, recorded.worker
        );
        self.journal.add(EventKind::Failure, Some(*job), text);
    }

    fn change_workers(
        &mut self,
        now: Duration,
        name: &Name,
        change: WorkerChange,
    ) -> Result<usize, UnknownWorker> {
        match change {
            WorkerChange::Drain => self.ledger.drain(now, name),
            WorkerChange::Block => Ok(self.ledger.block(now, name)),
            WorkerChange::Unblock => self.ledger.unblock(now, name),
        }
        .inspect(|&workers| {
            let what = match change {
                WorkerChange::Drain => "sent home",
                WorkerChange::Block => "blocked",
                WorkerChange::Unblock => "unblocked",
            };
            info!(%name, workers, "workers {what}");
            self.journal.add(EventKind::Worker, None, format!("all named {name} were {what}"));
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
        self.ledger.fail(now, worker, failure)?;
        let name = self.ledger.worker_name(worker).map_or("", Name::as_str);
        self.journal.add(EventKind::Failure, Some(*job), format!("{name} failed on {span}: {reason}"));
        Ok(())
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
        info!(%worker, %name, %kernel, "worker connected");
        self.journal.add(EventKind::Worker, None, format!("{name} joined"));
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
        let (mut nodes, mut n_accepted) = (0, 0);
        for (delta, outcome) in report.deltas.iter().zip(outcomes) {
            self.traces.reported(worker, delta, outcome);
            match outcome {
                Outcome::Recorded => {
                    n_accepted += 1;
                    nodes += u128::from(delta.count.nodes);
                    continue;
                }
                // What becomes of it is known when it is compared.
                Outcome::Repeated => {}
                Outcome::Discarded => self.counters.add_spans(Fate::Discarded, 1),
                Outcome::Unleased => self.counters.add_spans(Fate::Unleased, 1),
            }
            debug!(%worker, job = %delta.job, span = %delta.span, ?outcome, "span not added");
        }
        self.counters.add_spans(Fate::Accepted, n_accepted);
        self.counters.add_nodes(nodes);
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

    /// Does what the ledger wants done: first makes it durable, then tells. An error does not heal.
    async fn carry_out(&mut self) -> Result<(), StoreError> {
        loop {
            let Effects { writes, comparisons, messages, plans, losses } = self.ledger.take_effects();
            losses.iter().for_each(|loss| self.note_loss(loss));
            if !self.write(&writes).await? {
                return Ok(());
            }
            self.traces.committed();
            self.reports.drain(..).for_each(|received| self.counters.acknowledged_after(received.elapsed()));
            if !self.answers.is_empty() {
                // Whoever gets an answer finds what it is about in the snapshot.
                self.publish_now(true);
            }
            for answer in self.answers.drain(..) {
                answer();
            }
            messages.into_iter().for_each(|(worker, message)| self.send(worker, message));
            plans.into_iter().for_each(|(job, n)| self.planners.add(job, n));
            if comparisons.is_empty() {
                return Ok(());
            }
            for comparison in &comparisons {
                match self.store.find(comparison.job, comparison.span) {
                    Ok(recorded) => {
                        let recorded = recorded.as_ref();
                        self.counters.add_spans(fate(comparison.count, recorded), 1);
                        self.note_dispute(comparison, recorded);
                        self.ledger.compared(comparison, recorded);
                    }
                    Err(error) if error.may_heal() => {
                        error!(%error, span = %comparison.span, "cannot compare a repeated span");
                    }
                    Err(damage) => return Err(damage),
                }
            }
        }
    }

    /// Writes until it works; `false` if the coordinator is told to stop before. Nothing else happens meanwhile: no
    /// report is acknowledged, workers wait, and what they hold is not lost. An error does not heal.
    async fn write(&mut self, writes: &[Write]) -> Result<bool, StoreError> {
        let mut error = match self.commit(writes) {
            Ok(()) => return Ok(true),
            Err(error) if error.may_heal() => error,
            Err(damage) => return Err(damage),
        };
        let failed = Instant::now();
        let mut complained = None;
        self.journal.add(EventKind::Store, None, error.to_string());
        loop {
            if complained.is_none_or(|complained: Instant| complained.elapsed() >= COMPLAIN) {
                complained = Some(Instant::now());
                error!(%error, "nothing is acknowledged until the store can be written again");
            }
            self.say_store_error(Some(&error));
            self.pulse.end();
            tokio::select! {
                () = self.stop.cancelled() => return Ok(false),
                () = tokio::time::sleep(RETRY) => {}
            }
            self.pulse.begin();
            match self.commit(writes) {
                Ok(()) => break,
                Err(again) if again.may_heal() => error = again,
                Err(damage) => return Err(damage),
            }
        }
        let blocked = failed.elapsed();
        self.blocked += blocked;
        self.woke = Instant::now();
        self.journal.add(EventKind::Store, None, "the store can be written again".to_owned());
        self.say_store_error(None);
        info!(seconds = blocked.as_secs(), "the store can be written again");
        Ok(true)
    }

    fn say_store_error(&mut self, error: Option<&StoreError>) {
        let events = self.journal.events();
        self.publisher.send_modify(|snapshot| {
            let snapshot = Arc::make_mut(snapshot);
            snapshot.store_error = error.map(ToString::to_string);
            snapshot.events = events;
        });
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        if writes.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let _span = debug_span!("commit", writes = writes.len()).entered();
        self.store.commit(writes)?;
        self.counters.committed_in(began.elapsed());
        Ok(())
    }

    /// Never waits: a worker that doesn't read what it is sent loses its session.
    fn send(&mut self, worker: WorkerId, message: ToWorker) {
        self.traces.sent(worker, &message);
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
        let is_changing = self.ledger.has_leases() || self.unpublished || self.planners.is_making();
        if is_changing { TICK } else { IDLE_TICK }
    }

    fn publish(&mut self) {
        let changed = self.census != self.ledger.census();
        let wanted = self.looked.keys().any(|job| !self.publisher.borrow().details.contains_key(job));
        if changed || wanted || self.published.elapsed() >= self.tick_interval() {
            self.publish_now(false);
        }
    }

    /// Publishes how things stand; with the workers as they are now, or as they were within the last second.
    fn publish_now(&mut self, with_workers: bool) {
        let before = self.publisher.borrow().clone();
        self.published = Instant::now();
        self.census = self.ledger.census();
        self.traces.keep(|job| self.ledger.is_open(job), |lease| self.ledger.is_held(lease));
        let mut jobs = self.ledger.jobs();
        for job in jobs.iter_mut().filter(|job| job.state == JobState::Planning) {
            job.n_plans_before = self.planners.n_before(job.n).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            job.plan_fraction = self.planners.share_made(job.n);
        }
        for id in self.turns.complete(&mut jobs) {
            error!(job = %id, "the number of solutions contradicts that of symmetric ones");
            let text = "its number of solutions contradicts that of symmetric ones: one of the two is wrong";
            self.journal.add(EventKind::Failure, Some(id), text.to_owned());
        }
        let with_workers = with_workers || self.workers_published.elapsed() >= WORKERS_AGE;
        self.unpublished = !with_workers;
        let workers = if with_workers {
            self.workers_published = self.published;
            Arc::new(self.ledger.workers())
        } else {
            before.workers.clone()
        };
        for job in jobs.iter().filter(|job| job.state.is_over()) {
            if !before.job(job.id).is_some_and(|before| before.state.is_over()) {
                let (id, n, state, solutions) = (job.id, job.n, job.state.name(), job.progress.solutions);
                info!(job = %id, %n, state, %solutions, "job over");
                let counted = if job.state == JobState::Done { "" } else { " so far" };
                self.note_job(id, format!("n = {n} is {state}: {solutions} solutions{counted}"));
            }
        }
        let blocked = self.ledger.blocked().cloned().collect();
        let (events, details) = (self.journal.events(), self.details(&before.details));
        let (store_error, damage) = (None, None);
        let snapshot = Snapshot { jobs, workers, blocked, store_error, damage, events, details };
        self.publisher.send_replace(Arc::new(snapshot));
        self.counters.published_in(self.published.elapsed());
    }

    /// The details of the jobs that somebody looks at.
    fn details(&mut self, before: &BTreeMap<JobId, Arc<Details>>) -> BTreeMap<JobId, Arc<Details>> {
        self.looked.retain(|_, looked| looked.elapsed() < INTEREST);
        let details = |&job: &JobId| {
            let known = before.get(&job).filter(|known| known.made.elapsed() < DETAILS_AGE);
            let details = known.cloned().or_else(|| {
                let (plan, crosses) = self.ledger.crosses(job)?;
                Some(Arc::new(Details { plan, crosses, made: Instant::now() }))
            });
            details.map(|details| (job, details))
        };
        self.looked.keys().filter_map(details).collect()
    }
}

/// Whether a worker says no more than that it lives, which is not worth a snapshot of its own.
fn is_sign_of_life(command: &Command) -> bool {
    let Command::Report { report, .. } = command else { return false };
    report.deltas.is_empty() && report.finished.is_empty()
}

/// What has become of a span that lies wholly in recorded ones.
fn fate(count: Count, recorded: Option<&Recorded>) -> Fate {
    match recorded {
        None => Fate::Discarded,
        Some(recorded) if recorded.count == count => Fate::Duplicate,
        Some(_) => Fate::Conflict,
    }
}
