//! What goes wrong between this program and SQLite, before it is known which directory it concerns.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::store::StoreError;

/// Why a statement, or what it read, is no good.
#[derive(Debug)]
pub(super) enum Fault {
    Sqlite(rusqlite::Error),
    /// What was read can't be true.
    Damaged(String),
    /// What was read follows the rules of another program.
    Version(String),
    /// What was to be written can't be.
    Refused(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Fault {
    /// The error of a store in `dir` that is in use.
    pub(super) fn of(self, dir: &Path) -> StoreError {
        match self {
            Self::Damaged(reason) => StoreError::Damaged { path: dir.to_owned(), reason },
            Self::Version(reason) => StoreError::Version { path: dir.to_owned(), reason },
            Self::Refused(reason) => StoreError::Failed(reason),
            Self::Sqlite(error) if is_damage(&error) => {
                StoreError::Damaged { path: dir.to_owned(), reason: error.to_string() }
            }
            Self::Sqlite(error) => StoreError::Failed(error.to_string()),
        }
    }

    /// The error of a store that can't be opened: trying again is no use.
    pub(super) fn of_opening(self, dir: &Path) -> StoreError {
        match self.of(dir) {
            StoreError::Failed(reason) => StoreError::Unusable { path: dir.to_owned(), reason },
            error => error,
        }
    }
}

/// Whether the file is to blame. Statements are fixed and tested, so that one SQLite doesn't understand (`Unknown`)
/// means that a table or column is missing.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => {
            matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
        }
        None => matches!(
            error,
            rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::QueryReturnedNoRows
                | rusqlite::Error::Utf8Error(..)
        ),
    }
}
