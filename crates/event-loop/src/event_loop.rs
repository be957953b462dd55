//! Runs the ledger and its store in one thread: applies commands, commits their writes (with retries), then answers.
//!
//! Commands arrive in a bounded queue. The thread takes all that wait, applies them to the core, and makes the
//! resulting writes durable in one transaction. Only then it sends messages and answers. All other threads see
//! [`Snapshot`]s and never wait for the core.

mod lookups;
mod writes;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use queens_ledger::store::StoreError;
use queens_ledger::{Core, Effects, JobChange, LedgerEvent, Session, SpanOutcome, WorkerRefusal};
use queens_model::{EventKind, JobState, Report, ToCoordinator, ToWorker, WorkerId};
use queens_platform::LogThrottle;
use queens_store::{Archive, unix_ms};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use crate::command::{Command, WaitingAnswer};
use crate::event_log::EventLog;
use crate::event_text;
use crate::history::{self, Historian};
use crate::judge::Judge;
use crate::loop_monitor::{LoopMonitor, SLOW};
use crate::metrics::{Counters, Fate};
use crate::planners::Planners;
use crate::snapshot_publisher::{Publisher, Sources};
use crate::symmetric_counts::SymmetricCounts;
use crate::traces::Traces;

/// The maximum number of commands in one transaction.
const BATCH: usize = 1024;

/// The time for which a step keeps taking commands from the queue.
const STEP: Duration = Duration::from_millis(50);

/// The state of the coordinator's thread.
pub(crate) struct EventLoop {
    core: Core,
    store: Box<dyn Archive>,
    queue: mpsc::Receiver<Command>,
    planners: Planners,
    symmetric_counts: SymmetricCounts,
    judge: Judge,
    /// The senders of messages, by session.
    to_workers: HashMap<Session, mpsc::Sender<ToWorker>>,
    answers: Vec<WaitingAnswer>,
    /// Whether reports that cause no write are about to be acknowledged.
    drops: bool,
    pub(crate) counters: Counters,
    traces: Traces,
    /// The arrival times of the reports that are not durable yet.
    reports: Vec<Instant>,
    started: Instant,
    pub(crate) loop_monitor: LoopMonitor,
    slow_steps: LogThrottle,
    failed_reads: LogThrottle,
    unread: LogThrottle,
    pub(crate) publisher: Publisher,
    event_log: EventLog,
    stop: CancellationToken,
}

impl EventLoop {
    /// Continues with the state of `core` from `store`. The historian follows the snapshots.
    pub(crate) fn new(
        core: Core,
        store: Box<dyn Archive>,
        n_threads: NonZeroUsize,
        queue: mpsc::Receiver<Command>,
        commands: mpsc::WeakSender<Command>,
        stop: CancellationToken,
    ) -> (Self, Historian) {
        let (counters, loop_monitor) = (Counters::new(), LoopMonitor::new());
        let jobs = core.ledger().jobs();
        let (history, past) = history::open(&*store, &jobs);
        let mut event_log = EventLog::after(&past.events);
        event_log.add(EventKind::Store, None, "coordinator started".to_owned());
        for job in jobs.iter().filter(|job| job.state == JobState::Damaged) {
            event_text::damaged(job.id, job.failure.as_deref().unwrap_or_default(), &mut event_log);
        }
        let planners = Planners::new(n_threads, commands.clone());
        let judge = Judge::new(commands.clone(), n_threads);
        let mut symmetric_counts = SymmetricCounts::new(commands);
        let sources = Sources {
            ledger: core.ledger(),
            planners: &planners,
            symmetric_counts: &mut symmetric_counts,
            event_log: &mut event_log,
        };
        let publisher = Publisher::new(sources, counters.clone());
        let historian = Historian::new(history, past, publisher.subscribe());
        let event_loop = Self {
            core,
            store,
            queue,
            planners,
            symmetric_counts,
            judge,
            to_workers: HashMap::new(),
            answers: Vec::new(),
            drops: false,
            counters,
            traces: Traces::default(),
            reports: Vec::new(),
            started: Instant::now(),
            loop_monitor,
            slow_steps: LogThrottle::default(),
            failed_reads: LogThrottle::default(),
            unread: LogThrottle::default(),
            publisher,
            event_log,
            stop,
        };
        (event_loop, historian)
    }

    /// Runs it on a thread of its own.
    pub(crate) fn spawn(self) -> std::io::Result<JoinHandle<()>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let thread = thread::Builder::new().name("ledger".into());
        thread.spawn(move || runtime.block_on(self.run()))
    }

    pub(crate) async fn run(mut self) {
        let ended = self.run_to_end().await;
        self.planners.stop_all();
        self.judge.stop();
        let Err(damage) = ended else {
            self.symmetric_counts.stop();
            return self.publish(true);
        };
        // If another coordinator leads, or an earlier state was restored, the stored data are intact.
        if matches!(damage, StoreError::Fenced(_)) {
            warn!(%damage, "the lead is lost");
        } else {
            self.event_log.add(EventKind::Store, None, damage.to_string());
            self.say_store_error(Some(&damage));
            self.publisher.amend(|snapshot| snapshot.damage = Some(damage.to_string()));
        }
    }

    /// Serves until it must stop, or the store is damaged.
    async fn run_to_end(&mut self) -> Result<(), StoreError> {
        self.commit_and_send().await?;
        while self.step().await {
            self.commit_and_send().await?;
            let is_busy = self.core.ledger().has_leases() || self.planners.is_making();
            if self.publisher.is_due(self.core.ledger(), is_busy) {
                self.publish(false);
            }
            self.end_step();
        }
        Ok(())
    }

    /// Waits for the next command or timeout and applies it to the core; returns `false` to stop.
    async fn step(&mut self) -> bool {
        let is_busy = self.publisher.has_news || self.planners.is_making();
        let next_tick = self.core.next_tick(is_busy);
        let tick_at = next_tick.map_or(self.started, |next_tick| self.started + next_tick);
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
            () = tokio::time::sleep_until(tick_at), if next_tick.is_some() => None,
            () = std::future::ready(()), if self.planners.is_ready() => None,
        };
        self.loop_monitor.begin();
        let woke = self.time();
        self.core.wake(woke, is_busy, unix_ms());
        for n_taken in 1.. {
            let Some(taken) = command else { break };
            if !taken.is_sign_of_life() {
                self.publisher.has_news = true;
            }
            self.apply(taken);
            let goes_on = n_taken < BATCH && self.time().saturating_sub(woke) < STEP;
            command = if goes_on { self.queue.try_recv().ok() } else { None };
        }
        // Time passes under any load. The tick follows the commands, so that workers in the queue count as heard.
        if next_tick.is_some_and(|next_tick| woke >= next_tick) {
            self.core.tick();
        }
        self.take_plan();
        true
    }

    /// Reports the step if it was slow.
    fn end_step(&mut self) {
        let took = self.loop_monitor.end();
        self.counters.step.observe(took.as_secs_f64());
        if took >= SLOW
            && let Some(left_out) = self.slow_steps.allows()
        {
            event_text::was_slow(took, left_out, &mut self.event_log);
        }
    }

    /// Gives a waiting job its plan, if one is ready. One at a time: there may be many jobs, and the plan of each is
    /// written.
    fn take_plan(&mut self) {
        let Some((job, plan)) = self.planners.take() else { return };
        // It may have been cancelled in this step.
        if !self.core.ledger().is_open(job) {
            return;
        }
        self.publisher.has_news = true;
        self.core.planned(job, plan);
    }

    /// Returns the time since the start.
    fn time(&self) -> Duration {
        self.started.elapsed()
    }

    fn apply(&mut self, command: Command) {
        match command {
            Command::Decide(decide) => self.answers.push(decide(&mut self.core)),
            Command::Connect { hello, party, to_worker, reply } => {
                let session = self.core.connect(hello, party);
                if let Ok(session) = session {
                    self.to_workers.insert(session, to_worker);
                }
                _ = reply.send(session);
            }
            Command::Message { session, message, came, reply } => {
                _ = reply.send(self.hear(session, message, came));
            }
            Command::Disconnect { session } => self.core.disconnect(session),
            Command::PlanEnded { board, plan } => self.planners.ended(board, plan),
            Command::Judged { judgement, counted } => self.core.judged(&judgement, counted),
            Command::SymmetricCounted { n, found } => self.symmetric_counts.ended(n, found),
            Command::MakeDetails { job } => _ = self.publisher.requested.insert(job, Instant::now()),
        }
    }

    /// Applies a message that came at this time. The error refuses the worker.
    fn hear(&mut self, session: Session, message: ToCoordinator, came: Instant) -> Result<(), WorkerRefusal> {
        match message {
            ToCoordinator::Hello(_) => Err(WorkerRefusal::SecondHello),
            ToCoordinator::Report(report) => {
                self.reports.push(came);
                self.report(session, &report)
            }
            ToCoordinator::Failure(failure) => self.core.fail(session, &failure),
            ToCoordinator::Notice(text) => self.core.notice(session, text),
            ToCoordinator::Sensors(sensors) => self.core.note_sensors(session, sensors),
            ToCoordinator::Goodbye => {
                self.core.goodbye(session);
                Ok(())
            }
        }
    }

    fn report(&mut self, session: Session, report: &Report) -> Result<(), WorkerRefusal> {
        let worker = session.worker();
        let outcomes = self.core.report(session, report)?;
        let (mut n_accepted, mut n_again) = (0, 0);
        for (delta, outcome) in report.deltas.iter().zip(outcomes) {
            self.traces.reported(worker, delta, outcome);
            match outcome {
                SpanOutcome::Recorded => {
                    n_accepted += 1;
                    let ledger = self.core.ledger();
                    let method = ledger.job_of(delta.job).and_then(|job| ledger.method(job));
                    method.into_iter().for_each(|it| self.counters.add_work(it, delta.count.work));
                    continue;
                }
                SpanOutcome::CountedAgain => {
                    n_again += 1;
                    continue;
                }
                // The comparison with the record decides its fate.
                SpanOutcome::Repeated => {}
                SpanOutcome::Discarded => self.counters.add_spans(Fate::Discarded, 1),
                SpanOutcome::Unleased => self.counters.add_spans(Fate::Unleased, 1),
            }
            self.drops = true;
            debug!(%worker, job = %delta.job, span = %delta.span, ?outcome, "span not added");
        }
        self.counters.add_spans(Fate::Accepted, n_accepted);
        self.counters.add_spans(Fate::CountedAgain, n_again);
        Ok(())
    }

    /// Carries out the core's requests: first makes the writes durable, then sends. Errors are permanent.
    async fn commit_and_send(&mut self) -> Result<(), StoreError> {
        loop {
            let batch = self.core.take_batch();
            self.take_notes();
            let Some((durable, effects)) = self.write(batch).await? else { return Ok(()) };
            let Effects { messages, farewells, plans, comparisons, draws, judgement, .. } = effects;
            self.traces.committed();
            for received in self.reports.drain(..) {
                self.counters.report.observe(received.elapsed().as_secs_f64());
            }
            plans.into_iter().for_each(|plan| self.planners.add(plan.job, (plan.n, plan.method, plan.pass)));
            if !self.answers.is_empty() {
                // A client that gets an answer finds its effect in the snapshot.
                self.publish(true);
            }
            for answer in self.answers.drain(..) {
                answer(&durable);
            }
            messages.into_iter().for_each(|(worker, message)| self.send(worker, message));
            for session in farewells {
                _ = self.to_workers.remove(&session).map(|worker| worker.try_send(ToWorker::Farewell));
            }
            if let Some(judgement) = judgement
                && let Err(error) = self.judge.start(judgement.clone())
            {
                error!(%error, "failed to start a thread that counts a disputed span; it is tried again");
                self.core.judged(&judgement, None);
            }
            self.look_up(&comparisons, &draws)?;
            if comparisons.is_empty() && draws.is_empty() {
                self.take_notes();
                return Ok(());
            }
        }
    }

    /// Forgets closed sessions, and reports the core's notes.
    fn take_notes(&mut self) {
        for session in self.core.take_closed() {
            self.to_workers.remove(&session);
        }
        let notes = self.core.take_notes();
        for note in &notes {
            match note {
                LedgerEvent::Submitted { job, asked } => self.traces.submitted(*job, asked.n),
                LedgerEvent::Planned { job, .. } => self.traces.planned(*job),
                LedgerEvent::JobChanged { job, change: JobChange::Cancel } => self.planners.remove(*job),
                _ => {}
            }
        }
        event_text::log_events(&notes, &mut self.event_log);
    }

    /// Never waits: a worker that does not read its messages loses its session.
    fn send(&mut self, worker: WorkerId, message: ToWorker) {
        self.traces.sent(worker, &message, |identity| self.core.ledger().job_of(identity));
        let Some(session) = self.core.session(worker) else { return };
        let Some(to_worker) = self.to_workers.get(&session) else { return };
        match to_worker.try_send(message) {
            Ok(()) => {}
            // The session ends. Its handler reports the reason, if there is one.
            Err(TrySendError::Closed(_)) => _ = self.core.hang_up(session),
            Err(TrySendError::Full(_)) => {
                if let Some(left_out) = self.unread.allows() {
                    warn!(%worker, left_out, "worker does not read the messages sent to it");
                }
                self.core.disconnect(session);
            }
        }
    }

    /// Publishes the state. Without `with_workers`, the list of workers may be up to a second old.
    fn publish(&mut self, with_workers: bool) {
        let ledger = self.core.ledger();
        self.traces.keep(|job| ledger.is_open(job), |lease| ledger.is_held(lease));
        let (planners, symmetric_counts, event_log) =
            (&self.planners, &mut self.symmetric_counts, &mut self.event_log);
        self.publisher.publish(Sources { ledger, planners, symmetric_counts, event_log }, with_workers);
    }
}
