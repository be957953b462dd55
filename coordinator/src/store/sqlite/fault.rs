//! What goes wrong between this program and SQLite, before it is known which directory it concerns.

use std::fmt::Display;
use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use queens_ledger::store::StoreError;

/// Why a statement, or what it read, is no good.
#[derive(Debug)]
pub(super) enum Fault {
    Sqlite(rusqlite::Error),
    /// What was read can't be true.
    Damaged(String),
    /// What was read follows the rules of another program.
    Version(String),
    /// What was to be written can't be, here or anywhere.
    Impossible(String),
    /// What the database lies on is not fit for it.
    Unfit(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Fault {
    /// The same, with the place where SQLite met it, if it is the file that is to blame.
    pub(super) fn at(self, place: impl Display) -> Self {
        match self {
            Self::Sqlite(error) if !may_heal(&error) => Self::Damaged(format!("{place}: {error}")),
            fault => fault,
        }
    }

    /// The error of a store in `dir` that is in use.
    pub(super) fn of(self, dir: &Path) -> StoreError {
        match self {
            Self::Damaged(reason) => StoreError::Damaged { path: dir.to_owned(), reason },
            Self::Version(reason) => StoreError::Version { path: dir.to_owned(), reason },
            Self::Impossible(reason) => StoreError::Impossible(reason),
            Self::Unfit(reason) => StoreError::Unusable { path: dir.to_owned(), reason },
            Self::Sqlite(error) if may_heal(&error) => StoreError::Failed(error.to_string()),
            Self::Sqlite(error) => StoreError::Damaged { path: dir.to_owned(), reason: error.to_string() },
        }
    }

    /// The error of a store that can't be opened: trying again is no use.
    pub(super) fn of_opening(self, dir: &Path) -> StoreError {
        match self.of(dir) {
            StoreError::Failed(reason) | StoreError::Impossible(reason) => {
                StoreError::Unusable { path: dir.to_owned(), reason }
            }
            error => error,
        }
    }
}

/// Whether the system is to blame, which may change. If not, it is the file: statements are fixed and tested, so that
/// one that SQLite doesn't understand means that a table or column is missing, and what breaks a constraint meets rows
/// that can't be.
pub(super) fn may_heal(error: &rusqlite::Error) -> bool {
    use ErrorCode as Code;
    let rusqlite::Error::SqliteFailure(error, _) = error else { return false };
    if error.extended_code == ffi::SQLITE_IOERR_CORRUPTFS {
        return false;
    }
    matches!(
        error.code,
        Code::DiskFull
            | Code::SystemIoFailure
            | Code::DatabaseBusy
            | Code::DatabaseLocked
            | Code::OutOfMemory
            | Code::CannotOpen
            | Code::ReadOnly
            | Code::PermissionDenied
            | Code::FileLockingProtocolFailed
            | Code::OperationInterrupted
            | Code::OperationAborted
    )
}
