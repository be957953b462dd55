//! Tracing spans of jobs: of each its submission, its plan, its leases and the spans reported on them, until they are
//! durable.
//!
//! Nothing is kept unless somebody listens: spans are at the level `debug`, and a disabled one is not stored.

use std::collections::HashMap;

use queens_model::{Delta, JobId, JobIdentity, LeaseId, ToWorker, WorkerId};
use queens_solver::BoardSize;
use tracing::{Span, debug_span};

use queens_ledger::SpanOutcome;

/// The spans that are open.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// From the submission to the end; of jobs that were stored, from the first lease.
    jobs: HashMap<JobId, Span>,
    plans: HashMap<JobId, Span>,
    leases: HashMap<LeaseId, Span>,
    /// Of what is reported and not durable yet.
    reports: Vec<Span>,
}

impl Traces {
    /// A job was submitted: its plan is to be made.
    pub(crate) fn submitted(&mut self, job: JobId, n: BoardSize) {
        let root = debug_span!(parent: None, "job", %job, %n);
        if root.is_disabled() {
            return;
        }
        debug_span!(parent: &root, "submit", %job, %n).in_scope(|| {});
        self.plans.insert(job, debug_span!(parent: &root, "plan", %job));
        self.jobs.insert(job, root);
    }

    /// Its plan is made.
    pub(crate) fn planned(&mut self, job: JobId) {
        self.plans.remove(&job);
    }

    /// A message goes out; with it, a lease of a job may begin, whose number `job_of` tells.
    pub(crate) fn sent(
        &mut self,
        worker: WorkerId,
        message: &ToWorker,
        job_of: impl FnOnce(JobIdentity) -> Option<JobId>,
    ) {
        let ToWorker::Lease(lease) = message else { return };
        let Some(job) = job_of(lease.job) else { return };
        let (n, spans) = (lease.n, lease.spans.len());
        let root = self.jobs.entry(job).or_insert_with(|| debug_span!(parent: None, "job", %job, %n));
        let span = debug_span!(parent: &*root, "lease", %job, lease = %lease.id, %worker, spans);
        if span.is_disabled() {
            self.jobs.remove(&job);
        } else {
            self.leases.insert(lease.id, span);
        }
    }

    /// A counted span came; it is about to be made durable.
    pub(crate) fn reported(&mut self, worker: WorkerId, delta: &Delta, outcome: SpanOutcome) {
        let Some(lease) = self.leases.get(&delta.lease) else { return };
        let (job, span) = (delta.job, delta.span);
        let report =
            debug_span!(parent: lease, "report", %job, lease = %delta.lease, %worker, %span, ?outcome);
        self.reports.push(report);
    }

    /// What was reported is durable.
    pub(crate) fn committed(&mut self) {
        self.reports.clear();
    }

    /// Ends the spans of jobs that are over and of leases that nobody holds any more.
    pub(crate) fn keep(&mut self, is_open: impl Fn(JobId) -> bool, is_held: impl Fn(LeaseId) -> bool) {
        self.leases.retain(|&lease, _| is_held(lease));
        self.plans.retain(|&job, _| is_open(job));
        self.jobs.retain(|&job, _| is_open(job));
    }
}
