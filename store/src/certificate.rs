//! What can be in the way of a certificate.

use std::io;
use std::path::PathBuf;

use queens_certificate::KeyError;
use queens_ledger::store::StoreError;
use queens_model::JobId;
use thiserror::Error;

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The directory can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such job.
    #[error("there is no job {0}")]
    Unknown(JobId),
    /// Only a job that is done has a certificate.
    #[error("job {job} is not done: a certificate is made of a job that is done")]
    NotDone {
        /// The job.
        job: JobId,
    },
    /// It is no job of its own.
    #[error("job {job} is the second pass of job {of}, whose certificate has both: export that")]
    Second {
        /// The job.
        job: JobId,
        /// The job whose second pass it is.
        of: JobId,
    },
    /// There is something where the certificate should go.
    #[error("'{}' is there already: an export overwrites nothing", .0.display())]
    Exists(PathBuf),
    /// There is no key to sign it with.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// It can't be written.
    #[error("failed to write it: {0}")]
    Unwritable(#[from] io::Error),
}
