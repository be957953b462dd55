//! A store in a directory on disk: an SQLite database and a lock.
//!
//! The database is meant to be read with `sqlite3`, also while a coordinator uses it; its tables are explained in the
//! files from `schema_1.sql` on and, the same words, in the database itself. Each row carries a digest (`digest.rs`),
//! so that damage, and writing to it by hand, can't break the count unseen: [`load`](Store::load) doubts everything it
//! reads, and [`audit()`] makes the plans and adds up the records again.

mod audit;
mod backup;
mod contributions;
mod counted_by;
mod digest;
mod directory;
mod draw;
mod export;
mod export_body;
mod fault;
mod history;
mod migrate;
mod read;
mod recover;
mod salvage;
mod schema;
mod tally;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod tests;
mod verdicts;
mod write;

use std::path::Path;
use std::sync::Arc;

use queens_messages::JobId;
use queens_solver::Span;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use self::contributions::SqliteRecords;
use self::digest::{BLOCKED_WORKER, EPOCH, JOB};
use self::directory::Directory;
use self::draw::{Before, Reader};
use self::fault::Fault;
use self::history::HistoryFile;
use self::write::Known;
use super::history::History;
use super::{Archive, Records};
use queens_ledger::store::draw::{Draw, Drawn, Recorded};
use queens_ledger::store::{Store, StoreError, Stored, Write};

pub use self::audit::{JobAudit, Truth, audit, audit_against, audit_file};
pub use self::backup::{BackupError, backup};
pub use self::counted_by::{CountedBy, counted_by};
pub use self::directory::{DATABASE, check_database};
pub use self::export::{Exported, export_to, note_exported};
pub use self::history::HISTORY;
pub use self::recover::{RecoverError, Recovered, RecoveredJob, recover};

/// Keeps jobs in a data directory. What a [`commit`](Store::commit) wrote outlives a power failure.
///
/// Durations are kept in whole milliseconds (jobs) and microseconds (records), rounded down.
#[derive(Debug)]
pub struct SqliteStore {
    // Closed before the directory is let go.
    connection: Connection,
    directory: Arc<Directory>,
    known: Known,
    before: Before,
    keeps_history: bool,
}

impl SqliteStore {
    /// Opens the store in the directory `dir`; makes both if they are not there. No other process can open it
    /// until this is dropped. Other files in the directory are left alone.
    ///
    /// # Errors
    /// If the directory can't be used, is in use, or what is in it is not for this program; then nothing in it is
    /// changed.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let mut directory = Directory::take(dir)?;
        let connection = directory.connect()?;
        Ok(Self {
            connection,
            directory: Arc::new(directory),
            known: Known::default(),
            before: Before::default(),
            keeps_history: false,
        })
    }

    /// The same store, which keeps what has happened as well, for people who look.
    #[must_use]
    pub fn with_history(self) -> Self {
        Self { keeps_history: true, ..self }
    }

    fn transact<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &mut Known) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let known = &mut self.known;
        let done = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(Fault::from)
            .and_then(|transaction| {
                let result = work(&transaction, known)?;
                transaction.commit()?;
                Ok(result)
            });
        done.map_err(|fault| {
            self.known = Known::default();
            fault.of(self.directory.path())
        })
    }
}

impl Store for SqliteStore {
    fn load(&mut self) -> Result<Stored, StoreError> {
        let read = |connection: &Connection| -> Result<Stored, Fault> {
            let (epoch, first_epoch) = read::epochs(connection).map_err(|fault| fault.at(&EPOCH))?;
            let blocked = read::blocked(connection).map_err(|fault| fault.at(&BLOCKED_WORKER))?;
            let jobs = read::jobs(connection).map_err(|fault| fault.at(&JOB))?;
            Ok(Stored { epoch, first_epoch, blocked, jobs })
        };
        read(&self.connection).map_err(|fault| fault.of(self.directory.path()))
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        self.transact(|transaction, known| {
            writes.iter().try_for_each(|write| write::apply(transaction, known, write))
        })?;
        if writes.iter().any(|write| matches!(write, Write::Plan { .. })) {
            // Copied out of the log, a job and its plan stay if that is lost: then what was recorded is counted again.
            // If it can't be done now, SQLite will do it some time.
            _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
        Ok(())
    }

    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError> {
        let board = write::board(&self.connection, &mut self.known, job);
        board
            .and_then(|board| Reader::new(&self.connection, job, board).find(span))
            .map_err(|fault| fault.at(format_args!("record of job {job}, {span}")).of(self.directory.path()))
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, StoreError> {
        let board = write::board(&self.connection, &mut self.known, draw.job);
        board
            .and_then(|board| Reader::new(&self.connection, draw.job, board).draw(draw, &mut self.before))
            .map_err(|fault| fault.at(format_args!("records of job {}", draw.job)).of(self.directory.path()))
    }
}

impl Archive for SqliteStore {
    fn kind(&self) -> &'static str {
        "sqlite"
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        Some(Arc::new(SqliteRecords { dir: self.directory.path().to_owned() }))
    }

    fn history(&self) -> Option<Box<dyn History>> {
        self.keeps_history.then(|| Box::new(HistoryFile::of(self.directory.clone())) as Box<dyn History>)
    }
}
