//! Tracing spans of jobs: the submission, the plan, the leases, and the reports on them until they are durable.
//!
//! Spans have the level `debug`. Disabled ones are not stored, so tracing costs nothing without a subscriber.

use std::collections::HashMap;

use queens_model::{Delta, JobId, JobIdentity, LeaseId, ToWorker, WorkerId};
use queens_solver::BoardSize;
use tracing::{Span, debug_span};

use queens_ledger::SpanOutcome;

/// The open spans.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// From the submission to the end of a job; for restored jobs, from the first lease.
    jobs: HashMap<JobId, Span>,
    plans: HashMap<JobId, Span>,
    leases: HashMap<LeaseId, Span>,
    /// The reports that are not durable yet.
    reports: Vec<Span>,
}

impl Traces {
    /// Opens the span of a submitted job and that of its plan.
    pub(crate) fn submitted(&mut self, job: JobId, n: BoardSize) {
        let root = debug_span!(parent: None, "job", %job, %n);
        if root.is_disabled() {
            return;
        }
        debug_span!(parent: &root, "submit", %job, %n).in_scope(|| {});
        self.plans.insert(job, debug_span!(parent: &root, "plan", %job));
        self.jobs.insert(job, root);
    }

    /// Ends the span of a finished plan.
    pub(crate) fn planned(&mut self, job: JobId) {
        self.plans.remove(&job);
    }

    /// Opens the span of a lease, if the message grants one. `job_of` returns the number of its job.
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

    /// Opens the span of a report, which is not durable yet.
    pub(crate) fn reported(&mut self, worker: WorkerId, delta: &Delta, outcome: SpanOutcome) {
        let Some(lease) = self.leases.get(&delta.lease) else { return };
        let (job, span) = (delta.job, delta.span);
        let report =
            debug_span!(parent: lease, "report", %job, lease = %delta.lease, %worker, %span, ?outcome);
        self.reports.push(report);
    }

    /// Ends the spans of reports, which are durable now.
    pub(crate) fn committed(&mut self) {
        self.reports.clear();
    }

    /// Ends the spans of finished jobs and of leases that nobody holds.
    pub(crate) fn keep(&mut self, is_open: impl Fn(JobId) -> bool, is_held: impl Fn(LeaseId) -> bool) {
        self.leases.retain(|&lease, _| is_held(lease));
        self.plans.retain(|&job, _| is_open(job));
        self.jobs.retain(|&job, _| is_open(job));
    }
}
