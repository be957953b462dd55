//! What goes wrong between this program and a database, before it is known which it is.

use std::fmt::Display;

use queens_ledger::store::lineage::OtherState;
use queens_ledger::store::{StoreError, StoreName};
use queens_model::JobId;
use rusqlite::{ErrorCode, ffi};

/// Why a statement, or what it read, is no good.
#[derive(Debug)]
pub enum Fault {
    /// SQLite says so.
    Sqlite(rusqlite::Error),
    /// The database on a server says so.
    Server {
        /// What it says.
        reason: String,
        /// Whether the same may work later.
        may_heal: bool,
    },
    /// What was read can't be true.
    Damaged(String),
    /// What was read of a job can't be true.
    DamagedJob(JobId, String),
    /// What was read follows the rules of another program.
    Version(String),
    /// What was to be written can't be, here or anywhere.
    Impossible(String),
    /// A row of another table is missing, or needs what was to go.
    Unrelated(String),
    /// Another coordinator leads by now, or the database is in another state than this one left it in: nothing was
    /// written.
    Fenced(String),
    /// The database can't be reached, or does not answer.
    Lost(String),
    /// The server does not let us in or do something, or is not the one that it should be. Only people can mend that.
    Refused(String),
    /// What the database lies on is not fit for it.
    Unfit(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Fault {
    /// Whether the same may work later.
    pub fn may_heal(&self) -> bool {
        match self {
            Self::Sqlite(error) => may_heal(error),
            Self::Server { may_heal, .. } => *may_heal,
            Self::Lost(_) => true,
            _ => false,
        }
    }

    /// The database is not in the state in which this coordinator left it.
    pub fn of_other_state() -> Self {
        Self::Fenced(OtherState.to_string())
    }

    /// The same of somebody who was let in before, and may be again.
    pub fn of_one_let_in(self) -> Self {
        match self {
            Self::Refused(reason) => Self::Lost(reason),
            fault => fault,
        }
    }

    /// What has happened.
    pub fn reason(&self) -> String {
        match self {
            Self::Sqlite(error) => error.to_string(),
            Self::Server { reason, .. }
            | Self::Damaged(reason)
            | Self::DamagedJob(_, reason)
            | Self::Version(reason)
            | Self::Impossible(reason)
            | Self::Unrelated(reason)
            | Self::Fenced(reason)
            | Self::Lost(reason)
            | Self::Refused(reason)
            | Self::Unfit(reason) => reason.clone(),
        }
    }

    /// The same, with the place where the database met it, if it is what is there that is to blame.
    pub(crate) fn at(self, place: impl Display) -> Self {
        match self {
            Self::Sqlite(_) | Self::Server { .. } | Self::Unrelated(_) if !self.may_heal() => {
                Self::Damaged(format!("{place}: {}", self.reason()))
            }
            fault => fault,
        }
    }

    /// The same, met in what is stored of a job: a row that is not what was written says nothing of other jobs.
    pub(crate) fn of_job(self, job: JobId, place: impl Display) -> Self {
        match self {
            Self::Damaged(reason) => Self::DamagedJob(job, reason),
            fault => fault.at(place),
        }
    }

    /// The error of a store that is in use.
    pub fn of(self, place: impl Into<StoreName>) -> StoreError {
        let place = place.into();
        match self {
            Self::Version(reason) => StoreError::Version { place, reason },
            Self::Impossible(reason) => StoreError::Impossible(reason),
            Self::DamagedJob(job, reason) => StoreError::DamagedJob { job, reason },
            Self::Unfit(reason) | Self::Refused(reason) => StoreError::Unusable { place, reason },
            Self::Fenced(reason) => StoreError::Fenced(reason),
            fault if fault.may_heal() => StoreError::Failed(fault.reason()),
            fault => StoreError::Damaged { place, reason: fault.reason() },
        }
    }

    /// The error of a store that can't be opened: trying again is no use.
    pub fn of_opening(self, place: impl Into<StoreName>) -> StoreError {
        let place = place.into();
        match self.of(place.clone()) {
            StoreError::Failed(reason) | StoreError::Impossible(reason) => {
                StoreError::Unusable { place, reason }
            }
            error => error,
        }
    }
}

/// Whether the system is to blame, which may change. If not, it is the file: statements are fixed and tested, so that
/// one that SQLite doesn't understand means that a table or column is missing, and what breaks a constraint meets rows
/// that can't be.
fn may_heal(error: &rusqlite::Error) -> bool {
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
