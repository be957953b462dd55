//! Errors that either database may return.

use std::fmt::Display;

use queens_ledger::store::lineage::OtherState;
use queens_ledger::store::{StoreError, StoreName};
use queens_model::JobId;
use rusqlite::{ErrorCode, ffi};

/// Why a statement failed, or why its result is invalid.
#[derive(Debug)]
pub enum Fault {
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
    /// An error of the database server.
    Server {
        /// The server's message.
        reason: String,
        /// Whether a retry may succeed.
        may_heal: bool,
    },
    /// The data are damaged.
    Damaged(String),
    /// The data of one job are damaged.
    DamagedJob(JobId, String),
    /// The data follow the rules of another version of the program.
    Version(String),
    /// The data can't be written, here or anywhere.
    Impossible(String),
    /// Another coordinator leads now, or the database is not in the state that this one left. Nothing was written.
    Fenced(String),
    /// The database can't be reached, or does not answer.
    Lost(String),
    /// The server rejects the log-in or an operation, or is the wrong server. Only an operator can fix that.
    Refused(String),
    /// The storage below the database is unsuitable.
    Unfit(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Fault {
    /// Returns whether a retry may succeed.
    pub fn may_heal(&self) -> bool {
        match self {
            Self::Sqlite(error) => may_heal(error),
            Self::Server { may_heal, .. } => *may_heal,
            Self::Lost(_) => true,
            _ => false,
        }
    }

    /// Returns the error for a database that is not in the state that this coordinator left.
    pub fn of_other_state() -> Self {
        Self::Fenced(OtherState.to_string())
    }

    /// Treats a rejection as a lost connection: the server accepted this client before, and may again.
    pub fn of_one_let_in(self) -> Self {
        match self {
            Self::Refused(reason) => Self::Lost(reason),
            fault => fault,
        }
    }

    /// Returns the reason as text.
    pub fn reason(&self) -> String {
        match self {
            Self::Sqlite(error) => error.to_string(),
            Self::Server { reason, .. }
            | Self::Damaged(reason)
            | Self::DamagedJob(_, reason)
            | Self::Version(reason)
            | Self::Impossible(reason)
            | Self::Fenced(reason)
            | Self::Lost(reason)
            | Self::Refused(reason)
            | Self::Unfit(reason) => reason.clone(),
        }
    }

    /// Adds the place where the database failed, if the data there are to blame.
    pub(crate) fn at(self, place: impl Display) -> Self {
        match self {
            Self::Sqlite(_) | Self::Server { .. } if !self.may_heal() => {
                Self::Damaged(format!("{place}: {}", self.reason()))
            }
            fault => fault,
        }
    }

    /// Attributes damaged data to their job: a damaged row says nothing about other jobs.
    pub(crate) fn of_job(self, job: JobId, place: impl Display) -> Self {
        match self {
            Self::Damaged(reason) => Self::DamagedJob(job, reason),
            fault => fault.at(place),
        }
    }

    /// Converts to the error of a store in use.
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

    /// Converts to the error of a store that can't be opened: a retry would fail, too.
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

/// Returns whether the system is to blame, which may recover. Otherwise it is the file. Statements are fixed and
/// tested: an unknown name means that a table or column is missing, and a violated constraint means impossible rows.
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
