//! Backs up the database of a data directory, also while a coordinator uses it, and restores backups.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use queens_ledger::store::StoreError;
use queens_platform::sync_directory;
use rusqlite::Connection;
use thiserror::Error;

use super::directory::{DATABASE, Directory, check_database, open_to_read};
use super::proof::audit_file;
use super::schema;
use crate::sql::audit::JobAudit;
use crate::sql::fault::Fault;
use crate::sql::read;

/// Why a backup or its restoration failed.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The directory can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The target exists already.
    #[error("'{}' is there already: nothing is overwritten", .0.display())]
    Exists(PathBuf),
    /// The backup can't be written.
    #[error("failed to write '{}': {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error message.
        reason: String,
    },
}

/// Copies one state of the database in the directory `dir` to `file`, and returns the copy's size in bytes. A
/// coordinator may write meanwhile.
///
/// The copy can become the `queens.db` of a new data directory.
///
/// # Errors
/// If the directory can't be read, `file` exists, or it can't be written; then no copy remains.
pub fn backup(dir: &Path, file: &Path) -> Result<u64, BackupError> {
    check_database(dir)?;
    if file.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(file.to_owned()));
    }
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let copied = copy(&dir.join(DATABASE), &unfinished)
        .and_then(|size| put_in_place(&unfinished, file).map(|()| size));
    if copied.is_err() {
        // An error here says less than the reason why the copy failed.
        _ = fs::remove_file(&unfinished);
    }
    copied
}

/// A copied and audited database. It gets its name after everything that belongs to it is in place.
#[derive(Debug)]
pub struct Restoring {
    audits: Vec<JobAudit>,
    unfinished: PathBuf,
    file: PathBuf,
    /// Keeps coordinators out of the directory meanwhile.
    _taken: Directory,
}

/// Copies a backup, or the database of a copied data directory, into the directory `dir`, and audits it. Creates `dir`
/// if needed. [`finish`](Restoring::finish) puts the database in place.
///
/// # Errors
/// If `dir` has a database, or the copy can't be read or audited; then `dir` has none.
pub fn restore(copy_or_dir: &Path, dir: &Path) -> Result<Restoring, BackupError> {
    let source = if copy_or_dir.is_dir() { copy_or_dir.join(DATABASE) } else { copy_or_dir.to_owned() };
    let file = dir.join(DATABASE);
    // SQLite would apply a leftover log to the new database.
    for there in [file.clone(), dir.join(format!("{DATABASE}-wal")), dir.join(format!("{DATABASE}-shm"))] {
        if there.symlink_metadata().is_ok() {
            return Err(BackupError::Exists(there));
        }
    }
    // Before `dir` is changed.
    open_to_read(&source).map_err(|fault| fault.of_opening(copy_or_dir))?;
    let unfinished = dir.join(format!("{DATABASE}.unfinished"));
    let mut restoring = Restoring { audits: Vec::new(), _taken: Directory::take(dir)?, unfinished, file };
    copy(&source, &restoring.unfinished)?;
    restoring.audits = audit_file(&restoring.unfinished).map_err(|error| error.at(copy_or_dir))?;
    Ok(restoring)
}

impl Restoring {
    /// Puts the database in place, and returns its audits.
    ///
    /// # Errors
    /// If that can't be written; then there is no database.
    pub fn finish(mut self) -> Result<Vec<JobAudit>, BackupError> {
        put_in_place(&self.unfinished, &self.file)?;
        Ok(std::mem::take(&mut self.audits))
    }
}

impl Drop for Restoring {
    fn drop(&mut self) {
        // An error here says less than the reason why the restoration failed.
        _ = fs::remove_file(&self.unfinished);
    }
}

fn copy(database: &Path, file: &Path) -> Result<u64, BackupError> {
    let unwritable = |reason: String| BackupError::Unwritable { path: file.to_owned(), reason };
    // Left by a killed backup.
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritable(error.to_string())),
        _ => {}
    }
    let of_source = |fault: Fault| BackupError::from(fault.of_opening(database));
    let source = open_to_read(database).map_err(of_source)?;
    // Reads one state of the database and never blocks a writer; the log grows meanwhile.
    let absolute = std::path::absolute(file).map_err(|error| unwritable(error.to_string()))?;
    let name = absolute.to_str().ok_or_else(|| unwritable("its name is no UTF-8".to_owned()))?;
    source.execute("VACUUM INTO ?1", [name]).map_err(|error| unwritable(error.to_string()))?;
    let finish = || -> Result<(), Fault> {
        let mut copy = Connection::open(&absolute)?;
        copy.pragma_update(None, "synchronous", "FULL")?;
        schema::migrate(&mut copy, schema::MIGRATIONS)?;
        read::jobs_and_damage(&copy)?;
        copy.close().map_err(|(_, error)| error.into())
    };
    finish().map_err(|fault| unwritable(fault.of(database).to_string()))?;
    let sync = || -> io::Result<u64> {
        let file = File::open(&absolute)?;
        file.sync_all()?;
        Ok(file.metadata()?.len())
    };
    sync().map_err(|error| unwritable(error.to_string()))
}

/// Gives a complete file its final name.
pub(super) fn put_in_place(unfinished: &Path, file: &Path) -> Result<(), BackupError> {
    if file.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(file.to_owned()));
    }
    let parent = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    fs::rename(unfinished, file)
        // The new name must survive a power failure, too.
        .and_then(|()| sync_directory(parent))
        .map_err(|error| BackupError::Unwritable { path: file.to_owned(), reason: error.to_string() })
}
