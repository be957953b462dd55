//! The state of a coordinator: all jobs, workers and leases, and the steps that change more than one of them.
//!
//! Each table keeps its own invariants. This module keeps those between them:
//! - A worker holds exactly the live leases with its number.
//! - Each subproblem of a job with a plan is recorded, free, failed or held under a live lease. A recorded one may be
//!   held too, for a recount or because a late report on a lost lease came first.

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
use crate::report_interval_rule::Reporting;
use crate::run::Tokens;
use crate::spans::SpanSet;
use crate::store::Phase;
use crate::workers::worker::Worker;
use crate::workers::worker_table::Workers;

/// All jobs, workers and leases of one coordinator, and their changes.
#[derive(Debug)]
pub(crate) struct State {
    now: Duration,
    /// The wall-clock time in milliseconds since 1970, once set.
    date_ms: Option<u64>,
    jobs: Jobs,
    workers: Workers,
    leases: Leases,
    changes: Changes,
}

/// Queries, time and changes.
impl State {
    /// Creates an empty state.
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

    /// Returns the wall-clock time in milliseconds since 1970; 0 if it was never set.
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

    /// Returns the counting method of a job, if there is such a job.
    pub(crate) fn method(&self, job: JobId) -> Option<Method> {
        Some(self.jobs.get(job)?.method())
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

    /// Advances the time, never back.
    pub(crate) fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    pub(crate) fn tell_date(&mut self, date_ms: u64) {
        self.date_ms = Some(date_ms);
    }

    /// Returns the collector of further changes.
    pub(crate) fn changes(&mut self) -> &mut Changes {
        &mut self.changes
    }

    /// Takes the effects since the last call.
    pub(crate) fn take_effects(&mut self) -> Effects {
        self.changes.take(self.now, &mut self.jobs)
    }
}

/// Jobs.
impl State {
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
            self.changes.change_entry(id);
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
impl State {
    /// Adds a worker that holds nothing yet.
    pub(crate) fn add_worker(&mut self, id: WorkerId, worker: Worker) {
        self.workers.add(self.now, id, worker);
    }

    /// Removes a worker that says hello again, with all its leases. Its queued messages, above all leases, must not
    /// arrive in its new session.
    pub(crate) fn take_out(&mut self, id: WorkerId) -> Option<Worker> {
        self.changes.forget_messages_to(id);
        self.end_leases_of(id);
        self.workers.remove(id)
    }

    /// Removes a worker: its leases become free, and its failures no longer count.
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

    /// Notes that a worker's connection is lost.
    pub(crate) fn disconnect(&mut self, id: WorkerId) {
        self.workers.disconnect(self.now, id);
    }

    /// Sets the rule for how often workers report.
    pub(crate) fn set_reporting(&mut self, reporting: Reporting) {
        self.workers.set_reporting(reporting);
    }

    /// Sets a worker's report interval.
    pub(crate) fn tell_interval(&mut self, id: WorkerId, interval: ReportInterval) {
        self.workers.tell_interval(self.now, id, interval);
    }

    /// Returns workers to check for a shorter report interval.
    pub(crate) fn next_to_hurry(&mut self, method: Method, is_tail: bool, n: usize) -> Vec<WorkerId> {
        self.workers.next_to_hurry(method, is_tail, n)
    }

    /// Returns the next worker that has been silent for too long.
    pub(crate) fn next_silent(&mut self) -> Option<WorkerId> {
        self.workers.next_silent(self.now)
    }

    /// Notes that a worker gets a lease, so that the worker after it is next.
    pub(crate) fn take_turn(&mut self, id: WorkerId) {
        self.workers.assign(id);
    }

    /// Updates the expected end of a worker's waiting leases.
    pub(crate) fn refresh_queue_end(&mut self, id: WorkerId) {
        self.workers.refresh_queue_end(self.now, id);
    }

    /// Ignores a worker's waiting leases of a method until something about them changes.
    pub(crate) fn forget_queue_end(&mut self, id: WorkerId, method: Method) {
        self.workers.forget_queue_end(id, method);
    }

    /// Reports that a worker, connected or not, is about to lose its leases, and counts a lapse against its party.
    pub(crate) fn note_loss(&mut self, id: WorkerId, is_there: bool) {
        let Some(worker) = self.workers.get(id) else { return };
        let n_leases = worker.held_leases().shares().map(|(job, share)| (job, share.n_leases())).collect();
        let (source, holds) = (worker.source().clone(), worker.held_leases().n_leases() > 0);
        self.changes.lose(Loss { source, is_there, n_leases });
        holds.then(|| self.workers.note_lapse(self.now, id));
    }

    /// Returns those of the workers that are there and not blocked, with their parties: only their failures count.
    pub(crate) fn still_there(&self, tried: &BTreeSet<WorkerId>) -> Tried {
        let there = |id: &WorkerId| self.workers.get(*id).filter(|worker| !worker.is_blocked());
        tried.iter().filter_map(|id| Some((*id, there(id)?.party()))).collect()
    }
}

/// Leases.
impl State {
    /// Returns all leases of a worker, in the order of counting.
    pub(crate) fn leases_of(&self, worker: WorkerId) -> Vec<LeaseId> {
        self.workers.get(worker).map(|worker| worker.held_leases().leases()).unwrap_or_default()
    }

    /// Returns all leases of a job.
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

    /// Grants a lease of spans that nobody holds, and sends it to the worker.
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
        let image = |span: Span| plan.parts()[span.part() as usize].choice().image;
        let leased = spans.iter().map(|&span| LeasedSpan { span, image: image(span) }).collect();
        let message = Lease { id: lease, job: identity, n: plan.n(), method: plan.method(), spans: leased };
        self.changes.send(worker, ToWorker::Lease(message));
        let spans = spans.into_iter().collect();
        self.hold(LiveLease::new(lease, worker, id, self.now, &plan, spans).with_purpose(purpose));
        Some(lease)
    }

    /// Adds a lease whose spans are neither free nor held by another worker.
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

    /// Makes a worker return the spans of a lease that it has not begun. It counts its chunks in hand, reports them and
    /// ends the lease. Until then the whole lease stays its own, because any of it may be in hand.
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

    /// Ends a lease. Frees and returns its unreported spans, which its worker may still report.
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

    /// Begins a waiting lease, because a thread of the worker is idle.
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

    /// Takes these leases from a connected worker, for others to count.
    pub(crate) fn take_back(&mut self, worker: WorkerId, leases: Vec<LeaseId>) {
        for id in leases {
            if let Some(spans) = self.end_lease(id) {
                self.changes.send(worker, ToWorker::Shorten { lease: id, spans });
            }
        }
    }

    /// Updates the deadline of a lease whose worker's speed may have changed, and returns it if the lease runs.
    pub(crate) fn refresh_deadline(&mut self, id: LeaseId) -> Option<Duration> {
        let lease = self.leases.get(id)?;
        let pace = self.workers.pace_of(lease.worker(), id, lease.load().method);
        self.leases.expect_end(id, pace);
        self.leases.deadline(id)
    }

    /// Sets the time at which to look again at a lease that looked overdue.
    pub(crate) fn postpone_deadline(&mut self, id: LeaseId, until: Duration) {
        self.leases.postpone_deadline(id, until);
    }
}

/// Ended leases.
impl State {
    /// Remembers spans that this worker may report under a token that nobody holds.
    pub(crate) fn remember(&mut self, id: LeaseId, worker: WorkerId, job: JobId, spans: SpanSet) {
        let Some(source) = self.workers.get(worker).map(|worker| Arc::clone(worker.source())) else { return };
        self.leases.remember(self.now, id, (worker, source), job, spans);
    }

    /// Removes an ended lease of this job, and returns the spans that this worker may still report. It may also report
    /// a lease granted to its older number, if no worker of its party and name has that number now.
    pub(crate) fn take_former(&mut self, id: LeaseId, worker: WorkerId, job: JobId) -> Option<SpanSet> {
        let (holder, source) = self.leases.former_holder(id)?;
        let is_owner = |id| self.workers.get(id).is_some_and(|worker| worker.source().is_same_worker(source));
        let is_its = is_owner(worker) && (holder == worker || !is_owner(holder));
        if is_its { self.leases.take_former(id, job) } else { None }
    }

    /// Removes a reported span of an ended lease. Returns `false`, without a change, if this worker may not report it.
    pub(crate) fn report_former(&mut self, id: LeaseId, worker: WorkerId, job: JobId, span: Span) -> bool {
        let source = self.workers.get(worker).map(Worker::source);
        source.is_some_and(|source| self.leases.report_former(id, (worker, source), job, span))
    }

    /// Forgets an ended lease whose worker has reported all that it counted.
    pub(crate) fn finish_former(&mut self, id: LeaseId, worker: WorkerId) {
        if let Some(source) = self.workers.get(worker).map(Worker::source) {
            self.leases.finish_former(id, (worker, source));
        }
    }

    /// Forgets leases that ended long ago.
    pub(crate) fn forget_old(&mut self) {
        self.leases.forget_old(self.now);
    }
}
