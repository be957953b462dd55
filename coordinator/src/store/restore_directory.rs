//! Puts a copy of a data directory in the place of one that is lost.

use std::path::{Path, PathBuf};

use queens_certificate::{Key, KeyError};
use queens_ledger::store::StoreError;
use queens_store::JobAudit;
use queens_store::sqlite::{self, BackupError, RecoverError, Recovered};
use thiserror::Error;

use super::postgres;
use super::store_location::StoreLocation;
use crate::auth::dump::{Dump, has_invitations};
use crate::auth::invitation_store_error::InvitationStoreError;

/// Why nothing is restored.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The jobs can't be read, proved or written.
    #[error(transparent)]
    Jobs(#[from] BackupError),
    /// There is a file with invitations where they should go.
    #[error("there are invitations in '{}' already: name a new directory", .0.display())]
    Occupied(PathBuf),
    /// The invitations can't be read or written.
    #[error("the invitations can't be restored, and so nothing is: {0}")]
    Invitations(#[from] InvitationStoreError),
    /// The signing key can't be read or written.
    #[error("the signing key can't be restored, and so nothing is: {0}")]
    Key(#[from] KeyError),
}

/// What is restored.
#[derive(Debug)]
pub struct Restored {
    /// What the records of each job prove.
    pub audits: Vec<JobAudit>,
    /// The invitations that are ended.
    pub n_ended: usize,
}

/// Copies the jobs, the invitations and the signing key that are in `copy`, a backup or a copy of a data directory, into
/// the directory `dir`, which must have neither jobs nor invitations. The invitations are ended, unless they are kept. The
/// jobs are in place last: where this fails or is killed before, there are none.
///
/// # Errors
/// If there are jobs or invitations in `dir`, or something of the copy can't be read, proved or written.
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

impl StoreLocation {
    /// Makes a database in `new_dir`, which must be empty or not there, from what proves itself there.
    ///
    /// # Errors
    /// If nothing can be read or proves itself, or the new directory can't be written.
    pub fn recover(&self, new_dir: &Path) -> Result<Recovered, RecoverError> {
        match self {
            Self::Directory(damaged) => sqlite::recover(damaged, new_dir),
            Self::Server(server) => postgres::recover(server, new_dir),
        }
    }

    /// Proves, from the records alone, what each job there has counted.
    ///
    /// # Errors
    /// If the jobs can't be read, or something contradicts something.
    pub fn audit(&self) -> Result<Vec<JobAudit>, StoreError> {
        match self {
            Self::Directory(dir) => sqlite::audit(dir),
            Self::Server(server) => postgres::audit(server),
        }
    }
}
