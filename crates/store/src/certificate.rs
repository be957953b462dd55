//! Errors of certificate exports.

use std::io;

use queens_certificate::KeyError;
use queens_ledger::store::StoreError;
use queens_model::JobId;
use queens_platform::NoNewFile;
use thiserror::Error;

/// Why an export failed.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The job does not exist.
    #[error("there is no job {0}")]
    Unknown(JobId),
    /// The job is not done: only a finished job has a certificate.
    #[error("job {0} is not done: a certificate is made of a job that is done")]
    NotDone(JobId),
    /// The first job is the second pass of the other, whose certificate has both.
    #[error("job {0} is the second pass of job {1}, whose certificate has both: export that")]
    Second(JobId, JobId),
    /// The target can't be created.
    #[error(transparent)]
    Target(#[from] NoNewFile),
    /// The signing key is unavailable.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The certificate can't be written.
    #[error("failed to write it: {0}")]
    Unwritable(#[from] io::Error),
}
