//! What operators decide about jobs and workers.

use std::time::Duration;

use queens_messages::{JobId, LeaseId, Name, Priority, ToWorker, WorkerId};
use thiserror::Error;

use crate::failure::Failures;
use crate::job::{Counting, Job};
use crate::ledger::Ledger;
use crate::store::Phase;

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

/// Why nothing was changed about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JobRefusal {
    /// There is none.
    #[error("there is no job {0}")]
    Unknown(JobId),
    /// It is over for good.
    #[error("job {job} is {} and stays so", phase.name())]
    Over {
        /// The job.
        job: JobId,
        /// How it ended.
        phase: Phase,
    },
}

/// No worker has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no worker named '{0}'")]
pub struct UnknownWorker(pub Name);

impl Ledger {
    /// Stops a job for now: its workers report what they have in hand and get no more of it.
    ///
    /// # Errors
    /// If there is no such job, or it is over.
    pub fn pause(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        self.advance(now);
        self.change_open_job(id, |job| job.entry.paused = true)?;
        self.stop_counting(id);
        self.recall_all(&self.fleet.leases_of_job(id));
        Ok(())
    }

    /// Lets a job go on, and has what failed tried again, by all workers.
    ///
    /// # Errors
    /// If there is no such job, or it is over.
    pub fn resume(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        self.advance(now);
        self.change_open_job(id, |job| {
            job.entry.paused = false;
            job.counting.iter_mut().for_each(Counting::retry_failed);
        })?;
        if self.fleet.holding(id).is_some() {
            self.start_counting(id);
        }
        let workers: Vec<WorkerId> = self.fleet.members().map(|(worker, _)| worker).collect();
        for worker in workers {
            self.fleet.change_member(self.now, worker, |member| member.failures = Failures::default());
        }
        self.feed();
        self.preempt();
        Ok(())
    }

    /// Says how urgent a job is. Workers of less urgent ones go over to it.
    ///
    /// # Errors
    /// If there is no such job, or it is over.
    pub fn set_priority(&mut self, now: Duration, id: JobId, priority: Priority) -> Result<(), JobRefusal> {
        self.advance(now);
        self.change_open_job(id, |job| job.entry.priority = priority)?;
        let holders = self.fleet.holding(id).map(|holding| holding.holders.clone());
        holders.into_iter().flatten().for_each(|worker| self.recall_what_is_in_the_way(worker));
        self.feed();
        self.preempt();
        Ok(())
    }

    pub(crate) fn change_open_job(
        &mut self,
        id: JobId,
        change: impl FnOnce(&mut Job),
    ) -> Result<(), JobRefusal> {
        match self.jobs.get(id).ok_or(JobRefusal::Unknown(id))?.entry.phase {
            Phase::Planning | Phase::Active => self.jobs.change(id, change),
            phase @ (Phase::Done | Phase::Cancelled) => return Err(JobRefusal::Over { job: id, phase }),
        };
        self.changes.entries.insert(id);
        Ok(())
    }

    /// Sends all workers of a name home, and returns how many there are. Others of the name may come later.
    ///
    /// # Errors
    /// If there is none.
    pub fn drain(&mut self, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
        self.advance(now);
        let named = self.fleet.named(name);
        for &worker in &named {
            self.fleet.change_member(self.now, worker, |member| member.draining = true);
            self.recall_all(&self.fleet.leases_of(worker));
            self.changes.messages.push((worker, ToWorker::Drain));
        }
        if named.is_empty() { Err(UnknownWorker(name.clone())) } else { Ok(named.len()) }
    }

    /// Gives no leases to workers of a name, those that come later included, and returns how many there are now.
    pub fn block(&mut self, now: Duration, name: &Name) -> usize {
        self.advance(now);
        let named = self.fleet.named(name);
        if self.blocked.insert(name.clone()) {
            self.changes.blocked.insert(name.to_string(), true);
            for &worker in &named {
                self.fleet.change_member(self.now, worker, |member| member.blocked = true);
                self.forget_failures_of(worker);
                self.recall_all(&self.fleet.leases_of(worker));
                self.changes.messages.push((worker, blocked_notice(name)));
            }
            self.feed();
        }
        named.len()
    }

    /// Takes a block back, and returns how many workers of the name there are.
    ///
    /// # Errors
    /// If there is none, and the name is not blocked.
    pub fn unblock(&mut self, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
        self.advance(now);
        let named = self.fleet.named(name);
        if self.blocked.remove(name) {
            self.changes.blocked.insert(name.to_string(), false);
            for &worker in &named {
                let notice = ToWorker::Notice(format!("workers named '{name}' are not blocked any more"));
                self.changes.messages.push((worker, notice));
                self.fleet.change_member(self.now, worker, |member| member.blocked = false);
            }
            self.feed();
        } else if named.is_empty() {
            return Err(UnknownWorker(name.clone()));
        }
        Ok(named.len())
    }

    /// Names of workers that get no leases.
    pub fn blocked(&self) -> impl Iterator<Item = &Name> {
        self.blocked.iter()
    }

    pub(crate) fn recall_all(&mut self, leases: &[LeaseId]) {
        leases.iter().for_each(|&lease| self.recall(lease));
    }

    /// Has a worker give back what it has not begun of a lease. What it has in hand it counts to the end and reports,
    /// and then it ends the lease: until then, what may be in hand is nobody else's.
    pub(crate) fn recall(&mut self, id: LeaseId) {
        let Some(lease) = self.fleet.lease(id).filter(|lease| !lease.recalled) else { return };
        let shorten = ToWorker::Shorten { lease: id, spans: lease.spans.iter().collect() };
        self.changes.messages.push((lease.worker, shorten));
        self.fleet.change_lease(self.now, id, |lease| lease.recalled = true);
    }
}

pub(crate) fn blocked_notice(name: &Name) -> ToWorker {
    ToWorker::Notice(format!(
        "workers named '{name}' are blocked: this one gets no work until they are unblocked"
    ))
}
