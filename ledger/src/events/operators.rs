//! What operators decide about jobs and workers.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_messages::{Arbiter, JobId, Name, Priority, Share, ToWorker, WorkerId};
use queens_solver::Method;
use thiserror::Error;

use crate::book::Book;
use crate::events::jobs::{close, finish_if_complete};
use crate::events::submissions::{NoSecondPass, TooManyJobs};
use crate::events::{notices, recounts};
use crate::jobs::job::Job;
use crate::schedule::feed::feed;
use crate::schedule::recall::{preempt, recall_what_is_in_the_way};
use crate::store::{Block, Phase};
use crate::workers::register::Suspicion;
use crate::workers::worker::Worker;

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

pub(crate) fn pause(book: &mut Book, now: Duration, id: JobId) -> Result<(), JobRefusal> {
    book.advance(now);
    for pass in change_open_job(book, id, Job::pause)? {
        book.stop_counting(pass);
        book.recall_all(&book.leases_of_job(pass));
    }
    Ok(())
}

pub(crate) fn resume(book: &mut Book, now: Duration, id: JobId) -> Result<(), JobRefusal> {
    book.advance(now);
    for pass in change_open_job(book, id, Job::resume)? {
        if book.workers().holding(pass).is_some() {
            book.start_counting(pass);
        }
    }
    let workers: Vec<WorkerId> = book.workers().iter().map(|(worker, _)| worker).collect();
    for worker in workers {
        book.change_worker(worker, Worker::forgive);
    }
    feed(book);
    preempt(book);
    Ok(())
}

pub(crate) fn set_priority(
    book: &mut Book,
    now: Duration,
    id: JobId,
    priority: Priority,
) -> Result<(), JobRefusal> {
    book.advance(now);
    for pass in change_open_job(book, id, |job| job.set_priority(priority))? {
        let holders = book.workers().holding(pass).map(|holding| holding.holders().clone());
        holders.into_iter().flatten().for_each(|worker| recall_what_is_in_the_way(book, worker));
    }
    feed(book);
    preempt(book);
    Ok(())
}

pub(crate) fn cancel(book: &mut Book, now: Duration, id: JobId) -> Result<(), JobRefusal> {
    book.advance(now);
    let job = book.jobs().get(id).ok_or(JobRefusal::Unknown(id))?;
    if matches!(job.phase(), Phase::Done | Phase::Damaged) {
        return Err(JobRefusal::over(job));
    }
    let first = job.first_pass();
    if job.is_open() {
        // Without the first pass nobody needs the second; without the second the first is what it is.
        let passes = if first == id { book.jobs().passes(id) } else { vec![id] };
        for pass in passes {
            close(book, pass, Phase::Cancelled);
        }
        if first != id {
            book.change_job(first, |job| job.set_second(None));
            finish_if_complete(book, first);
        }
    }
    Ok(())
}

/// Changes a job, and the other pass with it, if there are two. Returns those that are changed.
fn change_open_job(book: &mut Book, id: JobId, change: impl Fn(&mut Job)) -> Result<Vec<JobId>, JobRefusal> {
    let job = book.jobs().get(id).ok_or(JobRefusal::Unknown(id))?;
    if !job.is_open() {
        return Err(JobRefusal::over(job));
    }
    let mut passes = book.jobs().passes(id);
    passes.retain(|pass| book.jobs().get(*pass).is_some_and(Job::is_open));
    for &pass in &passes {
        book.change_job(pass, &change);
        book.changes().change_entry(pass);
    }
    Ok(passes)
}

pub(crate) fn drain(book: &mut Book, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
    book.advance(now);
    let named = book.workers().named(name);
    for &worker in &named {
        book.change_worker(worker, Worker::drain);
        book.recall_all(&book.leases_of(worker));
        book.changes().send(worker, ToWorker::Drain);
    }
    if named.is_empty() { Err(UnknownWorker(name.clone())) } else { Ok(named.len()) }
}

pub(crate) fn block(book: &mut Book, now: Duration, name: &Name) -> usize {
    book.advance(now);
    let named = book.workers().named(name);
    if book.block(name) {
        book.changes().block(Block { name: name.clone(), party: None }, Some(String::new()));
        for &worker in &named {
            book.forget_failures_of(worker);
            book.recall_all(&book.leases_of(worker));
            book.changes().send(worker, notices::blocked(name));
        }
        feed(book);
    }
    named.len()
}

/// Takes back an operator's block of a name, and the suspicion against each party that the name means.
pub(crate) fn unblock(book: &mut Book, now: Duration, name: &Name) -> Result<usize, UnknownWorker> {
    book.advance(now);
    let mut workers: BTreeSet<WorkerId> = book.workers().named(name).into_iter().collect();
    let was_blocked = book.unblock(name);
    if was_blocked {
        book.changes().block(Block { name: name.clone(), party: None }, None);
    }
    let suspects = book.workers().suspects_of(name);
    for &party in &suspects {
        workers.extend(book.workers().of_party(party).into_iter().flatten());
        if let Some(Suspicion { name, .. }) = book.clear(party) {
            book.changes().block(Block { name, party: Some(party) }, None);
        }
    }
    if !suspects.is_empty() {
        recounts::clear(book);
    }
    if was_blocked || !suspects.is_empty() {
        for &worker in &workers {
            let of_worker = book.workers().get(worker).filter(|worker| !worker.is_blocked());
            if let Some(notice) = of_worker.map(|worker| notices::unblocked(worker.name())) {
                book.changes().send(worker, notice);
            }
        }
        feed(book);
    } else if workers.is_empty() {
        return Err(UnknownWorker(name.clone()));
    }
    Ok(workers.len())
}
