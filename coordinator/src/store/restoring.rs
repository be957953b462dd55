//! Puts a copy of a data directory in the place of one that is lost.

use std::path::Path;

use queens_certificate::{Key, KeyError};
use queens_ledger::store::StoreError;
use queens_store::JobAudit;
use queens_store::sqlite::{self, BackupError, RecoverError, Recovered};
use thiserror::Error;

use super::postgres;
use super::whereabouts::Whereabouts;
use crate::access::book_error::BookError;
use crate::access::contents::Contents;

/// Why a copy is not restored, or not all of it.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The jobs can't be read, proved or written; nothing is restored.
    #[error(transparent)]
    Jobs(#[from] BackupError),
    /// The jobs are in place, and the invitations are not.
    #[error("the jobs are restored, and the invitations are not: {0}")]
    Invitations(BookError),
    /// The jobs and invitations are in place, and the signing key is not.
    #[error("the jobs are restored, and the signing key is not: {0}")]
    Key(KeyError),
}

/// Copies the jobs, the invitations and the signing key that are in `copy`, a backup or a copy of a data directory, into
/// the directory `dir`, which must have no jobs. Returns what the records of each job prove.
///
/// # Errors
/// If there are jobs in `dir`, or something of the copy can't be read, proved or written.
pub fn restore(copy: &Path, dir: &Path) -> Result<Vec<JobAudit>, RestoreError> {
    let audits = sqlite::restore(copy, dir)?;
    if copy.is_dir() {
        let (from, to) = (Whereabouts::Directory(copy.to_owned()), Whereabouts::Directory(dir.to_owned()));
        let invitations = Contents::of(&from).and_then(|invitations| invitations.put_in_directory(&to));
        invitations.map_err(RestoreError::Invitations)?;
        Key::adopt_of(dir, copy).map_err(RestoreError::Key)?;
    }
    Ok(audits)
}

impl Whereabouts {
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
