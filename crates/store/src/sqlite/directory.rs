//! The data directory: checks whose it is, and locks it for one process.
//!
//! There are two locks. The lock of the file `lock` serves while there is no database yet, and for programs that know
//! no other. The lock of the database decides. It is a lock of the file itself, whatever its name: neither removing
//! `lock` nor a directory whose `queens.db` links to this one bypasses it. Only Linux has it; elsewhere `lock` is the
//! only one.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use queens_ledger::store::{StoreError, StoreName};
use queens_platform::{check_regular_file, lock_database, sync_directory};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::schema::{self, APPLICATION_ID, VERSION};
use crate::sql::database::{Database, Views};
use crate::sql::fault::Fault;

/// The name of the database in a data directory.
pub const DATABASE: &str = "queens.db";
const UNFINISHED: &str = "queens.db.new";
pub(super) const LOCK: &str = "lock";

/// A data directory that no other process uses during the lifetime of this value.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    lock: File,
    /// Must stay open while a connection exists: closing a file of a database releases all of this process's SQLite
    /// locks on it.
    database: Option<File>,
}

impl Directory {
    /// Locks the directory at `path`; creates it if needed.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        // A directory of another program stays unchanged.
        look_before_locking(path)?;
        fs::create_dir_all(path).map_err(|error| unusable(path, &error))?;
        Self::lock(path)
    }

    /// Locks the directory at `path` if it has a database.
    pub(super) fn take_existing(path: &Path) -> Result<Self, StoreError> {
        if look_before_locking(path)? { Self::lock(path) } else { Err(unusable(path, &no_database())) }
    }

    fn lock(path: &Path) -> Result<Self, StoreError> {
        let file = File::options().create(true).truncate(false).write(true).open(path.join(LOCK));
        let file = file.map_err(|error| unusable(path, &named(LOCK, &error)))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), lock: file, database: None }),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse(path.into())),
            Err(TryLockError::Error(error)) => Err(unusable(path, &named(LOCK, &error))),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the database of the directory; creates it if there is none.
    pub(super) fn connect(&mut self) -> Result<Connection, StoreError> {
        // Locks first: inspecting a database in use would close its file.
        self.lock_database()?;
        if !look_at_database(&self.path)? {
            self.create_database()?;
            self.lock_database()?;
        }
        let open = || -> Result<Connection, Fault> {
            let mut connection = open_file(&self.path.join(DATABASE))?;
            check_version(&connection)?;
            schema::check(&connection)?;
            set_up(&mut connection)?;
            Ok(connection)
        };
        open().map_err(|fault| fault.of_opening(self.path.as_path()))
    }

    /// Locks the database, if there is one.
    fn lock_database(&mut self) -> Result<(), StoreError> {
        match lock_database(&self.path.join(DATABASE)) {
            Ok(locked) => self.database = locked,
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(self.path.as_path().into())),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(TryLockError::Error(error)) => return Err(unusable(&self.path, &named(DATABASE, &error))),
        }
        Ok(())
    }

    /// Creates the database under another name first, so that [`DATABASE`] is always complete.
    fn create_database(&self) -> Result<(), StoreError> {
        let log = format!("{DATABASE}-wal");
        if self.path.join(&log).exists() {
            // SQLite would apply it to the new database.
            let reason = format!("there is a '{log}' but no '{DATABASE}'");
            return Err(StoreError::Damaged { place: self.path.as_path().into(), reason });
        }
        let unfinished = self.path.join(UNFINISHED);
        let made = remove_unfinished(&self.path)
            .and_then(|()| make_database(&unfinished))
            .map_err(|fault| fault.of_opening(self.path.as_path()))
            .and_then(|()| {
                let renamed = fs::rename(&unfinished, self.path.join(DATABASE));
                // The new name must survive a power failure, too.
                renamed
                    .and_then(|()| sync_directory(&self.path))
                    .map_err(|error| unusable(&self.path, &error))
            });
        if made.is_err() {
            // An error here says less than the reason why the creation failed.
            let _ = remove_unfinished(&self.path);
        }
        made
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Closing alone would leave the lock to a child that was forked a moment ago and still has the file. If
        // unlocking fails, closing is the best option left.
        let _ = self.database.as_ref().map(File::unlock);
        let _ = self.lock.unlock();
    }
}

/// Calls [`look_at_database`], unless the directory may be in use. Closing a file of a database releases all of this
/// process's locks on it, also those of a connection (<https://www.sqlite.org/howtocorrupt.html>, 2.2). No test shows
/// it: the built-in SQLite compensates, but an older one of a reader may not.
fn look_before_locking(dir: &Path) -> Result<bool, StoreError> {
    for name in [LOCK, DATABASE] {
        match check_regular_file(&dir.join(name)) {
            // Then the error is about `dir` itself.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            found => found.map_err(|error| unusable(dir, &named(name, &error)))?,
        }
    }
    if dir.join(LOCK).exists() { Ok(dir.join(DATABASE).exists()) } else { look_at_database(dir) }
}

/// Returns whether `dir` has a database of ours. Fails if the database is not for this program.
///
/// Reads the header of the file itself, because SQLite would recover from a crash at its first read. Opens it for
/// writing, because SQLite would silently fall back to reading only.
fn look_at_database(dir: &Path) -> Result<bool, StoreError> {
    let mut header = Vec::with_capacity(100);
    let file = File::options().read(true).write(true).open(dir.join(DATABASE));
    let read = file.and_then(|file| file.take(100).read_to_end(&mut header));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        // Then the error is about `dir` itself.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(unusable(dir, &error)),
        Err(error) => return Err(unusable(dir, &named(DATABASE, &error))),
        Ok(_) => {}
    }
    // https://www.sqlite.org/fileformat2.html#the_database_header
    let word = |at: usize| header.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    let (true, Some(version), Some(application)) =
        (header.starts_with(b"SQLite format 3\0"), word(60), word(68))
    else {
        let reason = format!("'{DATABASE}' is no SQLite database");
        return Err(StoreError::Damaged { place: dir.into(), reason });
    };
    let application = u32::from_be_bytes(application);
    if application != APPLICATION_ID {
        let reason = format!(
            "'{DATABASE}' belongs to another program (application id {application:#010x}, not {APPLICATION_ID:#010x})"
        );
        return Err(StoreError::Version { place: dir.into(), reason });
    }
    let known = schema::check_version(i32::from_be_bytes(version));
    known.map(|()| true).map_err(|fault| fault.of_opening(dir))
}

/// Checks the version again, as SQLite sees it. The header of the file is out of date if a newer program changed the
/// schema and died before its log was copied into the file.
fn check_version(connection: &Connection) -> Result<(), Fault> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    schema::check_version(schema::version(connection)?)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(())
}

pub(super) fn make_database(file: &Path) -> Result<(), Fault> {
    let mut connection = open_file(file)?;
    schema::make(&mut connection)?;
    connection.close().map_err(|(_, error)| error.into())
}

/// Checks that `dir` has a database, for readers that don't lock the directory.
///
/// # Errors
/// If there is none, or it is not for this program.
pub fn check_database(dir: &Path) -> Result<(), StoreError> {
    if look_before_locking(dir)? { Ok(()) } else { Err(unusable(dir, &no_database())) }
}

/// Opens a database without creating or changing anything.
pub(super) fn open_to_read(file: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    check_regular_file(file).map_err(|error| Fault::Unfit(error.to_string()))?;
    file.metadata().map_err(|error| Fault::Unfit(error.to_string()))?;
    let file = std::path::absolute(file).map_err(|error| Fault::Unfit(error.to_string()))?;
    let connection = Connection::open_with_flags(file, flags)?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != i64::from(APPLICATION_ID) {
        return Err(Fault::Version("it belongs to another program".to_owned()));
    }
    schema::check_version(schema::version(&connection)?)?;
    schema::check(&connection)?;
    Ok(connection)
}

pub(super) fn open_file(file: &Path) -> Result<Connection, Fault> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // SQLite would take a relative path that begins with "file:" for a URI.
    let file = std::path::absolute(file).map_err(|error| Fault::Unfit(error.to_string()))?;
    check_regular_file(&file).map_err(|error| Fault::Unfit(error.to_string()))?;
    Ok(Connection::open_with_flags(file, flags)?)
}

fn set_up(connection: &mut Connection) -> Result<(), Fault> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::Unfit(format!("its file system has no shared memory for SQLite (log '{mode}')")));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    schema::migrate(connection, schema::MIGRATIONS)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

fn remove_unfinished(dir: &Path) -> Result<(), Fault> {
    for file in [UNFINISHED.to_owned(), format!("{UNFINISHED}-journal")] {
        match fs::remove_file(dir.join(&file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Fault::Unfit(named(&file, &error).to_string()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn named(file: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("'{file}': {error}"))
}

fn no_database() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no '{DATABASE}' in it"))
}

fn unusable(dir: &Path, error: &io::Error) -> StoreError {
    StoreError::Unusable { place: dir.into(), reason: error.to_string() }
}

/// The database of a data directory.
#[derive(Debug)]
pub(super) struct SqliteViews {
    pub(super) dir: PathBuf,
}

impl Views for SqliteViews {
    fn view(&self) -> Result<Box<dyn Database>, Fault> {
        let connection = open_to_read(&self.dir.join(DATABASE))?;
        // Ends when the connection is closed.
        connection.execute_batch("BEGIN")?;
        if schema::version(&connection)? != VERSION {
            let reason = "a coordinator that is started on it brings it up to the present version".to_owned();
            return Err(Fault::Version(reason));
        }
        Ok(Box::new(connection))
    }

    fn place(&self) -> StoreName {
        self.dir.as_path().into()
    }
}
