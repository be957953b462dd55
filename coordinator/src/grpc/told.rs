//! A job as operators are told of it.

use queens_messages::{JobId, JobStatus};
use queens_proto::pb;
use tonic::Status;

use super::refusal::unknown_job;
use crate::snapshot::Snapshot;

/// The job with this id.
pub(super) fn find(snapshot: &Snapshot, id: JobId) -> Result<&JobStatus, Status> {
    snapshot.job(id).ok_or_else(|| unknown_job(id))
}

/// A job as operators are told of it. Clients of older versions learn only from a job that nothing can be recorded.
pub(super) fn told(job: &JobStatus, snapshot: &Snapshot) -> pb::Job {
    let store_error = snapshot.store_error.clone().unwrap_or_default();
    pb::Job { store_error, ..pb::Job::from(job.clone()) }
}
