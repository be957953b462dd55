//! What goes wrong between this program and a database, before it is known which it is.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::iter::successors;

use queens_ledger::store::{Place, StoreError};
use rusqlite::{ErrorCode, ffi};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::WrongType;

/// What the function `hold` of the tables on a server fails with.
const FENCED: &str = "QN001";

/// Why a statement, or what it read, is no good.
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
    Postgres(tokio_postgres::Error),
    /// What was read can't be true.
    Damaged(String),
    /// What was read follows the rules of another program.
    Version(String),
    /// What was to be written can't be, here or anywhere.
    Impossible(String),
    /// A row of another table is missing, or needs what was to go.
    Unrelated(String),
    /// Another coordinator leads by now: nothing was written.
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

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(&SqlState::FOREIGN_KEY_VIOLATION) => Self::Unrelated(in_full(&error)),
            Some(state) if state.code() == FENCED => Self::Fenced(in_full(&error)),
            _ if is_refusal(&error) => Self::Refused(in_full(&error)),
            _ => Self::Postgres(error),
        }
    }
}

impl Fault {
    /// Whether the same may work later.
    pub(crate) fn may_heal(&self) -> bool {
        match self {
            Self::Sqlite(error) => may_heal(error),
            Self::Postgres(error) => may_pass(error),
            Self::Lost(_) => true,
            _ => false,
        }
    }

    /// The same of somebody who was let in before, and may be again.
    pub(in crate::store) fn of_one_let_in(self) -> Self {
        match self {
            Self::Refused(reason) => Self::Lost(reason),
            fault => fault,
        }
    }

    /// What has happened.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Sqlite(error) => error.to_string(),
            Self::Postgres(error) => in_full(error),
            Self::Damaged(reason)
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
    pub(in crate::store) fn at(self, place: impl Display) -> Self {
        match self {
            Self::Sqlite(_) | Self::Postgres(_) | Self::Unrelated(_) if !self.may_heal() => {
                Self::Damaged(format!("{place}: {}", self.reason()))
            }
            fault => fault,
        }
    }

    /// The error of a store that is in use.
    pub(in crate::store) fn of(self, place: impl Into<Place>) -> StoreError {
        let place = place.into();
        match self {
            Self::Version(reason) => StoreError::Version { place, reason },
            Self::Impossible(reason) => StoreError::Impossible(reason),
            Self::Unfit(reason) | Self::Refused(reason) => StoreError::Unusable { place, reason },
            Self::Fenced(reason) => StoreError::Fenced(reason),
            fault if fault.may_heal() => StoreError::Failed(fault.reason()),
            fault => StoreError::Damaged { place, reason: fault.reason() },
        }
    }

    /// The error of a store that can't be opened: trying again is no use.
    pub(in crate::store) fn of_opening(self, place: impl Into<Place>) -> StoreError {
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

/// The same for PostgreSQL. What it has no code for is of the connection, which can be made again.
fn may_pass(error: &tokio_postgres::Error) -> bool {
    let Some(code) = error.code() else {
        return error.source().is_none_or(|source| !source.is::<WrongType>());
    };
    // Classes of https://www.postgresql.org/docs/15/errcodes-appendix.html: connections, what can't be done now,
    // transactions that were in each other's way, resources, operators, the system.
    ["08", "25", "40", "53", "55", "57", "58"].contains(&&code.code()[..2])
}

/// Whether a server has turned us away, or we it.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    if let Some(code) = error.code() {
        // Who we are, which database it is, and what we may do there.
        return ["28", "3D"].contains(&&code.code()[..2]) || *code == SqlState::INSUFFICIENT_PRIVILEGE;
    }
    // The library tells these apart only in words.
    match error.to_string().as_str() {
        "authentication error" | "invalid configuration" => true,
        "error performing TLS handshake" => {
            behind(error).all(|cause| match cause.downcast_ref::<io::Error>() {
                Some(error) => error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()),
                None => true,
            })
        }
        _ => false,
    }
}

/// All that has caused an error.
fn behind(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(error.source(), |error: &&(dyn Error + 'static)| (*error).source())
}

/// An error with all that is behind it.
fn in_full(error: &tokio_postgres::Error) -> String {
    let Some(told) = error.as_db_error() else {
        return behind(error).fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    };
    let detail = told.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("{}{detail}", told.message())
}
