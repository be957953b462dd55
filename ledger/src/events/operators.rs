//! What operators decide about jobs and workers.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{Arbiter, JobId, Name, Priority, Share, ToWorker, WorkerId};
use queens_solver::Method;
use thiserror::Error;

use crate::events::jobs::{close, finish_if_complete};
use crate::events::submissions::{NoSecondPass, TooManyJobs};
use crate::events::{notices, recounts};
use crate::jobs::job::Job;
use crate::schedule::assign::assign;
use crate::schedule::recall::{preempt, recall_what_is_in_the_way};
use crate::state::State;
use crate::store::{Block, Phase};
use crate::workers::worker::Worker;
use crate::workers::worker_table::Suspicion;

/// What an operator decides about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobChange {
    /// It is stopped for now.
    Pause,
    /// It goes on, and what failed is tried again.
    Resume,
    /// It is this urgent.
    Priority(Priority),
    /// More of it is checked.
    Verify(Verification),
}

/// What more of a job is to be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The share of its work that is to be counted again; less than what is agreed already changes nothing.
    pub recount: Option<Share>,
    /// Who is to count it again from now on; as it was if `None`.
    pub recount_by: Option<Arbiter>,
    /// The method by which it is to be counted a second time.
    pub second_pass: Option<Method>,
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
    /// What is stored of it contradicts itself.
    #[error(
        "job {0} is damaged and set aside: restore a backup, or keep what proves itself with 'queens-coordinator recover'"
    )]
    Damaged(JobId),
    /// It is the second pass of another, which is the one to ask for more.
    #[error("job {job} is the second pass of job {first}: have more of job {first} checked")]
    IsSecond {
        /// The job.
        job: JobId,
        /// The other.
        first: JobId,
    },
    /// It is counted a second time already.
    #[error("job {job} has a second pass, job {second}")]
    HasSecond {
        /// The job.
        job: JobId,
        /// The other.
        second: JobId,
    },
    /// It can't be counted a second time like this.
    #[error(transparent)]
    NoSecondPass(#[from] NoSecondPass),
    /// There is no room for its second pass.
    #[error(transparent)]
    TooMany(#[from] TooManyJobs),
}

impl JobRefusal {
    /// Of a job of which nothing may come any more.
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

pub(crate) fn pause(state: &mut State, now: Duration, id: JobId) -> Result<(), JobRefusal> {
    state.advance(now);
    for pass in change_open_job(state, id, Job::pause)? {
        state.stop_counting(pass);
        state.recall_all(&state.leases_of_job(pass));
    }
    Ok(())
}

pub(crate) fn resume(state: &mut State, now: Duration, id: JobId) -> Result<(), JobRefusal> {
    state.advance(now);
    for pass in change_open_job(state, id, Job::resume)? {
        if state.workers().holding(pass).is_some() {
            state.start_counting(pass);
        }
    }
    let workers: Vec<WorkerId> = state.workers().iter().map(|(worker, _)| worker).collect();
    for worker in workers {
        state.change_worker(worker, Worker::forgive);
    }
    assign(state);
    preempt(state);
    Ok(())
}

pub(crate) fn set_priority(
    state: &mut State,
    now: Duration,
    id: JobId,
    priority: Priority,
) -> Result<(), JobRefusal> {
    state.advance(now);
    for pass in change_open_job(state, id, |job| job.set_priority(priority))? {
        let holders = state.workers().holding(pass).map(|holding| holding.holders().clone());
        holders.into_iter().flatten().for_each(|worker| recall_what_is_in_the_way(state, worker));
    }
    assign(state);
    preempt(state);
    Ok(())
}

pub(crate) fn cancel(state: &mut State, now: Duration, id: JobId) -> Result<(), JobRefusal> {
    state.advance(now);
    let job = state.jobs().get(id).ok_or(JobRefusal::Unknown(id))?;
    if matches!(job.phase(), Phase::Done | Phase::Damaged) {
        return Err(JobRefusal::over(job));
    }
    let first = job.first_pass();
    if job.is_open() {
        // Without the first pass nobody needs the second; without the second the first is what it is.
        let passes = if first == id { state.jobs().passes(id) } else { vec![id] };
        for pass in passes {
            close(state, pass, Phase::Cancelled);
        }
        if first != id {
            state.change_job(first, |job| job.set_second(None));
            finish_if_complete(state, first);
        }
    }
    Ok(())
}

/// Changes a job, and the other pass with it, if there are two. Returns those that are changed.
fn change_open_job(
    state: &mut State,
    id: JobId,
    change: impl Fn(&mut Job),
) -> Result<Vec<JobId>, JobRefusal> {
    let job = state.jobs().get(id).ok_or(JobRefusal::Unknown(id))?;
    if !job.is_open() {
        return Err(JobRefusal::over(job));
    }
    let mut passes = state.jobs().passes(id);
    passes.retain(|pass| state.jobs().get(*pass).is_some_and(Job::is_open));
    for &pass in &passes {
        state.change_job(pass, &change);
        state.changes().change_entry(pass);
    }
    Ok(passes)
}

pub(crate) fn drain(state: &mut State, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
    state.advance(now);
    let named = state.workers().named(name);
    for &worker in &named {
        state.change_worker(worker, Worker::drain);
        state.recall_all(&state.leases_of(worker));
        state.changes().send(worker, ToWorker::Drain);
    }
    if named.is_empty() { Err(UnknownWorker(name.clone())) } else { Ok(named.len()) }
}

pub(crate) fn block(state: &mut State, now: Duration, name: &Name) -> usize {
    state.advance(now);
    let named = state.workers().named(name);
    if state.block(name) {
        state.changes().block(Block { name: name.clone(), party: None }, Some(String::new()));
        for &worker in &named {
            state.forget_failures_of(worker);
            state.recall_all(&state.leases_of(worker));
            state.changes().send(worker, notices::blocked(name));
        }
        assign(state);
    }
    named.len()
}

/// Takes back an operator's block of a name, and the suspicion against each party that the name means.
pub(crate) fn unblock(state: &mut State, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
    state.advance(now);
    let mut workers: BTreeSet<WorkerId> = state.workers().named(name).into_iter().collect();
    let was_blocked = state.unblock(name);
    if was_blocked {
        state.changes().block(Block { name: name.clone(), party: None }, None);
    }
    let suspects = state.workers().suspects_of(name);
    for &party in &suspects {
        workers.extend(state.workers().of_party(party).into_iter().flatten());
        if let Some(Suspicion { name, .. }) = state.clear(party) {
            state.changes().block(Block { name, party: Some(party) }, None);
        }
    }
    if !suspects.is_empty() {
        recounts::clear(state);
    }
    if was_blocked || !suspects.is_empty() {
        for &worker in &workers {
            let of_worker = state.workers().get(worker).filter(|worker| !worker.is_blocked());
            if let Some(notice) = of_worker.map(|worker| notices::unblocked(worker.name())) {
                state.changes().send(worker, notice);
            }
        }
        assign(state);
    } else if workers.is_empty() {
        return Err(UnknownWorker(name.clone()));
    }
    Ok(workers.len())
}
