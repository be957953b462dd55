//! A coordinator without I/O: what is said to it and the time come in; what is to be written, said and answered comes
//! out.
//!
//! Whoever runs it has four things to do, over and over: [`wake`](Core::wake) it; say to it what has come, and let it
//! [`tick`](Core::tick) when that is [due](Core::next_tick); have the writes of a [`Batch`] made durable; and do what
//! is [`Due`] then. Nothing that may be said only when it is durable can be had before.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{Failure, Hello, JobId, Name, Party, Report, Submission, ToWorker, WorkerId};
use queens_solver::Plan;

use crate::clock::Clock;
use crate::effects::{Comparison, Effects, WantedPlan};
use crate::event::Note;
use crate::events::operators::{JobChange, JobRefusal, UnknownWorker, WorkerChange};
use crate::events::refusal::WorkerRefusal;
use crate::events::reports::SpanOutcome;
use crate::events::submissions::SubmissionRefusal;
use crate::jobs::restore::RestoreError;
use crate::ledger::Ledger;
use crate::reporting::Reporting;
use crate::run::Run;
use crate::sessions::{Session, Sessions};
use crate::store::draw::{Draw, Drawn, Recorded};
use crate::store::{Stored, Write};

/// The state of a coordinator.
#[derive(Debug)]
pub struct Core {
    ledger: Ledger,
    clock: Clock,
    sessions: Sessions,
    notes: Vec<Note>,
    /// The time of the calendar in milliseconds since 1970.
    date_ms: u64,
}

/// An answer that nobody may see before what it says is durable.
#[derive(Debug)]
#[must_use]
pub struct Sealed<T>(T);

impl<T> Sealed<T> {
    /// The answer.
    pub fn open(self, _: &Durable) -> T {
        self.0
    }
}

/// All that was decided is durable.
#[derive(Debug)]
pub struct Durable(());

/// What is to be made durable, and what follows.
#[derive(Debug)]
#[must_use]
pub struct Batch {
    writes: Vec<Write>,
    due: Due,
}

impl Batch {
    /// To be made durable, all or nothing. There may be none.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// They are durable.
    pub fn written(self) -> Due {
        self.due
    }
}

/// What is to be done once the writes are durable.
#[derive(Debug)]
#[must_use]
pub struct Due {
    /// With this, answers may be given.
    pub durable: Durable,
    /// To be sent, if there is a session to send it in.
    pub messages: Vec<(WorkerId, ToWorker)>,
    /// The sessions whose workers have said goodbye: they are to be told [`ToWorker::Farewell`], and nothing after that.
    pub farewells: Vec<Session>,
    /// Plans to be made, and given to [`Core::planned`].
    pub plans: Vec<WantedPlan>,
    /// To be looked up, and the answers given to [`Core::compared`]. There is another batch after that.
    pub comparisons: Vec<Comparison>,
    /// To be looked up, and the answers given to [`Core::drawn`]. There is another batch after that. One that can't be
    /// answered now is asked for again.
    pub draws: Vec<Draw>,
}

impl Core {
    /// A coordinator that goes on where `stored` left off, without workers. The secret of `run` is drawn at
    /// random at each start.
    ///
    /// A job that contradicts itself is set aside, and keeps no other from being counted.
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

    /// The same, with this to decide how often workers report.
    #[must_use]
    pub fn with_reporting(mut self, reporting: Reporting) -> Self {
        self.ledger.set_reporting(reporting);
        self
    }

    /// Its ledger, to look at.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The ledger's time: how long after the start it last woke, without what it [stood still](Self::stood_still).
    #[must_use]
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// The time after the start when the next tick is due; `None` if nobody has to be looked after. `is_busy` says
    /// whether whoever runs this is doing something himself that goes on with time.
    #[must_use]
    pub fn next_tick(&self, is_busy: bool) -> Option<Duration> {
        let is_busy = is_busy || self.ledger.is_drawing();
        let is_ticking = is_busy || self.ledger.has_workers();
        is_ticking.then(|| self.clock.next_tick(is_busy || self.ledger.has_leases()))
    }

    /// Begins to do something, `time` after the start: all that is said to it from now until it wakes again happens at
    /// this time. If that is much later than the next tick was due, nobody was listened to, and the time between does
    /// not pass for the ledger. `date_ms` is the time of the calendar, in milliseconds since 1970.
    pub fn wake(&mut self, time: Duration, is_busy: bool, date_ms: u64) {
        let next_tick = self.next_tick(is_busy);
        self.notes.extend(self.clock.wake(time, next_tick).map(Note::StoodStill));
        self.date_ms = date_ms;
        self.ledger.tell_date(date_ms);
    }

    /// Nothing could be done since it last woke, until `time` after the start.
    pub fn stood_still(&mut self, time: Duration) {
        self.clock.stand_still(time);
    }

    /// Lets time pass: silent workers are given up, and leases go to whom they are of use.
    pub fn tick(&mut self) {
        self.clock.tick();
        for worker in self.ledger.tick(self.now()) {
            // If it lives, it is to notice: something on its connection is stuck.
            self.sessions.close_of(worker);
            self.notes.push(Note::Silent { worker });
        }
    }

    /// Somebody submits a job. `seed` is drawn at random.
    pub fn submit(&mut self, asked: &Submission, seed: u128) -> Sealed<Result<JobId, SubmissionRefusal>> {
        let submitted = self.ledger.submit(asked, seed, self.date_ms);
        self.notes.extend(submitted.map(|job| Note::Submitted { job, asked: *asked }));
        Sealed(submitted)
    }

    /// Somebody gives a job up.
    pub fn cancel(&mut self, job: JobId) -> Sealed<Result<(), JobRefusal>> {
        Sealed(self.ledger.cancel(self.now(), job))
    }

    /// A certificate of a job is out. The answer is whether the job is done, so that there can be one.
    pub fn exported(&mut self, job: JobId) -> Sealed<bool> {
        Sealed(self.ledger.exported(job))
    }

    /// Somebody changes how a job is served.
    pub fn change_job(&mut self, job: JobId, change: JobChange) -> Sealed<Result<(), JobRefusal>> {
        let now = self.now();
        let changed = match change {
            JobChange::Pause => self.ledger.pause(now, job),
            JobChange::Resume => self.ledger.resume(now, job),
            JobChange::Priority(priority) => self.ledger.set_priority(now, job, priority),
            JobChange::Verify(more) => self.ledger.verify_more(now, job, more, self.date_ms),
        };
        if changed.is_ok() {
            self.notes.push(Note::JobChanged { job, change });
        }
        Sealed(changed)
    }

    /// Somebody drains, blocks or unblocks all workers of a name. The answer is how many there are.
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
            self.notes.push(Note::WorkersChanged { name: name.clone(), change, n_workers });
        }
        Sealed(changed)
    }

    /// The plan of a job is made.
    pub fn planned(&mut self, job: JobId, plan: Arc<Plan>) {
        let (method, n_parts, work) = (plan.method(), plan.parts().len(), plan.work());
        self.notes.push(Note::Planned { job, method, n_parts, work });
        self.ledger.planned(self.now(), job, plan);
    }

    /// A worker of a party opens a session, in place of the one that it had, if any.
    ///
    /// # Errors
    /// If it can't be used here.
    pub fn connect(&mut self, hello: Hello, party: Party) -> Result<Session, WorkerRefusal> {
        let (worker, name, kernel) = (hello.worker, hello.name.clone(), hello.kernel.clone());
        self.ledger.connect(self.now(), hello, party)?;
        self.notes.push(Note::Joined { worker, name, kernel });
        Ok(self.sessions.open(worker))
    }

    /// The open session of a worker.
    #[must_use]
    pub fn session(&self, worker: WorkerId) -> Option<Session> {
        self.sessions.session(worker)
    }

    /// A worker reports.
    ///
    /// # Errors
    /// If it makes no sense, or the session is closed; if it was open, it is closed then. Nothing of it is recorded.
    pub fn report(&mut self, session: Session, report: &Report) -> Result<Vec<SpanOutcome>, WorkerRefusal> {
        self.is_open(session)?;
        let outcomes = self.ledger.report(self.now(), session.worker(), report);
        outcomes.inspect_err(|_| self.disconnect(session))
    }

    /// A worker can't count a span.
    ///
    /// # Errors
    /// If it makes no sense, or the session is closed; if it was open, it is closed then. Nothing changes then.
    pub fn fail(&mut self, session: Session, failure: &Failure) -> Result<(), WorkerRefusal> {
        self.is_open(session)?;
        let worker = session.worker();
        let failed =
            self.ledger.fail(self.now(), worker, failure).inspect_err(|_| self.disconnect(session))?;
        if let Some(job) = failed {
            let name = self.ledger.worker_name(worker).cloned();
            self.notes.push(Note::Failed { worker, name, job, failure: failure.clone() });
        }
        Ok(())
    }

    /// A worker leaves. It is told that this was heard when all that came before is durable.
    pub fn goodbye(&mut self, session: Session) {
        if self.sessions.leave(session) {
            let worker = session.worker();
            self.notes.push(Note::Left { worker, name: self.ledger.worker_name(worker).cloned() });
            self.ledger.goodbye(self.now(), worker);
        }
    }

    /// A session has ended without a goodbye. Its worker may come back.
    pub fn disconnect(&mut self, session: Session) {
        if self.hang_up(session) {
            let worker = session.worker();
            self.notes.push(Note::ConnectionLost { worker, name: self.ledger.worker_name(worker).cloned() });
        }
    }

    /// The same where nobody need be told, as when both ends of a session are in one process that ends. Returns whether
    /// the session was open.
    pub fn hang_up(&mut self, session: Session) -> bool {
        let is_open = self.sessions.close(session);
        if is_open {
            self.ledger.disconnect(self.now(), session.worker());
        }
        is_open
    }

    fn is_open(&self, session: Session) -> Result<(), WorkerRefusal> {
        if self.sessions.is_open(session) { Ok(()) } else { Err(WorkerRefusal::Unknown(session.worker())) }
    }

    /// What is to be written since the last batch, and what follows. No other is taken until that one is written.
    pub fn take_batch(&mut self) -> Batch {
        let Effects { writes, comparisons, draws, messages, plans, losses, findings } =
            self.ledger.take_effects();
        self.notes.extend(losses.into_iter().map(Note::Lost));
        self.notes.extend(findings.into_iter().map(Note::Found));
        let farewells = self.sessions.take_left();
        Batch { writes, due: Due { durable: Durable(()), messages, farewells, plans, comparisons, draws } }
    }

    /// The answer to a comparison: what the record of exactly this span says, if there is one.
    pub fn compared(&mut self, comparison: &Comparison, recorded: Option<Recorded>) {
        self.ledger.compared(comparison, recorded);
    }

    /// The answer to a [`Draw`].
    pub fn drawn(&mut self, draw: &Draw, drawn: Drawn) {
        self.ledger.drawn(draw, drawn);
    }

    /// What is stored of a job can't be true, as a question of [`Due`] has shown: it is set aside.
    pub fn set_aside(&mut self, job: JobId, damage: String) {
        self.notes.push(Note::Damaged { job, reason: damage.clone() });
        self.ledger.set_aside(self.now(), job, damage);
    }

    /// The sessions that are closed since the last call: nothing more is to be sent in them. Those that ended with a
    /// goodbye are not among them.
    pub fn take_closed(&mut self) -> Vec<Session> {
        self.sessions.take_closed()
    }

    /// What people may want to know of what has happened since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }
}
