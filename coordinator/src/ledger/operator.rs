//! What operators decide about jobs and workers.

use std::time::Duration;

use queens_proto::{JobId, LeaseId, Name, Priority, ToWorker, WorkerId};
use thiserror::Error;

use super::failure::Failures;
use super::job::Job;
use super::{Ledger, LiveLease};
use crate::store::Phase;

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
        self.open_job(id)?.row.paused = true;
        self.changes.rows.insert(id);
        self.recall_all(|lease| lease.job == id);
        Ok(())
    }

    /// Lets a job go on, and has what failed tried again, by all workers.
    ///
    /// # Errors
    /// If there is no such job, or it is over.
    pub fn resume(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        self.advance(now);
        let job = self.open_job(id)?;
        job.row.paused = false;
        if let Some(counting) = job.counting.as_mut() {
            counting.retry_failed();
        }
        self.changes.rows.insert(id);
        for (&worker, member) in &mut self.workers {
            member.failures = Failures::default();
            if member.connected {
                self.hungry.insert(worker);
            }
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
        let job = self.open_job(id)?;
        let before = job.rank();
        job.row.priority = priority;
        let after = job.rank();
        if self.active.remove(&before) {
            self.active.insert(after);
        }
        self.changes.rows.insert(id);
        self.feed();
        self.preempt();
        Ok(())
    }

    fn open_job(&mut self, id: JobId) -> Result<&mut Job, JobRefusal> {
        let job = self.jobs.get_mut(&id).ok_or(JobRefusal::Unknown(id))?;
        match job.row.phase {
            Phase::Planning | Phase::Active => Ok(job),
            phase @ (Phase::Done | Phase::Cancelled) => Err(JobRefusal::Over { job: id, phase }),
        }
    }

    /// Sends all workers of a name home, and returns how many there are. Others of the name may come later.
    ///
    /// # Errors
    /// If there is none.
    pub fn drain(&mut self, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
        self.advance(now);
        let named = self.named(name);
        for &worker in &named {
            if let Some(member) = self.workers.get_mut(&worker) {
                member.draining = true;
            }
            self.recall_all(|lease| lease.worker == worker);
            self.changes.messages.push((worker, ToWorker::Drain));
        }
        if named.is_empty() { Err(UnknownWorker(name.clone())) } else { Ok(named.len()) }
    }

    /// Gives no leases to workers of a name, those that come later included, and returns how many there are now.
    pub fn block(&mut self, now: Duration, name: &Name) -> usize {
        self.advance(now);
        let named = self.named(name);
        if self.blocked.insert(name.clone()) {
            self.changes.blocked.insert(name.to_string(), true);
            for &worker in &named {
                self.recall_all(|lease| lease.worker == worker);
                self.changes.messages.push((worker, blocked_notice(name)));
            }
        }
        named.len()
    }

    /// Takes a block back, and returns how many workers of the name there are.
    ///
    /// # Errors
    /// If there is none, and the name is not blocked.
    pub fn unblock(&mut self, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
        self.advance(now);
        let named = self.named(name);
        if self.blocked.remove(name) {
            self.changes.blocked.insert(name.to_string(), false);
            for &worker in &named {
                let notice = ToWorker::Notice(format!("workers named '{name}' are not blocked any more"));
                self.changes.messages.push((worker, notice));
                if self.workers.get(&worker).is_some_and(|member| member.connected) {
                    self.hungry.insert(worker);
                }
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

    fn named(&self, name: &Name) -> Vec<WorkerId> {
        let named = self.workers.iter().filter(|(_, member)| member.source.worker == *name);
        named.map(|(&worker, _)| worker).collect()
    }

    pub(super) fn recall_all(&mut self, which: impl Fn(&LiveLease) -> bool) {
        let leases: Vec<LeaseId> =
            self.leases.values().filter(|lease| which(lease)).map(|lease| lease.id).collect();
        leases.into_iter().for_each(|lease| self.recall(lease));
    }

    /// Has a worker give back what it has not begun of a lease. What it has in hand it counts to the end and reports,
    /// and then it ends the lease: until then, what may be in hand is nobody else's.
    pub(super) fn recall(&mut self, id: LeaseId) {
        if let Some(lease) = self.leases.get_mut(&id).filter(|lease| !lease.recalled) {
            lease.recalled = true;
            let spans = lease.spans.iter().copied().collect();
            self.changes.messages.push((lease.worker, ToWorker::Shorten { lease: id, spans }));
        }
    }
}

pub(super) fn blocked_notice(name: &Name) -> ToWorker {
    ToWorker::Notice(format!(
        "workers named '{name}' are blocked: this one gets no work until they are unblocked"
    ))
}
