//! Restores a copy of a data directory.

use std::path::{Path, PathBuf};

use queens_certificate::{Key, KeyError};
use queens_store::JobAudit;
use queens_store::sqlite::{self, BackupError};
use thiserror::Error;

use queens_auth_server::{Dump, InvitationStoreError, has_invitations};
use queens_store::postgres::StoreLocation;

/// Why a restore failed.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The jobs can't be read, verified or written.
    #[error(transparent)]
    Jobs(#[from] BackupError),
    /// The destination has a file with invitations.
    #[error("there are invitations in '{}' already: name a new directory", .0.display())]
    Occupied(PathBuf),
    /// The invitations can't be read or written.
    #[error("the invitations can't be restored, and so nothing is: {0}")]
    Invitations(#[from] InvitationStoreError),
    /// The signing key can't be read or written.
    #[error("the signing key can't be restored, and so nothing is: {0}")]
    Key(#[from] KeyError),
}

/// The result of a restore.
#[derive(Debug)]
pub struct Restored {
    /// The audit of each job.
    pub audits: Vec<JobAudit>,
    /// The revoked invitations.
    pub n_ended: usize,
}

/// Copies the jobs, the invitations and the signing key of `copy`, a backup or a copy of a data directory. The
/// directory `dir` must have neither jobs nor invitations. The invitations are revoked unless they are kept. The jobs
/// are moved into place last: before that, a failure or a crash leaves none.
///
/// # Errors
/// If `dir` has jobs or invitations, or a part of the copy can't be read, verified or written.
pub fn restore(copy: &Path, dir: &Path, keeps_invitations: bool) -> Result<Restored, RestoreError> {
    let (from, to) = (StoreLocation::Directory(copy.to_owned()), StoreLocation::Directory(dir.to_owned()));
    let restoring = sqlite::restore(copy, dir)?;
    if has_invitations(&to) {
        return Err(RestoreError::Occupied(dir.to_owned()));
    }
    let mut n_ended = 0;
    if copy.is_dir() {
        let mut invitations = Dump::of(&from)?;
        if !keeps_invitations {
            n_ended = invitations.end_all();
        }
        Key::adopt_of(dir, copy)?;
        invitations.put_in_directory(&to)?;
    }
    Ok(Restored { audits: restoring.finish()?, n_ended })
}
