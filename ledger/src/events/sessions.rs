//! Workers come and go, and keep what they hold if they come back in time.

use std::time::Duration;

use queens_messages::{Held, Hello, JobId, MOST_THREADS, Party, ToWorker, WorkerId};
use queens_solver::{DECOMPOSITION_VERSION, Span};

use crate::book::Book;
use crate::events::notices;
use crate::events::refusal::{KEPT_FOR_OTHERS, MOST_THREADS_IN_ALL, WorkerRefusal};
use crate::jobs::job::Job;
use crate::leases::live::LiveLease;
use crate::schedule::feed::feed;
use crate::schedule::recall::recall_what_is_in_the_way;
use crate::schedule::reporting::tell_interval;
use crate::spans::SpanSet;
use crate::workers::worker::Worker;

pub(crate) fn connect(
    book: &mut Book,
    now: Duration,
    hello: Hello,
    party: Party,
) -> Result<(), WorkerRefusal> {
    check(book, &hello, party)?;
    book.advance(now);
    let id = hello.worker;
    // What it held and does not name any more becomes free. What it names and may not keep, it is told to give up.
    let known = book.take_out(id);
    let worker = Worker::new(&hello, party, known.as_ref(), book.now());
    let is_draining = worker.is_draining();
    book.add_worker(id, worker);
    for held in hello.held {
        adopt(book, id, held);
    }
    recall_what_is_in_the_way(book, id);
    let of_block = book.workers().get(id).and_then(|worker| notices::of_block(book.workers(), worker));
    if let Some(notice) = of_block {
        book.changes().send(id, notice);
    }
    if is_draining {
        book.changes().send(id, ToWorker::Drain);
    }
    tell_interval(book, id);
    feed(book);
    Ok(())
}

fn check(book: &Book, hello: &Hello, party: Party) -> Result<(), WorkerRefusal> {
    if hello.decomposition != DECOMPOSITION_VERSION {
        return Err(WorkerRefusal::Decomposition { found: hello.decomposition });
    }
    let found = hello.n_threads;
    if found == 0 {
        return Err(WorkerRefusal::NoThreads);
    }
    if found > MOST_THREADS {
        return Err(WorkerRefusal::TooManyThreads { found });
    }
    let known = book.workers().get(hello.worker);
    if known.is_some_and(|known| *known.name() != hello.name || known.party() != party) {
        return Err(WorkerRefusal::Another(hello.worker));
    }
    let before = known.map_or(0, |known| u64::from(known.n_threads()));
    let [all, own] = [book.workers().n_threads(), book.workers().n_threads_of(party)]
        .map(|n_threads| n_threads - before + u64::from(found));
    let kept_free = if own > KEPT_FOR_OTHERS { KEPT_FOR_OTHERS } else { 0 };
    // One that comes back has its place.
    if u64::from(found) > before && all + kept_free > MOST_THREADS_IN_ALL {
        return Err(WorkerRefusal::Full { found });
    }
    Ok(())
}

/// Lets a worker go on with a lease that it holds, as far as nobody else has taken it over. What else it may report of
/// the lease is remembered.
fn adopt(book: &mut Book, worker: WorkerId, held: Held) {
    let Held { lease: id, job, .. } = held;
    let job = book.jobs().identified(job).filter(|job| job.is_active()).map(Job::id);
    let Some(job) = job.filter(|&job| book.can_count(worker, job)) else {
        return book.changes().send(worker, ToWorker::Cancel(id));
    };
    let granted = granted(book, worker, job, &held);
    let free = book.change_job(job, |job| {
        let counting = job.counting_mut()?;
        let mut free = SpanSet::default();
        for span in granted.iter() {
            counting.take_free(span).into_iter().for_each(|part| free.insert(part));
        }
        Some((free, counting.plan().clone(), job.is_paused()))
    });
    let Some((kept, plan, is_paused)) = free.flatten() else {
        return book.changes().send(worker, ToWorker::Cancel(id));
    };
    let cut = granted.without(&kept);
    if kept.is_empty() {
        book.remember(id, worker, job, cut);
        return book.changes().send(worker, ToWorker::Cancel(id));
    }
    let lost = held.spans.into_iter().collect::<SpanSet>().without(&kept);
    if !lost.is_empty() {
        let shorten = ToWorker::Shorten { lease: id, spans: lost.iter().collect() };
        book.changes().send(worker, shorten);
    }
    let now = book.now();
    book.hold(LiveLease::new(id, worker, job, now, &plan, kept).without(cut));
    if is_paused || book.workers().get(worker).is_none_or(Worker::is_held_back) {
        book.recall(id);
    }
}

/// What of a lease of this job the worker may keep, of all that it says it holds. We remember what this run granted. Leases
/// of earlier runs are not stored: a worker is believed of those, unless somebody else has named the token since. The job
/// is the one that it counts, so that its counts are of the right spans, wherever the lease is from.
fn granted(book: &mut Book, worker: WorkerId, job: JobId, held: &Held) -> SpanSet {
    let Held { lease, spans, .. } = held;
    if book.leases().get(*lease).is_some() {
        return SpanSet::default();
    }
    if let Some(granted) = book.take_former(*lease, worker, job) {
        // What it does not name it will not report.
        return granted.intersection(&spans.iter().copied().collect());
    }
    let is_restored = book.jobs().get(job).is_some_and(Job::is_restored);
    if !is_restored
        || !book.leases().tokens().may_be_of_another_run(*lease)
        || book.leases().has_former(*lease)
    {
        return SpanSet::default();
    }
    let counting = book.counting(job);
    let is_there = |span: &Span| counting.is_some_and(|counting| counting.has(*span));
    spans.iter().copied().filter(is_there).collect()
}

/// A worker's connection is gone. It keeps its leases for a while, in case it comes back.
pub(crate) fn disconnect(book: &mut Book, now: Duration, worker: WorkerId) {
    book.advance(now);
    book.disconnect(worker);
}

/// A worker has left for good.
pub(crate) fn goodbye(book: &mut Book, now: Duration, worker: WorkerId) {
    book.advance(now);
    book.give_up(worker);
    feed(book);
}

/// Gives up workers that were silent for too long.
pub(crate) fn give_up_silent(book: &mut Book) -> Vec<WorkerId> {
    let mut silent = Vec::new();
    while let Some(worker) = book.next_silent() {
        book.note_loss(worker, false);
        book.give_up(worker);
        silent.push(worker);
    }
    silent
}
