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
    #[error("job {job} is not done: a certificate is made of a job that is done")]
    NotDone {
        /// The job.
        job: JobId,
    },
    /// The job is a second pass: the certificate of its first pass has both.
    #[error("job {job} is the second pass of job {of}, whose certificate has both: export that")]
    Second {
        /// The job.
        job: JobId,
        /// The job whose second pass it is.
        of: JobId,
    },
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
