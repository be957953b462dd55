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
//!
//! Each table keeps its own invariants. This module keeps those between them:
//! - A worker holds exactly the live leases with its number.
//! - Each subproblem of a job with a plan is recorded, free, failed or held under a live lease. A recorded one may be
//!   held too, for a recount or because a late report on a lost lease came first.

mod leases;

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{JobId, ToWorker, WorkerId};
use queens_solver::Method;

use crate::effects::Effects;
use crate::event::LedgerEvent;
use crate::jobs::counting::Counting;
use crate::jobs::failed::Tried;
use crate::jobs::job::Job;
use crate::jobs::job_table::Jobs;
use crate::leases::lease_table::Leases;
use crate::pace::Paces;
use crate::report_interval_rule::Reporting;
use crate::run::{Run, Tokens};
use crate::store::Phase;
use crate::workers::proofs::Proofs;
use crate::workers::worker::Worker;
use crate::workers::worker_table::Workers;

/// The state of all jobs, workers and leases of one coordinator, and the effects of its changes. Each module of
/// `handlers` has the methods that change one kind of thing; `queries` has those that read.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) now: Duration,
    /// The wall-clock time in milliseconds since 1970, once set.
    pub(crate) date_ms: Option<u64>,
    pub(crate) jobs: Jobs,
    pub(crate) workers: Workers,
    pub(crate) leases: Leases,
    /// What the parties have proved.
    pub(crate) proofs: Proofs,
    pub(crate) paces: Paces,
    /// The secret of the lotteries that draw parties.
    pub(crate) draw_secret: u128,
    /// The time when the run began.
    began: Option<Duration>,
    /// Whether the parties of restored jobs have had the time to come back.
    pub(crate) are_back: bool,
    /// Whether the coordinator is counting a disputed span.
    pub(crate) is_judging: bool,
    pub(crate) effects: Effects,
}

/// Time and settings.
impl Ledger {
    /// Creates an empty state.
    pub(crate) fn new(run: Run) -> Self {
        Self {
            now: Duration::ZERO,
            date_ms: None,
            jobs: Jobs::default(),
            workers: Workers::default(),
            leases: Leases::new(Tokens::of(run)),
            draw_secret: run.draw_secret(),
            began: None,
            are_back: false,
            proofs: Proofs::default(),
            paces: Paces::default(),
            is_judging: false,
            effects: Effects::default(),
        }
    }

    /// Returns the wall-clock time in milliseconds since 1970; 0 if it was never set.
    pub(crate) fn date_ms(&self) -> u64 {
        self.date_ms.unwrap_or(0)
    }

    /// Whether this worker is there and can count this job.
    pub(crate) fn can_count(&self, worker: WorkerId, job: JobId) -> bool {
        let method = self.method(job);
        self.workers.get(worker).zip(method).is_some_and(|(worker, method)| worker.can_count(method))
    }

    /// Returns the counting state of a job that has a plan.
    pub(crate) fn counting(&self, job: JobId) -> Option<&Counting> {
        self.jobs.get(job)?.counting()
    }

    /// Sets the rule for how often workers report.
    pub fn set_reporting(&mut self, reporting: Reporting) {
        self.workers.set_reporting(reporting);
    }

    /// Sets the wall-clock time, in milliseconds since 1970. It decides nothing, and is only kept with jobs and counts.
    pub fn tell_date(&mut self, date_ms: u64) {
        self.date_ms = Some(date_ms);
    }

    /// Takes the effects since the last call.
    pub fn take_effects(&mut self) -> Effects {
        self.effects.take(self.now, &mut self.jobs)
    }

    /// Advances the time, never back.
    pub(crate) fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
        self.began.get_or_insert(self.now);
    }

    /// Returns how long the run has lasted.
    pub(crate) fn age(&self) -> Duration {
        self.now.saturating_sub(self.began.unwrap_or(self.now))
    }
}

/// Jobs.
impl Ledger {
    /// Adds a job. If it is a second pass and not cancelled, its first pass learns of it.
    pub(crate) fn add_job(&mut self, job: Job) {
        let (id, first) = (job.id(), job.entry().terms.second_of);
        let counts = job.phase() != Phase::Cancelled;
        self.jobs.insert(job);
        if let Some(first) = first.filter(|_| counts) {
            self.jobs.change(first, |first| first.set_second(Some(id)));
        }
    }

    /// Changes a job, but not who holds its leases.
    pub(crate) fn change_job<T>(&mut self, id: JobId, change: impl FnOnce(&mut Job) -> T) -> Option<T> {
        self.jobs.change(id, change)
    }

    /// Starts the active time of a job, unless it is paused.
    pub(crate) fn start_counting(&mut self, id: JobId) {
        let (now, date_ms) = (self.now, self.date_ms);
        if self.jobs.change(id, |job| job.start_counting(now, date_ms)) == Some(true) {
            self.effects.change_entry(id);
        }
    }

    /// Stops the active time of a job.
    pub(crate) fn stop_counting(&mut self, id: JobId) {
        let now = self.now;
        self.jobs.change(id, |job| job.stop_counting(now));
    }

    /// Ends a job and all its leases.
    pub(crate) fn end_job(&mut self, id: JobId, phase: Phase) {
        let date_ms = self.date_ms;
        self.jobs.change(id, |job| job.end(phase, date_ms));
        self.effects.change_entry(id);
        self.cancel_leases_of_job(id);
    }

    /// Ends all leases of a job.
    pub(crate) fn cancel_leases_of_job(&mut self, id: JobId) {
        for lease in self.leases_of_job(id) {
            let worker = self.leases.get(lease).map(|lease| lease.worker);
            self.end_lease(lease, true);
            if let Some(worker) = worker {
                self.effects.send(worker, ToWorker::Cancel(lease));
            }
        }
    }

    /// Drops the failures of a worker that has left or is blocked, as if it had not tried.
    pub(crate) fn forget_failures_of(&mut self, worker: WorkerId) {
        let jobs: Vec<JobId> = self.jobs.with_failed().collect();
        for job in jobs {
            self.jobs.change(job, |job| {
                job.counting_mut().into_iter().for_each(|counting| counting.forget_failures_of(worker));
            });
        }
    }
}

/// Workers.
impl Ledger {
    /// Adds a worker that holds nothing yet.
    pub(crate) fn add_worker(&mut self, id: WorkerId, worker: Worker) {
        self.workers.add(self.now, id, worker);
    }

    /// Removes a worker that says hello again, with all its leases. Its queued messages, above all leases, must not
    /// arrive in its new session.
    pub(crate) fn take_out(&mut self, id: WorkerId) -> Option<Worker> {
        self.effects.messages.retain(|(to, _)| *to != id);
        self.end_leases_of(id);
        self.workers.remove(id)
    }

    /// Removes a worker: its leases become free, and its failures no longer count.
    pub(crate) fn give_up(&mut self, id: WorkerId) {
        self.end_leases_of(id);
        if let Some(worker) = self.workers.remove(id) {
            self.forget_failures_of(id);
            let party = worker.party();
            let is_there = |method| self.workers.readiness(method).candidates().contains_key(&party);
            for method in Method::ALL.into_iter().filter(|method| worker.may_come_back(*method)) {
                if !is_there(method) {
                    self.proofs.note_left(party, method, worker.came, self.now);
                }
            }
        }
    }

    fn end_leases_of(&mut self, id: WorkerId) {
        for lease in self.leases_of(id) {
            self.end_lease(lease, true);
        }
    }

    /// Notes that a worker was heard.
    pub(crate) fn note_contact(&mut self, id: WorkerId) -> Option<&Worker> {
        self.workers.note_contact(self.now, id)
    }

    /// Changes a worker, but not its leases.
    pub(crate) fn change_worker<T>(
        &mut self,
        id: WorkerId,
        change: impl FnOnce(&mut Worker) -> T,
    ) -> Option<T> {
        self.workers.change(self.now, id, change)
    }

    /// Reports that a worker, connected or not, is about to lose its leases, and counts a lapse against its party.
    pub(crate) fn note_loss(&mut self, id: WorkerId, is_there: bool) {
        let Some(worker) = self.workers.get(id) else { return };
        let n_leases = worker.held.shares().map(|(job, share)| (job, share.n_leases())).collect();
        let (source, holds) = (worker.source().clone(), worker.held.n_leases() > 0);
        self.effects.events.push(LedgerEvent::Lost { source, is_there, n_leases });
        holds.then(|| self.workers.note_lapse(self.now, id));
    }

    /// Returns those of the workers that are there and not blocked, with their parties: only their failures count.
    pub(crate) fn still_there(&self, tried: &BTreeSet<WorkerId>) -> Tried {
        let there = |id: &WorkerId| self.workers.get(*id).filter(|worker| !worker.blocked);
        tried.iter().filter_map(|id| Some((*id, there(id)?.party()))).collect()
    }
}
