//! A data directory: whose it is, and that one process at a time has it.
//!
//! There are two locks. That of the file `lock` is for the time in which there is no database yet, and for programs
//! that know no other. That of the database is the one that counts: nobody gets around it by removing `lock`, or by a
//! directory whose `queens.db` is a link to this one's, because it is a lock of the file itself, whatever its name. It
//! is one of `flock`'s, which those of SQLite (`fcntl`'s) do not meet on Linux. Elsewhere they may, so that there
//! `lock` is all.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use queens_ledger::store::StoreError;
use queens_runtime::check_regular_file;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::schema::{self, APPLICATION_ID, VERSION};
use crate::sql::fault::Fault;

/// The database in a data directory.
pub const DATABASE: &str = "queens.db";
const UNFINISHED: &str = "queens.db.new";
pub(super) const LOCK: &str = "lock";

/// A data directory that no other process uses as long as this lives.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    lock: File,
    /// Must stay open for as long as there is a connection: to close a file of a database takes all of SQLite's locks
    /// on it from this process.
    database: Option<File>,
}

impl Directory {
    /// Takes the directory at `path`, making it first if need be.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        // A directory that is not for us stays as it is.
        look_before_locking(path)?;
        fs::create_dir_all(path).map_err(|error| unusable(path, &error))?;
        Self::lock(path)
    }

    /// Takes the directory at `path` if there is a database in it.
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

    /// Whether the database that was opened is the one that is there.
    pub(super) fn check_in_place(&self) -> Result<(), StoreError> {
        let Some(database) = &self.database else { return Ok(()) };
        let number = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let Ok(open) = database.metadata().map(number) else { return Ok(()) };
        match fs::metadata(self.path.join(DATABASE)).map(number) {
            Ok(there) if there == open => Ok(()),
            // What is wrong with the disk is met when something is written.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Ok(()),
            _ => {
                let reason = format!(
                    "'{DATABASE}' was removed or replaced while it was in use: nothing more is written to what was there; \
                     start again to go on with what is there now"
                );
                Err(StoreError::Unusable { place: self.path.as_path().into(), reason })
            }
        }
    }

    /// Opens the database of the directory, making it first if there is none.
    pub(super) fn connect(&mut self) -> Result<Connection, StoreError> {
        // What is in use is not looked at: that would close it.
        self.lock_database()?;
        if !look_at_database(&self.path)? {
            self.create_database()?;
            self.lock_database()?;
        }
        let mut connection =
            open_file(&self.path.join(DATABASE)).map_err(|fault| fault.of_opening(self.path.as_path()))?;
        self.check_version(&connection)?;
        schema::check(&connection).map_err(|fault| fault.of_opening(self.path.as_path()))?;
        set_up(&mut connection).map_err(|fault| fault.of_opening(self.path.as_path()))?;
        Ok(connection)
    }

    /// Takes the lock of the database, if there is one.
    fn lock_database(&mut self) -> Result<(), StoreError> {
        if !cfg!(target_os = "linux") {
            return Ok(());
        }
        let file = match File::open(self.path.join(DATABASE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(|error| unusable(&self.path, &named(DATABASE, &error)))?,
        };
        match file.try_lock() {
            Ok(()) => self.database = Some(file),
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(self.path.as_path().into())),
            Err(TryLockError::Error(error)) => return Err(unusable(&self.path, &named(DATABASE, &error))),
        }
        Ok(())
    }

    /// The version again, as SQLite sees it: that of the file's header is out of date if a newer program has changed
    /// the schema and died before its log was copied into the file.
    fn check_version(&self, connection: &Connection) -> Result<(), StoreError> {
        let check = || -> Result<i32, Fault> {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            let version = schema::version(connection)?;
            if (1..=VERSION).contains(&version) {
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
            }
            Ok(version)
        };
        known_version(&self.path, check().map_err(|fault| fault.of_opening(self.path.as_path()))?)
    }

    /// Makes the database under another name first, so that [`DATABASE`] is complete whenever it is there.
    fn create_database(&self) -> Result<(), StoreError> {
        let log = format!("{DATABASE}-wal");
        if self.path.join(&log).exists() {
            // SQLite would take it for the log of the new database.
            let reason = format!("there is a '{log}' but no '{DATABASE}'");
            return Err(StoreError::Damaged { place: self.path.as_path().into(), reason });
        }
        let unfinished = self.path.join(UNFINISHED);
        let made = remove_unfinished(&self.path)
            .and_then(|()| make_database(&unfinished))
            .map_err(|fault| fault.of_opening(self.path.as_path()))
            .and_then(|()| {
                let renamed = fs::rename(&unfinished, self.path.join(DATABASE));
                // The new name, too, must outlive a power failure.
                renamed
                    .and_then(|()| File::open(&self.path)?.sync_all())
                    .map_err(|error| unusable(&self.path, &error))
            });
        if made.is_err() {
            // The reason why it could not be made says more than why it can't be removed.
            let _ = remove_unfinished(&self.path);
        }
        made
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Closing the file would leave the lock to a child that was forked a moment ago and still has the file.
        // If it can't be unlocked, closing it is the best there is.
        let _ = self.database.as_ref().map(File::unlock);
        let _ = self.lock.unlock();
    }
}

/// As [`look_at_database`], unless the directory may be in use: to close a file of a database takes all locks on it
/// from this process, also those of a connection (<https://www.sqlite.org/howtocorrupt.html>, 2.2). No test shows
/// it: the SQLite built in makes up for it, the older ones an onlooker may have do not.
fn look_before_locking(dir: &Path) -> Result<bool, StoreError> {
    for name in [LOCK, DATABASE] {
        match check_regular_file(&dir.join(name)) {
            // Then `dir` itself is meant.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            found => found.map_err(|error| unusable(dir, &named(name, &error)))?,
        }
    }
    if dir.join(LOCK).exists() { Ok(dir.join(DATABASE).exists()) } else { look_at_database(dir) }
}

/// Whether there is a database of ours in `dir`; an error if it is not for this program to touch.
///
/// Reads the header of the file itself, because SQLite would tidy up after a crash as soon as it reads, and
/// opens it for writing, because SQLite would silently do without.
fn look_at_database(dir: &Path) -> Result<bool, StoreError> {
    let mut header = Vec::with_capacity(100);
    let file = File::options().read(true).write(true).open(dir.join(DATABASE));
    let read = file.and_then(|file| file.take(100).read_to_end(&mut header));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        // Then `dir` itself is meant.
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
    known_version(dir, i32::from_be_bytes(version)).map(|()| true)
}

fn known_version(dir: &Path, version: i32) -> Result<(), StoreError> {
    let place = dir.into();
    match version {
        1..=VERSION => Ok(()),
        ..=0 => {
            Err(StoreError::Damaged { place, reason: format!("'{DATABASE}' has schema version {version}") })
        }
        _ => Err(StoreError::Version {
            place,
            reason: format!(
                "'{DATABASE}' has schema version {version}, this program knows those up to {VERSION}"
            ),
        }),
    }
}

pub(super) fn make_database(file: &Path) -> Result<(), Fault> {
    let mut connection = open_file(file)?;
    schema::make(&mut connection)?;
    connection.close().map_err(|(_, error)| error.into())
}

/// Whether there is a database in `dir` for a reader who does not take the directory.
///
/// # Errors
/// If there is none, or it is not for this program.
pub fn check_database(dir: &Path) -> Result<(), StoreError> {
    if look_before_locking(dir)? { Ok(()) } else { Err(unusable(dir, &no_database())) }
}

/// Opens a database without making or changing anything.
pub(super) fn open_to_read(file: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    check_regular_file(file).map_err(|error| Fault::Unfit(error.to_string()))?;
    file.metadata().map_err(|error| Fault::Unfit(error.to_string()))?;
    let file = std::path::absolute(file).map_err(|error| Fault::Unfit(error.to_string()))?;
    let connection = Connection::open_with_flags(file, flags)?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = schema::version(&connection)?;
    if application != i64::from(APPLICATION_ID) {
        return Err(Fault::Version("it belongs to another program".to_owned()));
    }
    if !(1..=VERSION).contains(&version) {
        return Err(Fault::Version(format!(
            "it has schema version {version}, this program knows those up to {VERSION}"
        )));
    }
    schema::check(&connection)?;
    Ok(connection)
}

pub(super) fn open_file(file: &Path) -> Result<Connection, Fault> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // A relative path that begins with "file:" would be taken for a URI.
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
