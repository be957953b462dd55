//! The database of the invitation store: a file of a data directory, or a server that all coordinators share.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use queens_platform::{check_regular_file, new_private_file};
use queens_store::postgres::StoreLocation;
use queens_store::sql::database::Database;
use queens_store::sql::fault::Fault;
use queens_store::sqlite::OpenFiles;
use rusqlite::{Connection, TransactionBehavior};

use super::invitation_store_error::{InvitationStoreError, TransactionError};
use super::postgres_backend::PostgresBackend;

/// The identifier of the file format, and the version of the schema.
const APPLICATION_ID: i64 = 0x4e51_6163;
const VERSION: i64 = 1;

/// SQL that creates the table of SQLite alone.
const PLACE: &str = "
CREATE TABLE place (
    -- The coordinator's address, key pin and URL of pages. Each start of a coordinator writes them.
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    url   TEXT,
    pin   TEXT,
    pages TEXT
) STRICT;
";

/// The file name in a data directory.
const FILE: &str = "access.sqlite3";

/// How long to wait for a concurrent writer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A database with the tables of the invitation store.
#[derive(Debug)]
pub(super) enum InvitationBackend {
    File { connection: Connection, files: Box<OpenFiles>, path: PathBuf },
    PostgresBackend(Box<PostgresBackend>),
}

impl InvitationBackend {
    /// Opens the file of a directory; creates both if needed, readable by the owner only. On a server, the tables are
    /// created at their first use.
    pub(super) fn open(location: &StoreLocation) -> Result<Self, InvitationStoreError> {
        let dir = match location {
            StoreLocation::Directory(dir) => dir,
            StoreLocation::Server(server) => {
                return Ok(Self::PostgresBackend(Box::new(PostgresBackend::of(server.clone()))));
            }
        };
        let path = dir.join(FILE);
        let unusable = |reason: &dyn Display| InvitationStoreError::Unusable {
            place: quoted(&path),
            reason: reason.to_string(),
        };
        fs::create_dir_all(dir)
            .and_then(|()| make_file(&path))
            .and_then(|()| check_regular_file(&path))
            .map_err(|error| unusable(&error))?;
        match connect(&path) {
            Ok((connection, (APPLICATION_ID, VERSION))) => {
                let files = OpenFiles::of(&connection, &path).map_err(|fault| unusable(&fault.reason()))?;
                Ok(Self::File { connection, files: Box::new(files), path })
            }
            Ok((_, (APPLICATION_ID, version))) => {
                Err(unusable(&format_args!("it is of version {version}, and this program knows {VERSION}")))
            }
            Ok(_) => Err(unusable(&"it is another program's")),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// Opens an existing store without creating anything.
    pub(super) fn open_existing(location: &StoreLocation) -> Result<Self, InvitationStoreError> {
        match location {
            StoreLocation::Server(server) => {
                Ok(Self::PostgresBackend(Box::new(PostgresBackend::of_existing(server.clone()))))
            }
            StoreLocation::Directory(dir) if !Self::may_be_at(location) => {
                Err(InvitationStoreError::Absent(dir.clone()))
            }
            StoreLocation::Directory(_) => Self::open(location),
        }
    }

    /// Returns whether a directory has the file. For a server, always true: it may have the tables.
    pub(super) fn may_be_at(location: &StoreLocation) -> bool {
        match location {
            StoreLocation::Directory(dir) => dir.join(FILE).exists(),
            StoreLocation::Server(_) => true,
        }
    }

    /// Runs a read without a transaction. Concurrent writes may be visible.
    pub(super) fn read<T>(
        &mut self,
        work: impl FnOnce(&dyn Database) -> Result<T, Fault>,
    ) -> Result<T, InvitationStoreError> {
        let done = match self {
            Self::File { connection, .. } => work(connection),
            Self::PostgresBackend(shared) => shared.read(work),
        };
        done.map_err(|fault| self.error(&fault))
    }

    /// Runs reads and writes in one transaction, which is rolled back on failure. No other writer changes invitations
    /// or names meanwhile.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&dyn Database) -> Result<T, TransactionError>,
    ) -> Result<T, InvitationStoreError> {
        self.check_files()?;
        let done = match self {
            Self::File { connection, .. } => in_file(connection, work),
            Self::PostgresBackend(shared) => shared.transact(work),
        };
        let done = done.map_err(|not_done| match not_done {
            TransactionError::Refused(error) => error,
            TransactionError::Failed(fault) => self.error(&fault),
        })?;
        self.check_files()?;
        Ok(done)
    }

    /// Checks that no file was removed, replaced or truncated.
    fn check_files(&mut self) -> Result<(), InvitationStoreError> {
        match self {
            Self::File { connection, files, path } => files
                .check(connection)
                .map_err(|reason| InvitationStoreError::Unusable { place: quoted(path), reason }),
            Self::PostgresBackend(_) => Ok(()),
        }
    }

    /// Returns a number that changes whenever another process has changed invitations or names.
    pub(super) fn version(&mut self) -> Result<i64, InvitationStoreError> {
        self.check_files()?;
        let version = match self {
            Self::File { connection, .. } => {
                let version = connection.pragma_query_value(None, "data_version", |row| row.get(0));
                version.map_err(Fault::from)
            }
            Self::PostgresBackend(shared) => shared.version(),
        };
        version.map_err(|fault| self.error(&fault))
    }

    fn error(&self, fault: &Fault) -> InvitationStoreError {
        let reason = fault.reason();
        match self {
            Self::File { path, .. } => InvitationStoreError::Unusable { place: quoted(path), reason },
            Self::PostgresBackend(shared) if fault.may_heal() => {
                InvitationStoreError::Away { place: shared.name(), reason }
            }
            Self::PostgresBackend(shared) => InvitationStoreError::Unusable { place: shared.name(), reason },
        }
    }
}

fn in_file<T>(
    connection: &mut Connection,
    work: impl FnOnce(&dyn Database) -> Result<T, TransactionError>,
) -> Result<T, TransactionError> {
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Fault::from)?;
    let done = work(&*transaction)?;
    transaction.commit().map_err(Fault::from)?;
    Ok(done)
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

/// Creates an empty file, readable by the owner only, if there is none.
fn make_file(path: &Path) -> io::Result<()> {
    match new_private_file(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn connect(path: &Path) -> rusqlite::Result<(Connection, (i64, i64))> {
    // SQLite takes a relative path that begins with "file:" for a URI.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    let found = make_tables(&mut connection)?;
    if found == (APPLICATION_ID, VERSION) {
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
    }
    Ok((connection, found))
}

/// Creates the tables in an empty database; returns the identifier and the version found.
fn make_tables(connection: &mut Connection) -> rusqlite::Result<(i64, i64)> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let ids = |transaction: &Connection| -> rusqlite::Result<(i64, i64)> {
        let id = |name: &str| transaction.pragma_query_value(None, name, |row| row.get(0));
        Ok((id("application_id")?, id("user_version")?))
    };
    let n_tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if ids(&transaction)? == (0, 0) && n_tables == 0 {
        transaction.execute_batch(include_str!("schema.sql"))?;
        transaction.execute_batch(PLACE)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    let found = ids(&transaction)?;
    transaction.commit()?;
    Ok(found)
}
