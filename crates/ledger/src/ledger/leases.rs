//! Grants, changes and ends leases, live ones and those that have ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{Delta, JobId, Lease, LeaseId, LeasedSpan, ToWorker, WorkerId};
use queens_solver::Span;

use crate::leases::live_lease::{LiveLease, Purpose, Reported, Unreported};
use crate::ledger::Ledger;
use crate::workers::worker::Worker;

/// Leases.
impl Ledger {
    /// Returns all leases of a worker, in the order of counting.
    pub(crate) fn leases_of(&self, worker: WorkerId) -> Vec<LeaseId> {
        self.workers.get(worker).map(|worker| worker.held.leases()).unwrap_or_default()
    }

    /// Returns all leases of a job.
    pub(crate) fn leases_of_job(&self, job: JobId) -> Vec<LeaseId> {
        let holders = self.workers.holding(job).into_iter().flat_map(|holding| &holding.holders);
        let of_job = |id: &LeaseId| self.leases.get(*id).is_some_and(|lease| lease.job == job);
        let held_leases = holders.filter_map(|holder| self.workers.get(*holder)).map(|worker| &worker.held);
        held_leases
            .flat_map(|held_leases| {
                let waiting =
                    held_leases.share(job).into_iter().flat_map(|share| share.waiting.iter().copied());
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
        let lease = self.leases.tokens.draw();
        let image = |span: Span| plan.parts()[span.part() as usize].choice().image;
        let leased = spans.iter().map(|&span| LeasedSpan { span, image: image(span) }).collect();
        let message = Lease { id: lease, job: identity, n: plan.n(), method: plan.method(), spans: leased };
        self.effects.send(worker, ToWorker::Lease(message));
        let spans = spans.into_iter().collect();
        self.hold(LiveLease::new(lease, worker, id, self.now, &plan, spans).with_purpose(purpose));
        Some(lease)
    }

    /// Adds a lease whose spans are neither free nor held by another worker.
    pub(crate) fn hold(&mut self, lease: LiveLease) {
        let (id, worker, job, load) = (lease.id, lease.worker, lease.job, lease.load());
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
        let (worker, job) = self.leases.get(id).map(|lease| (lease.worker, lease.job))?;
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
        let Some(lease) = self.leases.get(id).filter(|lease| !lease.recalled) else { return };
        let shorten = ToWorker::Shorten { lease: id, spans: lease.spans.iter().collect() };
        self.effects.send(lease.worker, shorten);
        self.change_lease(id, LiveLease::recall);
    }

    /// Recalls each of these leases.
    pub(crate) fn recall_all(&mut self, leases: &[LeaseId]) {
        leases.iter().for_each(|&lease| self.recall(lease));
    }

    /// Ends a lease. Frees and returns its unreported spans, which its worker may still report. If they were drawn for
    /// its party, the party has lapsed. With `keeps_turn` it has not, and they wait for it again: the party did not
    /// give them back, but its session or the job has ended.
    pub(crate) fn end_lease(&mut self, id: LeaseId, keeps_turn: bool) -> Option<Vec<Span>> {
        let lease = self.leases.get(id)?;
        let (worker, job, load) = (lease.worker, lease.job, lease.load());
        let ended = self.leases.end(self.now, id, Arc::clone(self.workers.get(worker)?.source()))?;
        if let Some(next) = self.workers.remove_lease(self.now, worker, id, job, load) {
            self.begin_lease(worker, next);
        }
        if self.workers.holding(job).is_none() {
            self.stop_counting(job);
        }
        // Who gives back a span on which others have failed has had his try.
        let gives_back = !ended.tried.is_empty() && !ended.recalled;
        let tried = ended.tried.iter().copied().chain(gives_back.then_some(worker)).collect();
        let tried = self.still_there(&tried);
        let recalled = ended.recalled;
        let party = self.workers.get(worker)?.party();
        let broke = keeps_turn.then_some(self.now);
        let n_lapses = self.jobs.change(job, |job| {
            let Some((recounts, counting)) = job.recounting_mut() else { return 0 };
            let plan = counting.plan();
            let mut lapse = |record| {
                if recalled || broke.is_some_and(|now| !recounts.note_break(record, party, now)) {
                    recounts.put_back(plan, record, party);
                    return false;
                }
                recounts.lapse(plan, record, party)
            };
            let mut n_lapses = ended.again.into_iter().filter(|record| lapse(*record)).count();
            for span in ended.spans.iter() {
                if tried.is_empty() { counting.release(span) } else { counting.fail(span, &tried) }
            }
            if !recalled {
                let parts: BTreeSet<u32> = ended.spans.iter().map(Span::part).collect();
                n_lapses += usize::from(counting.lapse_parts(parts, party, broke));
            }
            n_lapses
        });
        // A lease that is not counted is one lapse, however many records it had.
        if n_lapses.is_some_and(|n_lapses| n_lapses > 0) {
            self.proofs.note_lapse(party);
        }
        Some(ended.spans.iter().collect())
    }

    /// Begins a waiting lease, because a thread of the worker is idle.
    fn begin_lease(&mut self, worker: WorkerId, id: LeaseId) {
        let now = self.now;
        let begun = self.leases.change(id, |lease| {
            let before = lease.load();
            lease.begin(now);
            (lease.job, [before, lease.load()])
        });
        let Some((job, loads)) = begun else { return };
        self.workers.begin_lease(now, worker, id, job, loads);
        self.leases.expect_end(id, self.workers.pace_of(worker, id, loads[1].method));
    }

    /// Takes these leases from a connected worker, for others to count; with `keeps_turn`, for other
    /// workers of its party.
    pub(crate) fn take_back(&mut self, worker: WorkerId, leases: Vec<LeaseId>, keeps_turn: bool) {
        for id in leases {
            if let Some(spans) = self.end_lease(id, keeps_turn) {
                self.effects.send(worker, ToWorker::Shorten { lease: id, spans });
            }
        }
    }

    /// Updates the deadline of a lease whose worker's speed may have changed, and returns it if the lease runs.
    pub(crate) fn refresh_deadline(&mut self, id: LeaseId) -> Option<Duration> {
        let lease = self.leases.get(id)?;
        let pace = self.workers.pace_of(lease.worker, id, lease.load().method);
        self.leases.expect_end(id, pace);
        self.leases.deadline(id)
    }
}

/// Ended leases.
impl Ledger {
    /// Remembers spans that this worker may report under a token that nobody holds.
    pub(crate) fn remember(&mut self, id: LeaseId, worker: WorkerId, job: JobId, unreported: Unreported) {
        let Some(source) = self.workers.get(worker).map(|worker| Arc::clone(worker.source())) else { return };
        self.leases.former.add(self.now, id, (worker, source), job, unreported);
    }

    /// Removes an ended lease of this job, and returns the spans that this worker may still report. It may also report
    /// a lease granted to its older number, if no worker of its party and name has that number now.
    pub(crate) fn take_former(&mut self, id: LeaseId, worker: WorkerId, job: JobId) -> Option<Unreported> {
        let (holder, source) = self.leases.former.holder(id)?;
        let is_owner = |id| self.workers.get(id).is_some_and(|worker| worker.source().is_same_worker(source));
        let is_its = is_owner(worker) && (holder == worker || !is_owner(holder));
        if is_its { self.leases.former.take(self.now, id, job) } else { None }
    }

    /// Removes a reported span of an ended lease. Returns `None`, without a change, if this worker may not report it.
    pub(crate) fn report_former(&mut self, worker: WorkerId, job: JobId, delta: &Delta) -> Option<Reported> {
        let source = self.workers.get(worker).map(Worker::source)?;
        self.leases.former.report(self.now, (worker, source), job, delta)
    }

    /// Forgets an ended lease whose worker has reported all that it counted.
    pub(crate) fn finish_former(&mut self, id: LeaseId, worker: WorkerId) {
        if let Some(source) = self.workers.get(worker).map(Worker::source) {
            self.leases.former.finish(id, (worker, source));
        }
    }
}
