//! The SQLite store: a data directory with a database and a lock.
//!
//! Operators may read the database with `sqlite3`, also while a coordinator uses it. `schema.sql` explains the tables;
//! the database contains the same comments. [`load`](Store::load) validates everything it reads. [`audit()`] makes the
//! plans again and sums the records.

mod backup;
mod certificate;
mod directory;
pub(crate) mod history;
mod open_files;
mod proof;
pub(crate) mod recover;
mod repair;
mod schema;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use queens_ledger::store::draw::{Draw, Drawn, Recorded};
use queens_ledger::store::{Store, StoreError, StoreName, Stored, Write};
use queens_model::JobId;
use queens_solver::Span;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use self::directory::{Directory, SqliteViews, open_to_read};
use self::history::HistoryFile;
use super::archive::{Archive, Records, StoreCopy};
use super::history::History;
use super::sql::contributions::{CountedBy, by_source};
use super::sql::database::{Database, Views};
use super::sql::fault::Fault;
use super::sql::records::SqlRecords;
use super::sql::tables::Tables;

pub use self::backup::{BackupError, Restoring, backup, restore};
pub use self::certificate::{export_to, note_exported};
pub use self::directory::{DATABASE, check_database};
pub use self::history::HISTORY;
pub use self::open_files::OpenFiles;
pub use self::proof::{audit, audit_against, audit_file};
pub use self::recover::{RecoverError, recover};
pub use self::repair::{Recovered, RecoveredJob};
pub use self::schema::TABLES;

/// Stores jobs in a data directory. A [`commit`](Store::commit) survives a power failure.
///
/// Durations are stored in whole milliseconds (jobs) and microseconds (records), rounded down.
#[derive(Debug)]
pub struct SqliteStore {
    // Closed before the directory is unlocked.
    connection: Connection,
    files: OpenFiles,
    directory: Arc<Directory>,
    tables: Tables,
    keeps_history: bool,
}

impl SqliteStore {
    /// Opens the store in the directory `dir`; creates both if they don't exist. No other process can open it until
    /// this value is dropped. Other files in the directory stay unchanged.
    ///
    /// # Errors
    /// If the directory is unusable, in use, or not for this program; then nothing in it is changed.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let mut directory = Directory::take(dir)?;
        let connection = directory.connect()?;
        let files = OpenFiles::of(&connection, &dir.join(DATABASE)).map_err(|fault| fault.of_opening(dir))?;
        Ok(Self {
            connection,
            files,
            directory: Arc::new(directory),
            tables: Tables::default(),
            keeps_history: false,
        })
    }

    /// Opens the store like [`open`](Self::open), if the directory has a database.
    ///
    /// # Errors
    /// If there is none, or for the reasons of [`open`](Self::open).
    pub fn open_existing(dir: &Path) -> Result<Self, StoreError> {
        check_database(dir)?;
        Self::open(dir)
    }

    /// Makes the store keep history, too.
    #[must_use]
    pub fn with_history(self) -> Self {
        Self { keeps_history: true, ..self }
    }

    fn check_files(&mut self) -> Result<(), StoreError> {
        let place = self.directory.path();
        self.files
            .check(&self.connection)
            .map_err(|reason| StoreError::Unusable { place: place.into(), reason })
    }

    fn transact<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &mut Tables) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.check_files()?;
        let tables = &mut self.tables;
        let done = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(Fault::from)
            .and_then(|transaction| {
                let result = work(&transaction, tables)?;
                transaction.commit()?;
                Ok(result)
            });
        let done = done.map_err(|fault| {
            self.tables = Tables::default();
            fault.of(self.directory.path())
        })?;
        self.check_files()?;
        Ok(done)
    }
}

impl Store for SqliteStore {
    fn load(&mut self) -> Result<Stored, StoreError> {
        Tables::load(&self.connection).map_err(|fault| fault.of(self.directory.path()))
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        self.transact(|transaction, tables| tables.write(&**transaction, writes))?;
        if writes.iter().any(|write| matches!(write, Write::Plan { .. })) {
            // After this checkpoint, a job and its plan survive the loss of the log; only its records must be counted
            // again. If it fails now, SQLite makes a checkpoint later.
            _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
        Ok(())
    }

    fn confirm(&mut self) -> Result<(), StoreError> {
        self.check_files()
    }

    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError> {
        self.tables.find(&self.connection, job, span).map_err(|fault| fault.of(self.directory.path()))
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, StoreError> {
        self.tables.draw(&self.connection, draw).map_err(|fault| fault.of(self.directory.path()))
    }
}

impl StoreCopy for SqliteStore {
    fn view(&self) -> Result<Box<dyn Database>, StoreError> {
        let views = SqliteViews { dir: self.directory.path().to_owned() };
        views.view().map_err(|fault| fault.of(self.directory.path()))
    }

    fn fill(&mut self, work: &mut dyn FnMut(&dyn Database) -> Result<(), Fault>) -> Result<(), StoreError> {
        self.transact(|transaction, _| work(&**transaction))
    }

    fn place(&self) -> StoreName {
        self.directory.path().into()
    }
}

impl Archive for SqliteStore {
    fn kind(&self) -> &'static str {
        "sqlite"
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        let dir = self.directory.path().to_owned();
        Some(Arc::new(SqlRecords { views: SqliteViews { dir: dir.clone() }, key: dir }))
    }

    fn history(&self) -> Option<Box<dyn History>> {
        self.keeps_history.then(|| Box::new(HistoryFile::of(self.directory.clone())) as Box<dyn History>)
    }
}

/// Sums the work of each source of a job's records in the data directory `dir`, most work first. Reads every record of
/// the job, also while a coordinator uses the directory.
///
/// # Errors
/// If the records can't be read or are invalid.
pub fn counted_by(dir: &Path, job: JobId) -> Result<Vec<CountedBy>, StoreError> {
    let file = dir.join(DATABASE);
    let read = open_to_read(&file).and_then(|connection| by_source(&connection, job, None));
    let mut all = read.map_err(|fault| fault.of_opening(dir))?;
    all.sort_by(|a, b| (b.work, &a.source.name).cmp(&(a.work, &b.source.name)));
    Ok(all)
}
