//! Work for workers that may hold more.
//!
//! Each worker holds one more lease for each thread than it counts, so that no thread waits for an answer.

use std::collections::BTreeSet;

use queens_messages::{JobId, WorkerId};
use queens_solver::{Method, Span};

use crate::book::Book;
use crate::schedule::recall::recall_less_urgent;
use crate::schedule::size::work_for;

/// Spans in a lease, which keeps its message far below what gRPC accepts.
const MOST_SPANS: usize = 4096;

/// Leases granted at a time: what is left comes with the next tick, so that nothing that happens takes long.
const MOST_GRANTS: usize = 4096;

/// Hands out leases, one to each worker in turn, as long as there is work and a worker that may hold more.
pub(crate) fn feed(book: &mut Book) {
    for _ in 0..MOST_GRANTS {
        let Some((worker, job)) = next_to_feed(book) else { return };
        book.take_turn(worker);
        feed_worker(book, worker, job);
    }
}

/// The next worker that may hold more, after the one that was fed last, and the job it gets some of.
///
/// It gets the first job in order that it can count: one that nobody here can count keeps nobody waiting.
fn next_to_feed(book: &Book) -> Option<(WorkerId, JobId)> {
    let first_free = |method: &Method| book.jobs().first_free(*method);
    let methods: Vec<Method> =
        Method::ALL.into_iter().filter(|method| first_free(method).is_some()).collect();
    let failed = || {
        let jobs = book.jobs().to_retry();
        jobs.filter_map(|(rank, job)| Some((rank, job.method(), job.counting()?.failed())))
    };
    if let Some(worker) = book.workers().next_hungry(&methods) {
        let can_count = |method: Method| book.workers().get(worker).is_some_and(|it| it.can_count(method));
        let free = methods.iter().filter(|method| can_count(**method)).filter_map(first_free).min()?;
        let mut failed = failed().take_while(|(rank, ..)| *rank <= free);
        let to_try = failed.find(|(_, method, failed)| can_count(*method) && failed.to_try(worker).is_some());
        return Some((worker, to_try.map_or(free.2, |(rank, ..)| rank.2)));
    }
    // A span that may be tried has failed on two workers at most: of three workers one may try it.
    let mut pairs = failed().flat_map(|(rank, method, failed)| {
        let hungry = book.workers().readiness(method).hungry();
        hungry.iter().take(3).filter(|&&worker| failed.to_try(worker).is_some()).map(move |&w| (w, rank.2))
    });
    pairs.next()
}

/// Gives one lease to a hungry worker.
fn feed_worker(book: &mut Book, worker: WorkerId, job: JobId) {
    let Some(method) = book.method(job) else { return };
    let Some(speed) = book.workers().get(worker).and_then(|worker| worker.estimated(method)) else { return };
    let power = book.workers().readiness(method).power();
    let taken = book.change_job(job, |job| {
        let counting = job.counting_mut()?;
        if let Some((failed, tried)) = counting.take_failed(worker) {
            return Some((vec![failed], tried));
        }
        let work = work_for(speed, power, counting.work_left());
        Some((counting.take_work(work, MOST_SPANS), BTreeSet::new()))
    });
    if let Some((spans, tried)) = taken.flatten() {
        grant(book, worker, job, spans, tried);
    }
}

/// Makes a lease of spans that nobody holds, on which the workers of `tried` have failed. If the lease has to wait,
/// what is less urgent is recalled.
pub(crate) fn grant(
    book: &mut Book,
    worker: WorkerId,
    job: JobId,
    spans: Vec<Span>,
    tried: BTreeSet<WorkerId>,
) {
    let Some(priority) = book.jobs().get(job).map(|job| job.priority()) else { return };
    let Some(lease) = book.grant(worker, job, spans, tried) else { return };
    let waits = book.workers().get(worker).is_some_and(|worker| !worker.hand().is_running(lease));
    if waits {
        recall_less_urgent(book, worker, priority);
    }
}
