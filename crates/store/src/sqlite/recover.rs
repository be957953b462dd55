//! Recovers a new data directory from the valid rows of a damaged database.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use queens_ledger::store::{StoreError, StoreName};
use queens_platform::open_regular_file;
use thiserror::Error;

use super::backup::put_in_place;
use super::directory::{DATABASE, LOCK, make_database, open_file};
use super::repair::{Recovered, Rows, Salvage};
use super::salvage::candidates;
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
    #[error("nothing in {0} can be proved: it is not a database of this program; only a backup helps")]
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
/// A row is valid if its digest is right. Plans are made again. Records are kept if they lie in the plan and overlap no
/// other. Coverage is summed from them.
///
/// # Errors
/// If no row is valid, or the new directory can't be written; then there is no database in it.
pub fn recover(damaged: &Path, new_dir: &Path) -> Result<Recovered, RecoverError> {
    let (database, log) = open_damaged(damaged)?;
    if is_inside(new_dir, damaged) {
        return Err(RecoverError::Inside(new_dir.to_owned()));
    }
    recover_rows(&damaged.into(), new_dir, &mut |_, found| candidates(&database, log.as_ref(), found))
}

/// Creates a database in `new_dir` from the valid ones of the rows that `rows` finds in `damaged`.
///
/// # Errors
/// If `rows` fails, no row is valid, or the new directory can't be written; then there is no database in it.
pub(crate) fn recover_rows(
    damaged: &StoreName,
    new_dir: &Path,
    rows: &mut Rows<'_>,
) -> Result<Recovered, RecoverError> {
    let unwritable = |reason: String| RecoverError::Unwritable { path: new_dir.to_owned(), reason };
    fs::create_dir_all(new_dir).map_err(|error| unwritable(error.to_string()))?;
    let entry = fs::read_dir(new_dir).map_err(|error| unwritable(error.to_string()))?.next();
    if entry.is_some() {
        return Err(RecoverError::Occupied(new_dir.to_owned()));
    }
    let unfinished = new_dir.join(format!("{DATABASE}.unfinished"));
    let mut fill = || -> Result<Recovered, Fault> {
        make_database(&unfinished)?;
        let mut connection = open_file(&unfinished)?;
        // Nobody uses the file before it is complete.
        connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF")?;
        let transaction = connection.transaction()?;
        let recovered = Salvage::of(&transaction, rows)?.repair()?;
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

/// Opens the files of a database that nobody uses.
fn open_damaged(damaged: &Path) -> Result<(File, Option<File>), StoreError> {
    let unusable = |reason: String| StoreError::Unusable { place: damaged.into(), reason };
    let named = if damaged.is_dir() { damaged.join(DATABASE) } else { damaged.to_owned() };
    // The log stands beside the file itself, not beside links to it.
    let path = named.canonicalize().map_err(|error| unusable(format!("'{}': {error}", named.display())))?;
    let database = open_regular_file(&path).map_err(|error| unusable(error.to_string()))?;
    for file in
        [Some(&database), open_regular_file(&path.with_file_name(LOCK)).ok().as_ref()].into_iter().flatten()
    {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(damaged.into())),
            Err(TryLockError::Error(error)) => return Err(unusable(error.to_string())),
            Ok(()) => {}
        }
    }
    let mut log = path.into_os_string();
    log.push("-wal");
    Ok((database, open_regular_file(Path::new(&log)).ok()))
}
