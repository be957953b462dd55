//! Handles workers that connect and leave. A worker that comes back in time keeps its leases.

use std::time::Duration;

use queens_model::{CardSensors, Held, Hello, JobId, MOST_THREADS, Party, ToWorker, WorkerId};
use queens_solver::{DECOMPOSITION_VERSION, Span};

use crate::by_method::ByMethod;
use crate::handlers::notices;
use crate::handlers::worker_refusal::{KEPT_FOR_OTHERS, MOST_THREADS_IN_ALL, WorkerRefusal};
use crate::jobs::job::Job;
use crate::leases::ended_leases::REMEMBERED;
use crate::leases::live_lease::{Allowance, LiveLease, Unreported};
use crate::ledger::Ledger;
use crate::schedule::assign::assign;
use crate::schedule::interval_notices::tell_interval;
use crate::schedule::recall::recall_what_is_in_the_way;
use crate::spans::SpanSet;
use crate::workers::worker::Worker;

impl Ledger {
    /// Opens a session for a worker of a party. It keeps those of its leases that nobody else has taken over.
    ///
    /// # Errors
    /// If the worker can't be used here.
    pub fn connect(&mut self, now: Duration, hello: Hello, party: Party) -> Result<(), WorkerRefusal> {
        check(self, &hello, party)?;
        self.advance(now);
        let id = hello.worker;
        // Spans that it held and no longer names become free. Leases that it names and may not keep are cancelled.
        let known = self.take_out(id);
        let usual = ByMethod::new(|method| self.workers.readiness(method).usual_speed);
        let worker = Worker::new(&hello, party, known.as_ref(), &usual, self.now);
        let is_draining = worker.draining;
        self.add_worker(id, worker);
        for held in hello.held {
            adopt(self, id, held);
        }
        recall_what_is_in_the_way(self, id);
        let of_block = self.workers.get(id).and_then(|worker| notices::of_block(&self.workers, worker));
        if let Some(notice) = of_block {
            self.effects.send(id, notice);
        }
        if is_draining {
            self.effects.send(id, ToWorker::Drain);
        }
        tell_interval(self, id);
        assign(self);
        Ok(())
    }
}

fn check(ledger: &Ledger, hello: &Hello, party: Party) -> Result<(), WorkerRefusal> {
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
    let known = ledger.workers.get(hello.worker);
    if known.is_some_and(|known| *known.name() != hello.name || known.party() != party) {
        return Err(WorkerRefusal::Another(hello.worker));
    }
    let before = known.map_or(0, |known| u64::from(known.n_threads()));
    let [all, own] = [ledger.workers.n_threads(), ledger.workers.n_threads_of(party)]
        .map(|n_threads| n_threads - before + u64::from(found));
    let kept_free = if own > KEPT_FOR_OTHERS { KEPT_FOR_OTHERS } else { 0 };
    // A worker that comes back has its place.
    if u64::from(found) > before && all + kept_free > MOST_THREADS_IN_ALL {
        return Err(WorkerRefusal::Full { found });
    }
    Ok(())
}

/// Lets a worker continue a lease that it holds, except for spans that another worker has taken over, or that are another
/// party's turn. The ledger remembers which other spans of the lease it may report.
fn adopt(ledger: &mut Ledger, worker: WorkerId, held: Held) {
    let Held { lease: id, job, .. } = held;
    let job = ledger.jobs.identified(job).filter(|job| job.is_active()).map(Job::id);
    let Some(job) = job.filter(|&job| ledger.can_count(worker, job)) else {
        return ledger.effects.send(worker, ToWorker::Cancel(id));
    };
    let Unreported { spans: granted, allowance, due, .. } = granted(ledger, worker, job, &held);
    let Some(party) = ledger.workers.get(worker).map(Worker::party) else { return };
    let free = ledger.change_job(job, |job| {
        let counting = job.counting_mut()?;
        let mut free = SpanSet::default();
        for span in granted.iter() {
            if counting.is_turn_of(party, span.part()) {
                counting.take_free(span).into_iter().for_each(|part| free.insert(part));
            }
        }
        Some((free, counting.plan().clone(), job.is_paused()))
    });
    let Some((kept, plan, is_paused)) = free.flatten() else {
        return ledger.effects.send(worker, ToWorker::Cancel(id));
    };
    let cut = granted.without(&kept);
    if kept.is_empty() {
        ledger.remember(id, worker, job, Unreported { due, ..Unreported::first(cut, allowance) });
        return ledger.effects.send(worker, ToWorker::Cancel(id));
    }
    let lost = held.spans.into_iter().collect::<SpanSet>().without(&kept);
    if !lost.is_empty() {
        let shorten = ToWorker::Shorten { lease: id, spans: lost.iter().collect() };
        ledger.effects.send(worker, shorten);
    }
    let now = ledger.now;
    let lease = LiveLease::new(id, worker, job, now, &plan, kept);
    ledger.hold(lease.without(cut).granted_earlier(allowance, due));
    if is_paused || ledger.workers.get(worker).is_none_or(Worker::is_held_back) {
        ledger.recall(id);
    }
}

/// Returns the part of the claimed spans of a lease that a worker may keep. Leases of this run are known exactly.
/// Leases of earlier runs are not stored: the claim is accepted unless another worker has named the token since, or
/// parties are drawn for the job's parts, as a friend could claim the parts that were lied about. The job's identity
/// guarantees that the counts are of the right spans, whatever run granted the lease.
fn granted(ledger: &mut Ledger, worker: WorkerId, job: JobId, held: &Held) -> Unreported {
    let Held { lease, spans, .. } = held;
    // When an earlier run granted it is unknown, but it can't be long ago.
    let since = ledger.now.saturating_sub(REMEMBERED);
    let of = |spans| Unreported::first(spans, Allowance::since(since));
    if ledger.leases.get(*lease).is_some() {
        return of(SpanSet::default());
    }
    if let Some(granted) = ledger.take_former(*lease, worker, job) {
        // The worker won't report a span that it does not name.
        let named = granted.spans.intersection(&spans.iter().copied().collect());
        return Unreported { spans: named, again: None, ..granted };
    }
    let is_restored = ledger.jobs.get(job).is_some_and(Job::is_restored);
    if !is_restored
        || ledger.counting(job).is_some_and(|counting| counting.draws().is_some())
        || !ledger.leases.tokens.may_be_of_another_run(*lease)
        || ledger.leases.former.has(*lease)
    {
        return of(SpanSet::default());
    }
    let counting = ledger.counting(job);
    let is_there = |span: &Span| counting.is_some_and(|counting| counting.has(*span));
    of(spans.iter().copied().filter(is_there).collect())
}

impl Ledger {
    /// Notes that a worker's connection is lost. It keeps its leases for a while, in case it comes back.
    pub fn disconnect(&mut self, now: Duration, worker: WorkerId) {
        self.advance(now);
        self.workers.disconnect(self.now, worker);
    }

    /// Notes the measurements of a worker's graphics card, until its connection is lost. Nothing else changes.
    pub fn note_sensors(&mut self, worker: WorkerId, sensors: CardSensors) {
        self.change_worker(worker, |worker| worker.set_sensors(sensors));
    }

    /// Removes a worker that has left for good.
    pub fn goodbye(&mut self, now: Duration, worker: WorkerId) {
        self.advance(now);
        self.give_up(worker);
        assign(self);
    }
}

/// Gives up workers that have been silent for too long.
pub(crate) fn give_up_silent(ledger: &mut Ledger) -> Vec<WorkerId> {
    let mut silent = Vec::new();
    while let Some(worker) = ledger.workers.next_silent(ledger.now) {
        ledger.note_loss(worker, false);
        ledger.give_up(worker);
        silent.push(worker);
    }
    silent
}
