//! Recovers a new data directory from the valid rows of a damaged database.

use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use queens_ledger::store::{StoreError, StoreName};
use queens_platform::{SQLITE_WITHOUT_LOCKS, open_regular_file};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use thiserror::Error;

use super::backup::put_in_place;
use super::directory::{DATABASE, LOCK, make_database, open_file};
use super::repair::{Recovered, Salvage};
use super::schema;
use crate::sql::database::Database;
use crate::sql::fault::Fault;

/// Why a recovery failed.
#[derive(Debug, Error)]
pub enum RecoverError {
    /// The damaged database can't be read at all, or is in use.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The new directory is not empty.
    #[error("'{}' is not empty: recovery needs a new directory", .0.display())]
    Occupied(PathBuf),
    /// The new directory would lie inside the damaged one.
    #[error("'{}' is in the damaged directory, in which nothing is written: name another one", .0.display())]
    Inside(PathBuf),
    /// No row is valid.
    #[error("nothing in {0} can be read and proved; only a backup helps")]
    Nothing(StoreName),
    /// The new directory can't be written.
    #[error("failed to write '{}': {reason}", path.display())]
    Unwritable {
        /// The new directory.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// Returns whether a directory, which may not exist yet, would lie inside an existing one.
fn is_inside(new_dir: &Path, dir: &Path) -> bool {
    let absolute = std::path::absolute(new_dir).unwrap_or_else(|_| new_dir.to_owned());
    let existing = absolute.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    let dir = dir.canonicalize().ok().filter(|dir| dir.is_dir());
    existing.zip(dir).is_some_and(|(existing, dir)| existing.starts_with(dir))
}

/// Creates a database in `new_dir` from the valid rows of `damaged`, a directory or a database. `new_dir` must be empty
/// or not exist. Nothing is written to `damaged`.
///
/// A row is valid if SQLite can read it, and its digest is right. Plans are made again. Records are kept if they lie in
/// the plan and overlap no other. Coverage is summed from them.
///
/// # Errors
/// If no row is valid, or the new directory can't be written; then there is no database in it.
pub fn recover(damaged: &Path, new_dir: &Path) -> Result<Recovered, RecoverError> {
    let unused = open_damaged(damaged)?;
    if is_inside(new_dir, damaged) {
        return Err(RecoverError::Inside(new_dir.to_owned()));
    }
    recover_rows(&damaged.into(), new_dir, &unused.connection)
}

/// Creates a database in `new_dir` from the valid rows of `database`, which is `damaged`.
///
/// # Errors
/// If the server fails, no row is valid, or the new directory can't be written; then there is no database in it.
pub(crate) fn recover_rows(
    damaged: &StoreName,
    new_dir: &Path,
    database: &dyn Database,
) -> Result<Recovered, RecoverError> {
    let unwritable = |reason: String| RecoverError::Unwritable { path: new_dir.to_owned(), reason };
    fs::create_dir_all(new_dir).map_err(|error| unwritable(error.to_string()))?;
    let entry = fs::read_dir(new_dir).map_err(|error| unwritable(error.to_string()))?.next();
    if entry.is_some() {
        return Err(RecoverError::Occupied(new_dir.to_owned()));
    }
    let unfinished = new_dir.join(format!("{DATABASE}.unfinished"));
    let fill = || -> Result<Recovered, Fault> {
        make_database(&unfinished)?;
        let mut connection = open_file(&unfinished)?;
        // Nobody uses the file before it is complete.
        connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF")?;
        let transaction = connection.transaction()?;
        let recovered = Salvage::of(&transaction, database)?.repair()?;
        transaction.commit()?;
        connection.close().map_err(|(_, error)| error)?;
        let synced = File::open(&unfinished).and_then(|file| file.sync_all());
        synced.map(|()| recovered).map_err(|error| Fault::Unfit(error.to_string()))
    };
    let reason = |fault| match fault {
        Fault::Version(_) | Fault::Server { .. } | Fault::Lost(_) => {
            RecoverError::Store(fault.of_opening(damaged.clone()))
        }
        fault => unwritable(fault.of(new_dir).to_string()),
    };
    let made = fill().map_err(reason).and_then(|recovered| {
        if recovered.jobs.is_empty() {
            return Err(RecoverError::Nothing(damaged.clone()));
        }
        let placed = put_in_place(&unfinished, &new_dir.join(DATABASE));
        placed.map(|()| recovered).map_err(|error| unwritable(error.to_string()))
    });
    if made.is_err() {
        // An error here says less than the reason why the recovery failed.
        _ = fs::remove_file(&unfinished);
    }
    made
}

/// A database that no coordinator uses, and the locks that keep it so.
struct Unused {
    connection: Connection,
    _locks: Vec<File>,
}

/// Opens a database that nobody uses, so that SQLite changes nothing in its directory.
fn open_damaged(damaged: &Path) -> Result<Unused, RecoverError> {
    let unusable = |reason: String| StoreError::Unusable { place: damaged.into(), reason };
    let named = if damaged.is_dir() { damaged.join(DATABASE) } else { damaged.to_owned() };
    // The log stands beside the file itself, not beside links to it.
    let path = named.canonicalize().map_err(|error| unusable(format!("'{}': {error}", named.display())))?;
    let database = open_regular_file(&path).map_err(|error| unusable(error.to_string()))?;
    let mut locks = vec![database];
    locks.extend(open_regular_file(&path.with_file_name(LOCK)).ok());
    for file in &locks {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(damaged.into()).into()),
            Err(TryLockError::Error(error)) => return Err(unusable(error.to_string()).into()),
            Ok(()) => {}
        }
    }
    let mut log = path.clone().into_os_string();
    log.push("-wal");
    let has_log = fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    let open = || -> Result<Connection, Fault> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(uri(&path, has_log), flags)?;
        // Then SQLite keeps the index of the log in memory, instead of in a file beside it.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Without it, SQLite reads nothing of a file that was cut off.
        connection.pragma_update(None, "writable_schema", true)?;
        schema::check(&connection)?;
        Ok(connection)
    };
    match open() {
        Ok(connection) => Ok(Unused { connection, _locks: locks }),
        Err(fault @ Fault::Sqlite(_)) if !fault.may_heal() => Err(RecoverError::Nothing(damaged.into())),
        Err(fault) => Err(fault.of_opening(damaged).into()),
    }
}

/// Returns SQLite's name of a file that it only reads. Without a log, it must not create one.
fn uri(path: &Path, has_log: bool) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b':' => {
                uri.push(char::from(*byte));
            }
            byte => _ = write!(uri, "%{byte:02X}"),
        }
    }
    // Only without locks, SQLite opens a log that it may not change.
    if has_log { format!("{uri}?vfs={SQLITE_WITHOUT_LOCKS}") } else { uri + "?immutable=1" }
}
