//! Handles a worker's failure to count a span.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{Failure, JobId, Party, WorkerId};

use crate::handlers::reports::check_span;
use crate::handlers::worker_refusal::WorkerRefusal;
use crate::jobs::job::Job;
use crate::ledger::Ledger;
use crate::schedule::assign::assign;

impl Ledger {
    /// Handles a worker's failure to count a span. Others try it, and the rest of the lease goes on. Returns the job;
    /// `None` if nothing changes, as when the worker does not hold the lease.
    ///
    /// # Errors
    /// If it is invalid; then nothing changes.
    pub fn fail(
        &mut self,
        now: Duration,
        worker: WorkerId,
        failure: &Failure,
    ) -> Result<Option<JobId>, WorkerRefusal> {
        self.advance(now);
        let now = self.now;
        let source = Arc::clone(self.note_contact(worker).ok_or(WorkerRefusal::Unknown(worker))?.source());
        let &Failure { job, lease: id, span, ref reason } = failure;
        check_span(self, job, span)?;
        let Some(job) = self.jobs.identified(job).map(Job::id) else { return Ok(None) };
        let Some(lease) = self.leases.get(id).filter(|lease| lease.is_of(worker, job)) else {
            return Ok(None);
        };
        let tried = lease.tried.iter().copied().chain([worker]).collect();
        let tried = self.still_there(&tried);
        let Some(plan) = self.counting(job).map(|counting| counting.plan().clone()) else {
            return Ok(Some(job));
        };
        let failed = self.change_lease(id, |lease| lease.fail(now, &plan, span)).unwrap_or_default();
        if failed.is_empty() {
            return Ok(None);
        }
        let again = self.change_lease(id, |lease| lease.give_up_again(span)).flatten();
        let is_last = self.have_others_lapsed(job, span.part(), source.party);
        let too_many_spans = self.change_job(job, |job| {
            let reason = format!("{} failed on {span}: {reason}", source.name);
            let (recounts, counting) = job.recounting_mut()?;
            let has_lapsed = match again {
                Some(record) => {
                    record.is_some_and(|record| recounts.fail(counting.plan(), record, source.party))
                }
                None => counting.fail_part(span.part(), source.party),
            };
            Some((counting.fail_on(worker, failed, &tried, reason, is_last), has_lapsed))
        });
        let (too_many_spans, has_lapsed) = too_many_spans.flatten().unwrap_or_default();
        if has_lapsed {
            self.proofs.note_lapse(source.party);
        }
        let is_useless = self.change_worker(worker, |worker| worker.fail(reason.clone(), too_many_spans));
        if is_useless == Some(true) {
            self.take_back(worker, self.leases_of(worker), false);
        }
        assign(self);
        Ok(Some(job))
    }

    /// Whether all other parties that may be drawn for a part have lapsed. Takes O(m) for m parties if they have.
    fn have_others_lapsed(&self, job: JobId, part: u32, party: Party) -> bool {
        let Some(counting) = self.counting(job) else { return false };
        let lapsed = counting.draws().and_then(|draws| draws.turn(part)).map(|turn| &turn.lapsed);
        let has_lapsed = |other: &Party| *other == party || lapsed.is_some_and(|it| it.contains(other));
        self.workers.readiness(counting.plan().method()).candidates().keys().all(has_lapsed)
    }
}
