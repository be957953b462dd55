//! Handles a worker's failure to count a span.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{Failure, JobId, WorkerId};

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
        let state = &mut self.state;
        state.advance(now);
        let now = state.now();
        let source = Arc::clone(state.note_contact(worker).ok_or(WorkerRefusal::Unknown(worker))?.source());
        let &Failure { job, lease: id, span, ref reason } = failure;
        check_span(state, job, span)?;
        let Some(job) = state.jobs().identified(job).map(Job::id) else { return Ok(None) };
        let Some(lease) = state.leases().get(id).filter(|lease| lease.is_of(worker, job)) else {
            return Ok(None);
        };
        let tried = lease.tried.iter().copied().chain([worker]).collect();
        let tried = state.still_there(&tried);
        let Some(plan) = state.counting(job).map(|counting| counting.plan().clone()) else {
            return Ok(Some(job));
        };
        let failed = state.change_lease(id, |lease| lease.fail(now, &plan, span)).unwrap_or_default();
        if failed.is_empty() {
            return Ok(None);
        }
        let again = state.change_lease(id, |lease| lease.give_up_again(span)).flatten();
        let too_many_spans = state.change_job(job, |job| {
            let reason = format!("{} failed on {span}: {reason}", source.name);
            let (recounts, counting) = job.recounting_mut()?;
            let has_lapsed = again.is_some_and(|record| recounts.lapse(counting.plan(), record));
            Some((counting.fail_on(worker, failed, &tried, reason), has_lapsed))
        });
        let (too_many_spans, has_lapsed) = too_many_spans.flatten().unwrap_or_default();
        if has_lapsed {
            state.proofs_mut().note_lapse(source.party);
        }
        let is_useless = state.change_worker(worker, |worker| worker.fail(reason.clone(), too_many_spans));
        if is_useless == Some(true) {
            state.take_back(worker, state.leases_of(worker));
        }
        assign(state);
        Ok(Some(job))
    }
}
