//! The ledger: which spans are recorded, who holds the others, and what is handed out next.
//!
//! A pure state machine. What happens comes in as method calls with the time as a [`Duration`] since some start; what
//! is to be done about it comes out as [`Effects`]. It does no I/O and knows no clock, so that any history can be
//! played to it.
//!
//! Invariants:
//! - each span is added to a total exactly once;
//! - a report is acknowledged by a message in the same [`Effects`] as its writes, and whoever carries those out does
//!   the writes first: what is acknowledged is durable;
//! - leases are hints about who works on what. Losing all of them costs repeated work, never a count.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{
    Failure, Hello, JobId, JobIdentity, JobStatus, LeaseId, Name, Party, Priority, Report, Submission,
    WorkerId, WorkerStatus,
};
use queens_solver::{BoardSize, Method, Pass, Plan};

use crate::effects::{Comparison, Effects};
use crate::events::jobs;
use crate::events::operators::{self, JobRefusal, UnknownWorker, Verification};
use crate::events::refusal::WorkerRefusal;
use crate::events::reports::{self, SpanOutcome};
use crate::events::submissions::{self, SubmissionRefusal};
use crate::events::{failures, sessions, time, verification};
use crate::jobs::job::Job;
use crate::jobs::restore::RestoreError;
use crate::leases::tokens::Tokens;
use crate::pace::Paces;
use crate::reporting::Reporting;
use crate::run::Run;
use crate::state::State;
use crate::status::{self, CrossStatus};
use crate::store::draw::{Draw, Drawn, Recorded};
use crate::store::{Block, Stored};
use crate::workers::worker::Worker;
use crate::workers::worker_table::Suspicion;

/// The state of all jobs, workers and leases of one coordinator.
#[derive(Debug)]
pub struct Ledger {
    state: State,
    paces: Paces,
}

/// Jobs.
impl Ledger {
    /// A ledger that goes on where `stored` left off, without workers. Open jobs get new seeds: the state may be older
    /// than one in which their seeds were made known, and nobody can tell.
    ///
    /// A job that contradicts itself is set aside, and keeps no other from being counted.
    ///
    /// # Errors
    /// If a job was made under another decomposition.
    pub fn restore(stored: Stored, run: Run) -> Result<Self, RestoreError> {
        let mut state = State::new(Tokens::of(run));
        for (Block { name, party }, reason) in stored.blocked {
            match party {
                Some(party) => state.suspect(party, Suspicion { name, reason }),
                None => state.block(&name),
            };
        }
        let ids: Vec<JobId> = stored.jobs.iter().map(|job| job.entry.id).collect();
        for job in stored.jobs {
            jobs::restore(&mut state, job, run)?;
        }
        // The last coordinator may have recorded all of one and not written that it is done.
        ids.into_iter().for_each(|job| jobs::finish_if_complete(&mut state, job));
        Ok(Self { state, paces: Paces::default() })
    }

    /// Says what decides how often workers report.
    pub fn set_reporting(&mut self, reporting: Reporting) {
        self.state.set_reporting(reporting);
    }

    /// A new job. `seed` is drawn at random, and `created_ms` is the time in milliseconds since 1970.
    ///
    /// # Errors
    /// If there are too many, or there is nothing like what is asked for.
    pub fn submit(
        &mut self,
        asked: &Submission,
        seed: u128,
        created_ms: u64,
    ) -> Result<JobId, SubmissionRefusal> {
        submissions::submit(&mut self.state, asked, seed, created_ms)
    }

    /// Tells the time of the calendar, in milliseconds since 1970. Nothing is decided by it: it is kept with jobs that
    /// begin or end.
    pub fn tell_date(&mut self, date_ms: u64) {
        self.state.tell_date(date_ms);
    }

    /// A job's plan is made. Does nothing if the job is not waiting for one.
    pub fn planned(&mut self, now: Duration, id: JobId, plan: impl Into<Arc<Plan>>) {
        jobs::planned(&mut self.state, now, id, plan.into());
    }

    /// Gives a job up. What is recorded of it stays.
    ///
    /// # Errors
    /// If there is no such job, or it is done. One that was given up before stays so.
    pub fn cancel(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        operators::cancel(&mut self.state, now, id)
    }

    /// A certificate of a job is out. Returns whether the job is done, so that there can be one.
    pub fn exported(&mut self, id: JobId) -> bool {
        jobs::exported(&mut self.state, id)
    }

    /// The answer to a [`Comparison`]: what the record of exactly this span says, if there is one. Only another
    /// worker's count confirms it.
    pub fn compared(&mut self, comparison: &Comparison, recorded: Option<Recorded>) {
        jobs::compared(&mut self.state, comparison, recorded);
    }

    /// The answer to a [`Draw`].
    pub fn drawn(&mut self, draw: &Draw, drawn: Drawn) {
        jobs::drawn(&mut self.state, draw, drawn);
    }

    /// What is stored of a job can't be true: it is set aside, and its workers go on with others. Nothing is written of it
    /// any more.
    pub fn set_aside(&mut self, now: Duration, id: JobId, damage: String) {
        self.state.advance(now);
        jobs::set_aside(&mut self.state, id, damage);
    }

    /// Stops a job for now: its workers report what they have in hand and get no more of it.
    ///
    /// # Errors
    /// If there is no such job, or it is over.
    pub fn pause(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        operators::pause(&mut self.state, now, id)
    }

    /// Lets a job go on, and has what failed tried again, by all workers.
    ///
    /// # Errors
    /// If there is no such job, or it is over.
    pub fn resume(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        operators::resume(&mut self.state, now, id)
    }

    /// Says how urgent a job is. Workers of less urgent ones go over to it.
    ///
    /// # Errors
    /// If there is no such job, or it is over.
    pub fn set_priority(&mut self, now: Duration, id: JobId, priority: Priority) -> Result<(), JobRefusal> {
        operators::set_priority(&mut self.state, now, id, priority)
    }

    /// Has more of a job checked. One that is done is open again until it is; `created_ms` is the time in milliseconds
    /// since 1970.
    ///
    /// # Errors
    /// If there is no such job, or it is given up, or can't be checked like this.
    pub fn verify_more(
        &mut self,
        now: Duration,
        id: JobId,
        more: Verification,
        created_ms: u64,
    ) -> Result<(), JobRefusal> {
        verification::verify_more(&mut self.state, now, id, more, created_ms)
    }

    /// All jobs, in the order of submission.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.state.jobs().iter().map(|job| status::job_status(&self.state, &self.paces, job)).collect()
    }

    /// What leases of a job name, if there is such a job.
    #[must_use]
    pub fn identity(&self, job: JobId) -> Option<JobIdentity> {
        self.state.jobs().get(job).map(Job::identity)
    }

    /// How many jobs there are, and how many of them are planned and not over.
    #[must_use]
    pub fn census(&self) -> (usize, usize) {
        (self.state.jobs().len(), self.state.jobs().n_active())
    }

    /// How many jobs are planned or counted, or wait for that.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.state.jobs().n_open()
    }

    /// Whether something may still come of a job by itself.
    #[must_use]
    pub fn is_open(&self, job: JobId) -> bool {
        self.state.jobs().get(job).is_some_and(Job::is_open)
    }

    /// The job that leases and reports mean by this, if it is there.
    #[must_use]
    pub fn job_of(&self, identity: JobIdentity) -> Option<JobId> {
        self.state.jobs().identified(identity).map(Job::id)
    }

    /// How a job is counted.
    #[must_use]
    pub fn method(&self, job: JobId) -> Option<Method> {
        self.state.method(job)
    }

    /// What there is one plan for: the size of a job's board, how it is counted, and which images it is counted on.
    #[must_use]
    pub fn board(&self, job: JobId) -> Option<(BoardSize, Method, Pass)> {
        let job = self.state.jobs().get(job)?;
        Some((job.entry().n, job.method(), self.state.jobs().pass(job)))
    }

    /// The plan of a job, and what is recorded of each of its crosses, if the plan is made.
    #[must_use]
    pub fn crosses(&self, job: JobId) -> Option<(Arc<Plan>, Vec<CrossStatus>)> {
        status::crosses(&self.state, job)
    }
}

/// Workers.
impl Ledger {
    /// A worker of a party opens a session. It keeps those of its leases that nobody else has taken over.
    ///
    /// # Errors
    /// If it can't be used here.
    pub fn connect(&mut self, now: Duration, hello: Hello, party: Party) -> Result<(), WorkerRefusal> {
        sessions::connect(&mut self.state, now, hello, party)
    }

    /// A worker reports. All of it is acknowledged, whatever became of its parts; a mere sign of life is not.
    ///
    /// # Errors
    /// If it makes no sense; then none of it is recorded.
    pub fn report(
        &mut self,
        now: Duration,
        worker: WorkerId,
        report: &Report,
    ) -> Result<Vec<SpanOutcome>, WorkerRefusal> {
        reports::report(&mut self.state, now, worker, report)
    }

    /// A worker can't count a span. Others try, and the rest of the lease goes on. Returns its job, unless
    /// nothing changes, as with a lease that the worker does not hold.
    ///
    /// # Errors
    /// If it makes no sense; then nothing changes.
    pub fn fail(
        &mut self,
        now: Duration,
        worker: WorkerId,
        failure: &Failure,
    ) -> Result<Option<JobId>, WorkerRefusal> {
        failures::fail(&mut self.state, now, worker, failure)
    }

    /// A worker's connection is gone. It keeps its leases for a while, in case it comes back.
    pub fn disconnect(&mut self, now: Duration, worker: WorkerId) {
        sessions::disconnect(&mut self.state, now, worker);
    }

    /// A worker has left for good.
    pub fn goodbye(&mut self, now: Duration, worker: WorkerId) {
        sessions::goodbye(&mut self.state, now, worker);
    }

    /// Sends all workers of a name home, and returns how many there are. Others of the name may come later.
    ///
    /// # Errors
    /// If there is none.
    pub fn drain(&mut self, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
        operators::drain(&mut self.state, now, name)
    }

    /// Gives no leases to workers of a name, those that come later included, and returns how many there are now.
    pub fn block(&mut self, now: Duration, name: &Name) -> usize {
        operators::block(&mut self.state, now, name)
    }

    /// Takes a block back, and returns how many workers there are that were blocked by it. Parties that have lost a dispute
    /// by this name, or have a worker of this name, are cleared, and so is a party if it is what the name says.
    ///
    /// # Errors
    /// If there is none, and the name is not blocked.
    pub fn unblock(&mut self, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
        operators::unblock(&mut self.state, now, name)
    }

    /// Names of workers that get no leases: operators have blocked them, or parties have lost a dispute by them.
    pub fn blocked(&self) -> impl Iterator<Item = &Name> {
        self.state.workers().blocked().into_iter()
    }

    /// All workers that are connected or may come back.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStatus> {
        let status = |(id, worker)| status::worker_status(&self.state, id, worker);
        self.state.workers().iter().map(status).collect()
    }

    /// The name of a worker that is connected or may come back.
    #[must_use]
    pub fn worker_name(&self, worker: WorkerId) -> Option<&Name> {
        self.state.workers().get(worker).map(Worker::name)
    }

    /// Whether there are workers: if not, nothing happens without an event, and there is no need to tick.
    #[must_use]
    pub fn has_workers(&self) -> bool {
        self.state.workers().len() > 0
    }

    /// Whether records are yet to be drawn to be counted again.
    #[must_use]
    pub fn is_drawing(&self) -> bool {
        self.state.jobs().first_to_draw().is_some()
    }

    /// Whether something is being counted.
    #[must_use]
    pub fn has_leases(&self) -> bool {
        !self.state.leases().is_empty()
    }

    /// Whether a worker holds this lease.
    #[must_use]
    pub fn is_held(&self, lease: LeaseId) -> bool {
        self.state.leases().get(lease).is_some()
    }
}

/// Time, and what is to be done.
impl Ledger {
    /// Lets time pass: silent workers are given up, the tails of running leases go to idle threads, and threads go
    /// over to what is more urgent. Returns the workers that were given up, whose sessions, if they have any, are no
    /// use any more.
    pub fn tick(&mut self, now: Duration) -> Vec<WorkerId> {
        let silent = time::tick(&mut self.state, now);
        self.paces.look(&self.state);
        silent
    }

    /// What is to be done since the last call.
    pub fn take_effects(&mut self) -> Effects {
        self.state.take_effects()
    }
}
