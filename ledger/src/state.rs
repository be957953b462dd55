//! The book: all jobs, workers and leases, and the steps that change more than one of them.
//!
//! Each part keeps its own invariants. The book keeps those between them:
//! - a worker holds the leases that are live under its name, and no others;
//! - each subproblem of a job with a plan is recorded, free, failed or held under a live lease; a recorded one may be held
//!   too, to be counted again or because a late report of a lost lease came first.

mod blocking;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{JobId, Lease, LeaseId, LeasedSpan, ReportInterval, ToWorker, WorkerId};
use queens_solver::{Method, Span};

use crate::changes::Changes;
use crate::effects::{Effects, Loss};
use crate::jobs::counting::Counting;
use crate::jobs::failed::Tried;
use crate::jobs::job::Job;
use crate::jobs::job_table::Jobs;
use crate::leases::lease_table::Leases;
use crate::leases::live_lease::{LiveLease, Purpose};
use crate::leases::tokens::Tokens;
use crate::reporting::Reporting;
use crate::spans::SpanSet;
use crate::store::Phase;
use crate::workers::worker::Worker;
use crate::workers::worker_table::Workers;

/// All jobs, workers and leases of one coordinator, and what has changed about them.
#[derive(Debug)]
pub(crate) struct State {
    now: Duration,
    /// The time of the calendar in milliseconds since 1970, as far as it was told.
    date_ms: Option<u64>,
    jobs: Jobs,
    workers: Workers,
    leases: Leases,
    changes: Changes,
}

/// Looking, time and changes.
impl State {
    /// A book in which nothing stands yet.
    pub(crate) fn new(tokens: Tokens) -> Self {
        Self {
            now: Duration::ZERO,
            date_ms: None,
            jobs: Jobs::default(),
            workers: Workers::default(),
            leases: Leases::new(tokens),
            changes: Changes::default(),
        }
    }

    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    /// The time of the calendar in milliseconds since 1970; 0 if it was not told.
    pub(crate) fn date_ms(&self) -> u64 {
        self.date_ms.unwrap_or(0)
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(crate) fn leases(&self) -> &Leases {
        &self.leases
    }

    /// How a job is counted, if there is such a job.
    pub(crate) fn method(&self, job: JobId) -> Option<Method> {
        Some(self.jobs.get(job)?.method())
    }

    /// Whether a worker is there that can count a job.
    pub(crate) fn can_count(&self, worker: WorkerId, job: JobId) -> bool {
        let method = self.method(job);
        self.workers.get(worker).zip(method).is_some_and(|(worker, method)| worker.can_count(method))
    }

    /// What is counted of a job, if it has a plan.
    pub(crate) fn counting(&self, job: JobId) -> Option<&Counting> {
        self.jobs.get(job)?.counting()
    }

    /// Moves the clock, never back.
    pub(crate) fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    pub(crate) fn tell_date(&mut self, date_ms: u64) {
        self.date_ms = Some(date_ms);
    }

    /// Where to say what else has changed.
    pub(crate) fn changes(&mut self) -> &mut Changes {
        &mut self.changes
    }

    /// What is to be done since the last call.
    pub(crate) fn take_effects(&mut self) -> Effects {
        self.changes.take(self.now, &mut self.jobs)
    }
}

/// Jobs.
impl State {
    /// Adds a job. One that is the second pass of another is known there from now on, unless it is given up.
    pub(crate) fn add_job(&mut self, job: Job) {
        let (id, first) = (job.id(), job.entry().terms.second_of);
        let counts = job.phase() != Phase::Cancelled;
        self.jobs.insert(job);
        if let Some(first) = first.filter(|_| counts) {
            self.jobs.change(first, |first| first.set_second(Some(id)));
        }
    }

    /// Changes a job, but not what others hold of it.
    pub(crate) fn change_job<T>(&mut self, id: JobId, change: impl FnOnce(&mut Job) -> T) -> Option<T> {
        self.jobs.change(id, change)
    }

    /// Somebody counts a job from now on, if it is not paused.
    pub(crate) fn start_counting(&mut self, id: JobId) {
        let (now, date_ms) = (self.now, self.date_ms);
        if self.jobs.change(id, |job| job.start_counting(now, date_ms)) == Some(true) {
            self.changes.change_entry(id);
        }
    }

    /// Nobody counts a job any more.
    pub(crate) fn stop_counting(&mut self, id: JobId) {
        let now = self.now;
        self.jobs.change(id, |job| job.stop_counting(now));
    }

    /// Ends a job and all its leases.
    pub(crate) fn end_job(&mut self, id: JobId, phase: Phase) {
        let date_ms = self.date_ms;
        self.jobs.change(id, |job| job.end(phase, date_ms));
        self.changes.change_entry(id);
        self.cancel_leases_of_job(id);
    }

    /// Ends all leases of a job.
    pub(crate) fn cancel_leases_of_job(&mut self, id: JobId) {
        for lease in self.leases_of_job(id) {
            let worker = self.leases.get(lease).map(LiveLease::worker);
            self.end_lease(lease);
            if let Some(worker) = worker {
                self.changes.send(worker, ToWorker::Cancel(lease));
            }
        }
    }

    /// A worker has left or is blocked: what it has failed on is as if it had not tried.
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
impl State {
    /// Adds a worker that holds nothing yet.
    pub(crate) fn add_worker(&mut self, id: WorkerId, worker: Worker) {
        self.workers.add(self.now, id, worker);
    }

    /// Takes out a worker that says hello again, and all that it held. What was to be sent to it, leases above all,
    /// must not arrive in its new session.
    pub(crate) fn take_out(&mut self, id: WorkerId) -> Option<Worker> {
        self.changes.forget_messages_to(id);
        self.end_leases_of(id);
        self.workers.remove(id)
    }

    /// A worker is gone: what it held is free, and its failures do not count any more.
    pub(crate) fn give_up(&mut self, id: WorkerId) {
        self.end_leases_of(id);
        if self.workers.remove(id).is_some() {
            self.forget_failures_of(id);
        }
    }

    fn end_leases_of(&mut self, id: WorkerId) {
        for lease in self.leases_of(id) {
            self.end_lease(lease);
        }
    }

    /// Notes that something was heard of a worker.
    pub(crate) fn hear(&mut self, id: WorkerId) -> Option<&Worker> {
        self.workers.hear(self.now, id)
    }

    /// Changes a worker, but not what it holds.
    pub(crate) fn change_worker<T>(
        &mut self,
        id: WorkerId,
        change: impl FnOnce(&mut Worker) -> T,
    ) -> Option<T> {
        self.workers.change(self.now, id, change)
    }

    /// A worker's connection is gone.
    pub(crate) fn disconnect(&mut self, id: WorkerId) {
        self.workers.disconnect(self.now, id);
    }

    /// Says what decides how often workers report.
    pub(crate) fn set_reporting(&mut self, reporting: Reporting) {
        self.workers.set_reporting(reporting);
    }

    /// A worker is told how often to report.
    pub(crate) fn tell_interval(&mut self, id: WorkerId, interval: ReportInterval) {
        self.workers.tell_interval(self.now, id, interval);
    }

    /// Workers to be looked at whether they should report more often.
    pub(crate) fn next_to_hurry(&mut self, method: Method, is_tail: bool, n: usize) -> Vec<WorkerId> {
        self.workers.next_to_hurry(method, is_tail, n)
    }

    /// The next worker that was silent for too long.
    pub(crate) fn next_silent(&mut self) -> Option<WorkerId> {
        self.workers.next_silent(self.now)
    }

    /// A worker is about to be given a lease. Then it is the turn of the worker after it.
    pub(crate) fn take_turn(&mut self, id: WorkerId) {
        self.workers.assign(id);
    }

    /// Looks again when a worker's waiting leases should end.
    pub(crate) fn refresh_queue_end(&mut self, id: WorkerId) {
        self.workers.refresh_queue_end(self.now, id);
    }

    /// Leaves a worker's waiting leases of a method alone until something changes about it.
    pub(crate) fn forget_queue_end(&mut self, id: WorkerId, method: Method) {
        self.workers.forget_queue_end(id, method);
    }

    /// Reports that a worker, connected or not, is about to lose its leases, and counts a lapse against its party.
    pub(crate) fn note_loss(&mut self, id: WorkerId, is_there: bool) {
        let Some(worker) = self.workers.get(id) else { return };
        let n_leases = worker.held_leases().shares().map(|(job, share)| (job, share.n_leases())).collect();
        let (name, holds) = (worker.name().clone(), worker.held_leases().n_leases() > 0);
        self.changes.lose(Loss { name, is_there, n_leases });
        holds.then(|| self.workers.note_lapse(self.now, id));
    }

    /// Those of the workers that are there and not blocked, with their parties: only their failures count.
    pub(crate) fn still_there(&self, tried: &BTreeSet<WorkerId>) -> Tried {
        let there = |id: &WorkerId| self.workers.get(*id).filter(|worker| !worker.is_blocked());
        tried.iter().filter_map(|id| Some((*id, there(id)?.party()))).collect()
    }
}

/// Leases.
impl State {
    /// All leases of a worker, in the order it counts them.
    pub(crate) fn leases_of(&self, worker: WorkerId) -> Vec<LeaseId> {
        self.workers.get(worker).map(|worker| worker.held_leases().leases()).unwrap_or_default()
    }

    /// All leases of a job.
    pub(crate) fn leases_of_job(&self, job: JobId) -> Vec<LeaseId> {
        let holders = self.workers.holding(job).into_iter().flat_map(|holding| holding.holders());
        let of_job = |id: &LeaseId| self.leases.get(*id).is_some_and(|lease| lease.job() == job);
        let held_leases = holders.filter_map(|holder| self.workers.get(*holder)).map(Worker::held_leases);
        held_leases
            .flat_map(|held_leases| {
                let waiting =
                    held_leases.share(job).into_iter().flat_map(|share| share.waiting().iter().copied());
                held_leases.running().filter(of_job).chain(waiting)
            })
            .collect()
    }

    /// Makes a lease of spans that nobody holds, and has its worker told.
    pub(crate) fn grant(
        &mut self,
        worker: WorkerId,
        id: JobId,
        spans: Vec<Span>,
        purpose: Purpose,
    ) -> Option<LeaseId> {
        let plan = self.counting(id)?.plan().clone();
        let identity = self.jobs.get(id)?.identity();
        let lease = self.leases.draw_token();
        let image = |span: Span| plan.parts()[span.cross() as usize].choice().image;
        let leased = spans.iter().map(|&span| LeasedSpan { span, image: image(span) }).collect();
        let message = Lease { id: lease, job: identity, n: plan.n(), method: plan.method(), spans: leased };
        self.changes.send(worker, ToWorker::Lease(message));
        let spans = spans.into_iter().collect();
        self.hold(LiveLease::new(lease, worker, id, self.now, &plan, spans).with_purpose(purpose));
        Some(lease)
    }

    /// Adds a lease whose spans are neither free nor held by anybody else.
    pub(crate) fn hold(&mut self, lease: LiveLease) {
        let (id, worker, job, load) = (lease.id(), lease.worker(), lease.job(), lease.load());
        self.start_counting(job);
        if self.workers.get(worker).is_none() {
            return;
        }
        self.leases.insert(lease);
        self.workers.add_lease(self.now, worker, id, job, load);
        self.leases.expect_end(id, self.workers.pace_of(worker, id, load.method));
    }

    /// Changes a lease. Its job and its worker stay the same.
    pub(crate) fn change_lease<T>(
        &mut self,
        id: LeaseId,
        change: impl FnOnce(&mut LiveLease) -> T,
    ) -> Option<T> {
        let (worker, job) = self.leases.get(id).map(|lease| (lease.worker(), lease.job()))?;
        let (changed, loads) = self.leases.change(id, |lease| {
            let before = lease.load();
            (change(lease), [before, lease.load()])
        })?;
        self.workers.replace_lease(self.now, worker, id, job, loads);
        self.leases.expect_end(id, self.workers.pace_of(worker, id, loads[1].method));
        Some(changed)
    }

    /// Has a worker give back what it has not begun of a lease. The worker counts to the end what it has in hand,
    /// reports that and ends the lease. Until then all of the lease stays its own, as any of it may be in hand.
    pub(crate) fn recall(&mut self, id: LeaseId) {
        let Some(lease) = self.leases.get(id).filter(|lease| !lease.is_recalled()) else { return };
        let shorten = ToWorker::Shorten { lease: id, spans: lease.spans().iter().collect() };
        self.changes.send(lease.worker(), shorten);
        self.change_lease(id, LiveLease::recall);
    }

    /// Recalls each of these leases.
    pub(crate) fn recall_all(&mut self, leases: &[LeaseId]) {
        leases.iter().for_each(|&lease| self.recall(lease));
    }

    /// Ends a lease. What is left of it becomes free, and is returned. Its worker may still report it.
    pub(crate) fn end_lease(&mut self, id: LeaseId) -> Option<Vec<Span>> {
        let lease = self.leases.get(id)?;
        let (worker, job, load) = (lease.worker(), lease.job(), lease.load());
        let ended = self.leases.end(self.now, id, Arc::clone(self.workers.get(worker)?.source()))?;
        if let Some(next) = self.workers.remove_lease(self.now, worker, id, job, load) {
            self.begin_lease(worker, next);
        }
        if self.workers.holding(job).is_none() {
            self.stop_counting(job);
        }
        let tried = self.still_there(&ended.tried);
        self.jobs.change(job, |job| {
            let Some((recounts, counting)) = job.recounting_mut() else { return };
            ended.again.into_iter().for_each(|record| recounts.put_back(record));
            for span in ended.spans.iter() {
                if tried.is_empty() { counting.release(span) } else { counting.fail(span, &tried) }
            }
        });
        Some(ended.spans.iter().collect())
    }

    /// A thread of the worker has nothing to count: it begins this lease, which waits.
    fn begin_lease(&mut self, worker: WorkerId, id: LeaseId) {
        let now = self.now;
        let begun = self.leases.change(id, |lease| {
            let before = lease.load();
            lease.begin(now);
            (lease.job(), [before, lease.load()])
        });
        let Some((job, loads)) = begun else { return };
        self.workers.begin_lease(now, worker, id, job, loads);
        self.leases.expect_end(id, self.workers.pace_of(worker, id, loads[1].method));
    }

    /// Takes all leases from a worker that is there, for others to count.
    pub(crate) fn take_back_all(&mut self, worker: WorkerId) {
        for id in self.leases_of(worker) {
            if let Some(spans) = self.end_lease(id) {
                self.changes.send(worker, ToWorker::Shorten { lease: id, spans });
            }
        }
    }

    /// Looks again at a lease whose worker's speed may have changed. Returns when it is overdue, if it runs.
    pub(crate) fn refresh_deadline(&mut self, id: LeaseId) -> Option<Duration> {
        let lease = self.leases.get(id)?;
        let pace = self.workers.pace_of(lease.worker(), id, lease.load().method);
        self.leases.expect_end(id, pace);
        self.leases.deadline(id)
    }

    /// Says of a lease that looked overdue when that is to be looked at again.
    pub(crate) fn postpone_deadline(&mut self, id: LeaseId, until: Duration) {
        self.leases.postpone_deadline(id, until);
    }
}

/// Leases that have ended.
impl State {
    /// What this worker may report of a token that nobody holds.
    pub(crate) fn remember(&mut self, id: LeaseId, worker: WorkerId, job: JobId, spans: SpanSet) {
        let Some(source) = self.workers.get(worker).map(|worker| Arc::clone(worker.source())) else { return };
        self.leases.remember(self.now, id, (worker, source), job, spans);
    }

    /// Takes out what this worker may still report of a lease of this job that has ended: also what it was granted by an
    /// older number, if that is nobody's of its party and name any more.
    pub(crate) fn take_former(&mut self, id: LeaseId, worker: WorkerId, job: JobId) -> Option<SpanSet> {
        let (holder, source) = self.leases.former_holder(id)?;
        let is_owner = |id| self.workers.get(id).is_some_and(|worker| worker.source().is_same_worker(source));
        let is_its = is_owner(worker) && (holder == worker || !is_owner(holder));
        if is_its { self.leases.take_former(id, job) } else { None }
    }

    /// Takes out a reported span of a lease that has ended; `false`, and nothing is taken, if this worker may not report it.
    pub(crate) fn report_former(&mut self, id: LeaseId, worker: WorkerId, job: JobId, span: Span) -> bool {
        let source = self.workers.get(worker).map(Worker::source);
        source.is_some_and(|source| self.leases.report_former(id, (worker, source), job, span))
    }

    /// A worker says that it is done with a lease: all that was counted of it is reported.
    pub(crate) fn finish_former(&mut self, id: LeaseId, worker: WorkerId) {
        if let Some(source) = self.workers.get(worker).map(Worker::source) {
            self.leases.finish_former(id, (worker, source));
        }
    }

    /// Forgets what ended long ago.
    pub(crate) fn forget_old(&mut self) {
        self.leases.forget_old(self.now);
    }
}
