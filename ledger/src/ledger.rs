//! The ledger: decides which spans are recorded, who holds the others, and which are leased next.
//!
//! It is a pure state machine. Events come in as method calls with the time as a [`Duration`] since some start; the
//! resulting actions come out as [`Effects`]. It does no I/O and reads no clock, so that tests can play any history.
//!
//! Invariants:
//! - Each span is added to a total exactly once.
//! - An acknowledged report is durable: its acknowledgement is in the same [`Effects`] as its writes, and the caller
//!   makes the writes durable first.
//! - Leases are hints about who works on which spans. Losing all of them repeats work, but never changes a count.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{
    Failure, Hello, JobId, JobIdentity, JobStatus, LeaseId, Name, Party, Priority, Report, Submission,
    WorkerId, WorkerStatus,
};
use queens_solver::{BoardSize, Method, Pass, Plan};

use crate::effects::{Comparison, Effects};
use crate::handlers::jobs;
use crate::handlers::operators::{self, JobRefusal, UnknownWorker, Verification};
use crate::handlers::reports::{self, SpanOutcome};
use crate::handlers::submissions::{self, SubmissionRefusal};
use crate::handlers::worker_refusal::WorkerRefusal;
use crate::handlers::{failures, sessions, time, verification};
use crate::jobs::job::Job;
use crate::jobs::restore::RestoreError;
use crate::pace::Paces;
use crate::report_interval_rule::Reporting;
use crate::run::Run;
use crate::run::Tokens;
use crate::state::State;
use crate::status::{self, PartStatus};
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
    /// Restores a ledger from `stored`, without workers. Open jobs get new seeds: the stored state may be older than
    /// one in which their seeds were published.
    ///
    /// A job that contradicts itself is set aside and does not affect the others.
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
        // The last coordinator may have recorded all of a job without marking it done.
        ids.into_iter().for_each(|job| jobs::finish_if_complete(&mut state, job));
        Ok(Self { state, paces: Paces::default() })
    }

    /// Sets the rule for how often workers report.
    pub fn set_reporting(&mut self, reporting: Reporting) {
        self.state.set_reporting(reporting);
    }

    /// Submits a job. `seed` is drawn at random, and `created_ms` is the time in milliseconds since 1970.
    ///
    /// # Errors
    /// If there are too many jobs, or the submission is invalid.
    pub fn submit(
        &mut self,
        asked: &Submission,
        seed: u128,
        created_ms: u64,
    ) -> Result<JobId, SubmissionRefusal> {
        submissions::submit(&mut self.state, asked, seed, created_ms)
    }

    /// Sets the wall-clock time, in milliseconds since 1970. It decides nothing, and is only kept with jobs and counts.
    pub fn tell_date(&mut self, date_ms: u64) {
        self.state.tell_date(date_ms);
    }

    /// Gives a job its plan. Does nothing if the job is not waiting for one.
    pub fn planned(&mut self, now: Duration, id: JobId, plan: impl Into<Arc<Plan>>) {
        jobs::planned(&mut self.state, now, id, plan.into());
    }

    /// Cancels a job. Its records stay. Cancelling a cancelled job has no effect.
    ///
    /// # Errors
    /// If there is no such job, or it is done.
    pub fn cancel(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        operators::cancel(&mut self.state, now, id)
    }

    /// Notes that a certificate of a job is exported. Returns whether the job is done, which a certificate requires.
    pub fn exported(&mut self, id: JobId) -> bool {
        jobs::exported(&mut self.state, id)
    }

    /// Handles the answer to a [`Comparison`]: the record of exactly this span, if there is one. Only another party's
    /// count confirms it.
    pub fn compared(&mut self, comparison: &Comparison, recorded: Option<Recorded>) {
        jobs::compared(&mut self.state, comparison, recorded);
    }

    /// Handles the answer to a [`Draw`].
    pub fn drawn(&mut self, draw: &Draw, drawn: Drawn) {
        jobs::drawn(&mut self.state, draw, drawn);
    }

    /// Sets a job aside, because its stored state is invalid. Its workers get other jobs, and it is never written
    /// again.
    pub fn set_aside(&mut self, now: Duration, id: JobId, damage: String) {
        self.state.advance(now);
        jobs::set_aside(&mut self.state, id, damage);
    }

    /// Pauses a job: its workers report the chunks in hand and get no more leases of it.
    ///
    /// # Errors
    /// If there is no such job, or it has ended.
    pub fn pause(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        operators::pause(&mut self.state, now, id)
    }

    /// Resumes a job, and has all workers retry its failed spans.
    ///
    /// # Errors
    /// If there is no such job, or it has ended.
    pub fn resume(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        operators::resume(&mut self.state, now, id)
    }

    /// Sets the priority of a job. Workers of less urgent jobs move to it.
    ///
    /// # Errors
    /// If there is no such job, or it has ended.
    pub fn set_priority(&mut self, now: Duration, id: JobId, priority: Priority) -> Result<(), JobRefusal> {
        operators::set_priority(&mut self.state, now, id, priority)
    }

    /// Has more of a job verified. A job that was done is open again until then; `created_ms` is the time in
    /// milliseconds since 1970.
    ///
    /// # Errors
    /// If there is no such job, or it is cancelled, or can't be verified like this.
    pub fn verify_more(
        &mut self,
        now: Duration,
        id: JobId,
        more: Verification,
        created_ms: u64,
    ) -> Result<(), JobRefusal> {
        verification::verify_more(&mut self.state, now, id, more, created_ms)
    }

    /// Returns all jobs, in the order of submission.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.state.jobs().iter().map(|job| status::job_status(&self.state, &self.paces, job)).collect()
    }

    /// Returns the identity of a job, which its leases carry.
    #[must_use]
    pub fn identity(&self, job: JobId) -> Option<JobIdentity> {
        self.state.jobs().get(job).map(Job::identity)
    }

    /// Returns the number of jobs, and of active ones.
    #[must_use]
    pub fn census(&self) -> (usize, usize) {
        (self.state.jobs().len(), self.state.jobs().n_active())
    }

    /// Returns the number of jobs that are being planned or counted, or wait for that.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.state.jobs().n_open()
    }

    /// Whether a job may still progress by itself.
    #[must_use]
    pub fn is_open(&self, job: JobId) -> bool {
        self.state.jobs().get(job).is_some_and(Job::is_open)
    }

    /// Returns the job with this identity, if it is there.
    #[must_use]
    pub fn job_of(&self, identity: JobIdentity) -> Option<JobId> {
        self.state.jobs().identified(identity).map(Job::id)
    }

    /// Returns the counting method of a job.
    #[must_use]
    pub fn method(&self, job: JobId) -> Option<Method> {
        self.state.method(job)
    }

    /// Returns the values that determine a job's plan: board size, method and pass.
    #[must_use]
    pub fn board(&self, job: JobId) -> Option<(BoardSize, Method, Pass)> {
        let job = self.state.jobs().get(job)?;
        Some((job.entry().n, job.method(), self.state.jobs().pass(job)))
    }

    /// Returns the plan of a job and the coverage of each part, once the plan is made.
    #[must_use]
    pub fn parts(&self, job: JobId) -> Option<(Arc<Plan>, Vec<PartStatus>)> {
        status::parts(&self.state, job)
    }
}

/// Workers.
impl Ledger {
    /// Opens a session for a worker of a party. It keeps those of its leases that nobody else has taken over.
    ///
    /// # Errors
    /// If the worker can't be used here.
    pub fn connect(&mut self, now: Duration, hello: Hello, party: Party) -> Result<(), WorkerRefusal> {
        sessions::connect(&mut self.state, now, hello, party)
    }

    /// Handles a worker's report. A report is acknowledged whatever the outcome of its spans; an empty one is not.
    ///
    /// # Errors
    /// If it is invalid; then nothing of it is recorded.
    pub fn report(
        &mut self,
        now: Duration,
        worker: WorkerId,
        report: &Report,
    ) -> Result<Vec<SpanOutcome>, WorkerRefusal> {
        reports::report(&mut self.state, now, worker, report)
    }

    /// Handles a worker's failure to count a span. Others try it, and the rest of the lease goes on. Returns the job;
    /// `None` if nothing changes, as when the worker does not hold the lease.
    ///
    /// # Errors
    /// If it is invalid; then nothing changes.
    pub fn fail(
        &mut self,
        now: Duration,
        worker: WorkerId,
        failure: &Failure,
    ) -> Result<Option<JobId>, WorkerRefusal> {
        failures::fail(&mut self.state, now, worker, failure)
    }

    /// Notes that a worker's connection is lost. It keeps its leases for a while, in case it comes back.
    pub fn disconnect(&mut self, now: Duration, worker: WorkerId) {
        sessions::disconnect(&mut self.state, now, worker);
    }

    /// Removes a worker that has left for good.
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

    /// Gives no leases to workers of a name, now and later. Returns how many there are now.
    pub fn block(&mut self, now: Duration, name: &Name) -> usize {
        operators::block(&mut self.state, now, name)
    }

    /// Lifts a block, and returns how many workers it had blocked. This also clears parties that have lost a dispute by
    /// this name or have a worker of this name. A name that is a party's identifier clears that party.
    ///
    /// # Errors
    /// If there is none, and the name is not blocked.
    pub fn unblock(&mut self, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
        operators::unblock(&mut self.state, now, name)
    }

    /// Returns the names of workers that get no leases, by operators' blocks or by lost disputes of their parties.
    pub fn blocked(&self) -> impl Iterator<Item = &Name> {
        self.state.workers().blocked().into_iter()
    }

    /// Returns all workers that are connected or may come back.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStatus> {
        let status = |(id, worker)| status::worker_status(&self.state, id, worker);
        self.state.workers().iter().map(status).collect()
    }

    /// Returns the name of a worker that is connected or may come back.
    #[must_use]
    pub fn worker_name(&self, worker: WorkerId) -> Option<&Name> {
        self.state.workers().get(worker).map(Worker::name)
    }

    /// Whether there are workers. Without any, nothing happens by itself, so that no ticks are needed.
    #[must_use]
    pub fn has_workers(&self) -> bool {
        self.state.workers().len() > 0
    }

    /// Whether a search for records to recount goes on.
    #[must_use]
    pub fn is_drawing(&self) -> bool {
        self.state.jobs().first_to_draw().is_some()
    }

    /// Whether anything is being counted.
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

/// Time and effects.
impl Ledger {
    /// Lets time pass: gives up silent workers, moves tails of running leases to idle threads, and threads to more
    /// urgent jobs. Returns the workers that were given up, whose sessions are useless now.
    pub fn tick(&mut self, now: Duration) -> Vec<WorkerId> {
        let silent = time::tick(&mut self.state, now);
        self.paces.measure(&self.state);
        silent
    }

    /// Takes the effects since the last call.
    pub fn take_effects(&mut self) -> Effects {
        self.state.take_effects()
    }
}
