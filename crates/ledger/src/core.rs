//! The coordinator without I/O: requests and the time go in; writes, messages and answers come out.
//!
//! Its caller repeats four steps. It [wakes](Core::wake) the core. It passes on new requests, and calls
//! [`tick`](Core::tick) when that is [due](Core::next_tick). It makes the writes of a [`Batch`] durable. Then it
//! carries out the other effects. The types release no answer or message before the writes that it depends on are
//! durable.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{CardSensors, Failure, Hello, JobId, Name, Party, Report, Submission, WorkerId};
use queens_solver::{Count, Plan};

use crate::clock::Clock;
use crate::effects::{Comparison, Effects, Judgement};
use crate::event::{JobChange, LedgerEvent, WorkerChange};
use crate::handlers::operators::{JobRefusal, UnknownWorker};
use crate::handlers::reports::SpanOutcome;
use crate::handlers::submissions::SubmissionRefusal;
use crate::handlers::worker_refusal::WorkerRefusal;
use crate::jobs::restore::RestoreError;
use crate::ledger::Ledger;
use crate::report_interval_rule::Reporting;
use crate::run::Run;
use crate::sessions::{Session, Sessions};
use crate::store::draw::{Draw, Drawn, Recorded};
use crate::store::{Source, Stored, Write};

/// The coordinator's state machine.
#[derive(Debug)]
pub struct Core {
    ledger: Ledger,
    clock: Clock,
    sessions: Sessions,
    notes: Vec<LedgerEvent>,
    /// The wall-clock time, in milliseconds since 1970.
    date_ms: u64,
}

/// An answer that stays sealed until the writes behind it are durable.
#[derive(Debug)]
#[must_use]
pub struct Sealed<T>(T);

impl<T> Sealed<T> {
    /// Returns the answer.
    pub fn open(self, _: &Durable) -> T {
        self.0
    }
}

/// Proof that all writes of a batch are durable.
#[derive(Debug)]
pub struct Durable(());

/// Effects that stay sealed, except for their writes, until these are durable.
#[derive(Debug)]
#[must_use]
pub struct Batch(Effects);

impl Batch {
    /// Returns the writes, which may be none. They must become durable all or none.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.0.writes
    }

    /// Returns the other effects, once the writes are durable, and the proof that opens sealed answers.
    pub fn written(self) -> (Durable, Effects) {
        (Durable(()), self.0)
    }
}

impl Core {
    /// Restores a coordinator from `stored`, without workers. The secret of `run` is drawn at random at each start.
    ///
    /// A job that contradicts itself is set aside and does not affect the others.
    ///
    /// # Errors
    /// If a job was made under another decomposition.
    pub fn restore(stored: Stored, run: Run) -> Result<Self, RestoreError> {
        Ok(Self {
            ledger: Ledger::restore(stored, run)?,
            clock: Clock::default(),
            sessions: Sessions::default(),
            notes: Vec::new(),
            date_ms: 0,
        })
    }

    /// Returns the core with this rule for how often workers report.
    #[must_use]
    pub fn with_reporting(mut self, reporting: Reporting) -> Self {
        self.ledger.set_reporting(reporting);
        self
    }

    /// Returns the ledger, for reading.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the ledger's time: that of the last wake since the start, without [standstills](Self::stood_still).
    #[must_use]
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Returns the time after the start when the next tick is due; `None` if nothing depends on time. `is_busy` says
    /// whether the caller itself is doing something that depends on time.
    #[must_use]
    pub fn next_tick(&self, is_busy: bool) -> Option<Duration> {
        let is_busy = is_busy || self.ledger.is_drawing();
        let is_ticking = is_busy || self.ledger.has_workers();
        is_ticking.then(|| self.clock.next_tick(is_busy || self.ledger.has_leases()))
    }

    /// Begins some work, `time` after the start: all calls until the next wake happen at this time. If the last tick is
    /// long overdue, no worker was heard, and the delay is left out. `date_ms` is the wall-clock time in milliseconds
    /// since 1970.
    pub fn wake(&mut self, time: Duration, is_busy: bool, date_ms: u64) {
        let next_tick = self.next_tick(is_busy);
        self.notes.extend(self.clock.wake(time, next_tick).map(LedgerEvent::StoodStill));
        self.date_ms = date_ms;
        self.ledger.tell_date(date_ms);
    }

    /// Leaves out the time since the last wake until `time` after the start, because nothing could be done.
    pub fn stood_still(&mut self, time: Duration) {
        self.clock.stand_still(time);
    }

    /// Lets time pass: gives up silent workers, and moves leases to workers that can use them.
    pub fn tick(&mut self) {
        self.clock.tick();
        for worker in self.ledger.tick(self.now()) {
            // If the worker is alive, it must notice: its connection is stuck.
            self.sessions.close_of(worker);
            self.notes.push(LedgerEvent::Silent { worker });
        }
    }

    /// Submits a job. `seed` is drawn at random.
    pub fn submit(&mut self, asked: &Submission, seed: u128) -> Sealed<Result<JobId, SubmissionRefusal>> {
        let submitted = self.ledger.submit(asked, seed, self.date_ms);
        self.notes.extend(submitted.map(|job| LedgerEvent::Submitted { job, asked: *asked }));
        Sealed(submitted)
    }

    /// Notes that a certificate of a job is exported. Returns whether the job is done, which a certificate requires.
    pub fn exported(&mut self, job: JobId) -> Sealed<bool> {
        Sealed(self.ledger.exported(job))
    }

    /// Applies an operator's change to a job.
    pub fn change_job(&mut self, job: JobId, change: JobChange) -> Sealed<Result<(), JobRefusal>> {
        let now = self.now();
        let changed = match change {
            JobChange::Pause => self.ledger.pause(now, job),
            JobChange::Resume => self.ledger.resume(now, job),
            JobChange::Priority(priority) => self.ledger.set_priority(now, job, priority),
            JobChange::Verify(more) => self.ledger.verify_more(now, job, more, self.date_ms),
            JobChange::EndVerification => self.ledger.end_verification(now, job),
            JobChange::Cancel => self.ledger.cancel(now, job),
        };
        if changed.is_ok() {
            self.notes.push(LedgerEvent::JobChanged { job, change });
        }
        Sealed(changed)
    }

    /// Drains, blocks or unblocks all workers of a name. Returns how many there are.
    pub fn change_workers(
        &mut self,
        name: &Name,
        change: WorkerChange,
    ) -> Sealed<Result<usize, UnknownWorker>> {
        let now = self.now();
        let changed = match change {
            WorkerChange::Drain => self.ledger.drain(now, name),
            WorkerChange::Block => Ok(self.ledger.block(now, name)),
            WorkerChange::Unblock => self.ledger.unblock(now, name),
        };
        if let Ok(n_workers) = changed {
            self.notes.push(LedgerEvent::WorkersChanged { name: name.clone(), change, n_workers });
        }
        Sealed(changed)
    }

    /// Gives a job its plan.
    pub fn planned(&mut self, job: JobId, plan: Arc<Plan>) {
        let (method, n_parts, work) = (plan.method(), plan.parts().len(), plan.work());
        self.notes.push(LedgerEvent::Planned { job, method, n_parts, work });
        self.ledger.planned(self.now(), job, plan);
    }

    /// Opens a session for a worker of a party, in place of its previous one.
    ///
    /// # Errors
    /// If the worker can't be used here.
    pub fn connect(&mut self, hello: Hello, party: Party) -> Result<Session, WorkerRefusal> {
        let worker = hello.worker;
        self.ledger.connect(self.now(), hello, party)?;
        self.note_of(worker, |source| LedgerEvent::Joined { worker, source });
        Ok(self.sessions.open(worker))
    }

    /// Returns a worker's open session.
    #[must_use]
    pub fn session(&self, worker: WorkerId) -> Option<Session> {
        self.sessions.session(worker)
    }

    /// Handles a worker's report.
    ///
    /// # Errors
    /// If the report is invalid, or the session is closed. Nothing is recorded then, and an open session is closed.
    pub fn report(&mut self, session: Session, report: &Report) -> Result<Vec<SpanOutcome>, WorkerRefusal> {
        self.is_open(session)?;
        let outcomes = self.ledger.report(self.now(), session.worker(), report);
        outcomes.inspect_err(|_| self.disconnect(session))
    }

    /// Handles a worker's failure to count a span.
    ///
    /// # Errors
    /// If the message is invalid, or the session is closed. Then nothing changes, but an open session is closed.
    pub fn fail(&mut self, session: Session, failure: &Failure) -> Result<(), WorkerRefusal> {
        self.is_open(session)?;
        let worker = session.worker();
        let failed =
            self.ledger.fail(self.now(), worker, failure).inspect_err(|_| self.disconnect(session))?;
        if let Some(job) = failed {
            let failure = failure.clone();
            self.note_of(worker, |source| LedgerEvent::Failed { worker, source, job, failure });
        }
        Ok(())
    }

    /// Records a worker's notice, which operators can read. Nothing else changes.
    ///
    /// # Errors
    /// If the session is closed.
    pub fn notice(&mut self, session: Session, text: String) -> Result<(), WorkerRefusal> {
        self.is_open(session)?;
        let worker = session.worker();
        self.note_of(worker, |source| LedgerEvent::Noticed { worker, source, text });
        Ok(())
    }

    /// Notes the measurements of a worker's graphics card. Nothing else changes, and nothing is stored.
    ///
    /// # Errors
    /// If the session is closed.
    pub fn note_sensors(&mut self, session: Session, sensors: CardSensors) -> Result<(), WorkerRefusal> {
        self.is_open(session)?;
        self.ledger.note_sensors(session.worker(), sensors);
        Ok(())
    }

    /// Lets a worker leave. It gets its farewell after all its earlier messages are durable.
    pub fn goodbye(&mut self, session: Session) {
        if self.sessions.leave(session) {
            let worker = session.worker();
            self.note_of(worker, |source| LedgerEvent::Left { worker, source });
            self.ledger.goodbye(self.now(), worker);
        }
    }

    /// Ends a session without a goodbye. Its worker may come back.
    pub fn disconnect(&mut self, session: Session) {
        if self.hang_up(session) {
            let worker = session.worker();
            self.note_of(worker, |source| LedgerEvent::ConnectionLost { worker, source });
        }
    }

    /// Ends a session without a note, as when both its ends are in one process that exits. Returns whether it was open.
    pub fn hang_up(&mut self, session: Session) -> bool {
        let is_open = self.sessions.close(session);
        if is_open {
            self.ledger.disconnect(self.now(), session.worker());
        }
        is_open
    }

    /// Notes an event of a worker, which is known while it has a session.
    fn note_of(&mut self, worker: WorkerId, note: impl FnOnce(Arc<Source>) -> LedgerEvent) {
        self.notes.extend(self.ledger.source(worker).cloned().map(note));
    }

    fn is_open(&self, session: Session) -> Result<(), WorkerRefusal> {
        if self.sessions.is_open(session) { Ok(()) } else { Err(WorkerRefusal::Unknown(session.worker())) }
    }

    /// Returns the effects since the last batch. The caller writes a batch before it takes the next.
    pub fn take_batch(&mut self) -> Batch {
        let mut effects = self.ledger.take_effects();
        self.notes.append(&mut effects.events);
        effects.farewells = self.sessions.take_left();
        Batch(effects)
    }

    /// Handles the answer to a comparison: the record of exactly this span, if there is one.
    pub fn compared(&mut self, comparison: &Comparison, recorded: Option<Recorded>) {
        self.ledger.compared(comparison, recorded);
    }

    /// Handles the answer to a [`Draw`].
    pub fn drawn(&mut self, draw: &Draw, drawn: Drawn) {
        self.ledger.drawn(draw, drawn);
    }

    /// Handles the coordinator's own count of a disputed span, its duration and its source. After `None`, the next tick
    /// asks for it again.
    pub fn judged(&mut self, judgement: &Judgement, counted: Option<(Count, Duration, Arc<Source>)>) {
        self.ledger.judged(judgement, counted);
    }

    /// Sets a job aside, because a lookup has shown that its stored state is invalid.
    pub fn set_aside(&mut self, job: JobId, damage: String) {
        self.notes.push(LedgerEvent::Damaged { job, reason: damage.clone() });
        self.ledger.set_aside(self.now(), job, damage);
    }

    /// Returns the sessions that were closed since the last call: they get no more messages. Sessions that ended with a
    /// goodbye are not among them.
    pub fn take_closed(&mut self) -> Vec<Session> {
        self.sessions.take_closed()
    }

    /// Returns the user-visible events since the last call.
    pub fn take_notes(&mut self) -> Vec<LedgerEvent> {
        std::mem::take(&mut self.notes)
    }
}
