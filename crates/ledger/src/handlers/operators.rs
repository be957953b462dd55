//! Handles operators' changes to jobs and workers, and words the refusals.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{JobId, Name, Priority, ToWorker, WorkerId};
use thiserror::Error;

use crate::handlers::jobs::{cancel_second, close, finish_if_complete};
use crate::handlers::submissions::{NoSecondPass, TooManyJobs};
use crate::handlers::{notices, recounts};
use crate::jobs::job::Job;
use crate::ledger::Ledger;
use crate::schedule::assign::assign;
use crate::schedule::recall::{preempt, recall_what_is_in_the_way};
use crate::store::{Block, Phase};
use crate::workers::worker::Worker;
use crate::workers::worker_table::Suspicion;

/// Why a job was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JobRefusal {
    /// There is no such job.
    #[error("there is no job {0}")]
    Unknown(JobId),
    /// It has ended for good.
    #[error("job {job} is {} and stays so", phase.name())]
    Over {
        /// The job.
        job: JobId,
        /// How it ended.
        phase: Phase,
    },
    /// Its stored state contradicts itself.
    #[error(
        "job {0} is damaged and set aside: restore a backup, or keep the provable records with 'queens-coordinator recover'"
    )]
    Damaged(JobId),
    /// It is a second pass: the verification is that of the first pass.
    #[error("job {job} is the second pass of job {first}: change the verification of job {first}")]
    IsSecond {
        /// The job.
        job: JobId,
        /// The first pass.
        first: JobId,
    },
    /// It has a second pass already.
    #[error("job {job} has a second pass, job {second}")]
    HasSecond {
        /// The job.
        job: JobId,
        /// The second pass.
        second: JobId,
    },
    /// It can't have this second pass.
    #[error(transparent)]
    NoSecondPass(#[from] NoSecondPass),
    /// There is no room for its second pass.
    #[error(transparent)]
    TooMany(#[from] TooManyJobs),
}

impl JobRefusal {
    /// Returns the refusal for a job that has ended or is damaged.
    pub(crate) fn over(job: &Job) -> Self {
        match job.phase() {
            Phase::Damaged => Self::Damaged(job.id()),
            phase => Self::Over { job: job.id(), phase },
        }
    }
}

/// No worker has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no worker named '{0}'")]
pub struct UnknownWorker(pub Name);

impl Ledger {
    /// Pauses a job: its workers report the chunks in hand and get no more leases of it.
    ///
    /// # Errors
    /// If there is no such job, or it has ended.
    pub fn pause(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        self.advance(now);
        for pass in change_open_job(self, id, Job::pause)? {
            self.stop_counting(pass);
            self.recall_all(&self.leases_of_job(pass));
        }
        Ok(())
    }

    /// Resumes a job, and has all workers retry its failed spans.
    ///
    /// # Errors
    /// If there is no such job, or it has ended.
    pub fn resume(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        self.advance(now);
        for pass in change_open_job(self, id, Job::resume)? {
            if self.workers.holding(pass).is_some() {
                self.start_counting(pass);
            }
        }
        let workers: Vec<WorkerId> = self.workers.iter().map(|(worker, _)| worker).collect();
        for worker in workers {
            self.change_worker(worker, Worker::forgive);
        }
        assign(self);
        preempt(self);
        Ok(())
    }

    /// Sets the priority of a job. Workers of less urgent jobs move to it.
    ///
    /// # Errors
    /// If there is no such job, or it has ended.
    pub fn set_priority(&mut self, now: Duration, id: JobId, priority: Priority) -> Result<(), JobRefusal> {
        self.advance(now);
        for pass in change_open_job(self, id, |job| job.set_priority(priority))? {
            let holders = self.workers.holding(pass).map(|holding| holding.holders.clone());
            holders.into_iter().flatten().for_each(|worker| recall_what_is_in_the_way(self, worker));
        }
        assign(self);
        preempt(self);
        Ok(())
    }

    /// Cancels a job. Its records stay. Cancelling a cancelled job has no effect.
    ///
    /// # Errors
    /// If there is no such job, or it is done.
    pub fn cancel(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        self.advance(now);
        let job = self.jobs.get(id).ok_or(JobRefusal::Unknown(id))?;
        if matches!(job.phase(), Phase::Done | Phase::Damaged) {
            return Err(JobRefusal::over(job));
        }
        let first = job.first_pass();
        if job.is_open() {
            // The second pass is useless without the first; the first stands without the second.
            if first == id {
                self.jobs.passes(id).into_iter().for_each(|pass| close(self, pass, Phase::Cancelled));
            } else {
                cancel_second(self, first, id);
                finish_if_complete(self, first);
            }
        }
        Ok(())
    }
}

/// Changes a job and its other pass, if there is one. Returns the changed jobs.
fn change_open_job(
    ledger: &mut Ledger,
    id: JobId,
    change: impl Fn(&mut Job),
) -> Result<Vec<JobId>, JobRefusal> {
    let job = ledger.jobs.get(id).ok_or(JobRefusal::Unknown(id))?;
    if !job.is_open() {
        return Err(JobRefusal::over(job));
    }
    let mut passes = ledger.jobs.passes(id);
    passes.retain(|pass| ledger.jobs.get(*pass).is_some_and(Job::is_open));
    for &pass in &passes {
        ledger.change_job(pass, &change);
        ledger.effects.change_entry(pass);
    }
    Ok(passes)
}

impl Ledger {
    /// Sends all workers of a name home, and returns how many there are. Others of the name may come later.
    ///
    /// # Errors
    /// If there is none.
    pub fn drain(&mut self, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
        self.advance(now);
        let named = self.workers.named(name);
        for &worker in &named {
            self.change_worker(worker, Worker::drain);
            self.recall_all(&self.leases_of(worker));
            self.effects.send(worker, ToWorker::Drain);
        }
        if named.is_empty() { Err(UnknownWorker(name.clone())) } else { Ok(named.len()) }
    }

    /// Gives no leases to workers of a name, now and later. Returns how many there are now.
    pub fn block(&mut self, now: Duration, name: &Name) -> usize {
        self.advance(now);
        let named = self.workers.named(name);
        if self.workers.block(self.now, name) {
            self.effects.block(Block { name: name.clone(), party: None }, Some(String::new()));
            for &worker in &named {
                self.forget_failures_of(worker);
                self.recall_all(&self.leases_of(worker));
                self.effects.send(worker, notices::blocked(name));
            }
            assign(self);
        }
        named.len()
    }

    /// Lifts a block, and returns how many workers it had blocked. This also clears parties that have lost a dispute by
    /// this name or have a worker of this name. A name that is a party's identifier clears that party.
    ///
    /// # Errors
    /// If there is none, and the name is not blocked.
    pub fn unblock(&mut self, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
        self.advance(now);
        let mut workers: BTreeSet<WorkerId> = self.workers.named(name).into_iter().collect();
        let was_blocked = self.workers.unblock(self.now, name);
        if was_blocked {
            self.effects.block(Block { name: name.clone(), party: None }, None);
        }
        let suspects = self.workers.suspects_of(name);
        for &party in &suspects {
            workers.extend(self.workers.of_party(party).into_iter().flatten());
            if let Some(Suspicion { name, .. }) = self.workers.clear(self.now, party) {
                self.effects.block(Block { name, party: Some(party) }, None);
            }
        }
        if !suspects.is_empty() {
            recounts::clear(self);
        }
        if was_blocked || !suspects.is_empty() {
            for &worker in &workers {
                let of_worker = self.workers.get(worker).filter(|worker| !worker.blocked);
                if let Some(notice) = of_worker.map(|worker| notices::unblocked(worker.name())) {
                    self.effects.send(worker, notice);
                }
            }
            assign(self);
        } else if workers.is_empty() {
            return Err(UnknownWorker(name.clone()));
        }
        Ok(workers.len())
    }
}
