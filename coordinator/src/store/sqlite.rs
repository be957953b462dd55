//! A store in a directory on disk: an SQLite database and a lock.
//!
//! The database is meant to be read with `sqlite3`, also while a coordinator uses it; its tables are explained in the
//! files from `schema_1.sql` on and, the same words, in the database itself. Whoever writes to it by hand can't break
//! the count unseen: [`load`](Store::load) doubts everything it reads, and [`audit()`] adds up the records again.

mod audit;
mod backup;
mod contributions;
mod directory;
mod fault;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::path::Path;
use std::sync::Arc;

use queens_proto::{JobId, Name};
use queens_solver::{Count, Span};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use self::contributions::SqliteRecords;
use self::directory::Directory;
use self::fault::Fault;
use self::read::sql_integer;
use self::write::Sources;
use super::{Recorded, Records, Store, StoreError, Stored, Write};

pub use self::audit::{JobAudit, audit, audit_file};
pub use self::backup::{BackupError, backup};

/// Keeps jobs in a data directory. What a [`commit`](Store::commit) wrote outlives a power failure.
///
/// Durations are kept in whole milliseconds (jobs) and microseconds (records), rounded down.
#[derive(Debug)]
pub struct SqliteStore {
    // Closed before the directory is let go.
    connection: Connection,
    directory: Directory,
    sources: Sources,
}

impl SqliteStore {
    /// Opens the store in the directory `dir`; makes both if they are not there. No other process can open it
    /// until this is dropped. Other files in the directory are left alone.
    ///
    /// # Errors
    /// If the directory can't be used, is in use, or what is in it is not for this program; then nothing in it is
    /// changed.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let directory = Directory::take(dir)?;
        Ok(Self { connection: directory.connect()?, directory, sources: Sources::new() })
    }

    fn transact<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &mut Sources) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let sources = &mut self.sources;
        let done = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(Fault::from)
            .and_then(|transaction| {
                let result = work(&transaction, sources)?;
                transaction.commit()?;
                Ok(result)
            });
        done.map_err(|fault| {
            self.sources.clear();
            fault.of(self.directory.path())
        })
    }
}

impl Store for SqliteStore {
    fn load(&mut self) -> Result<Stored, StoreError> {
        let read = |connection: &Connection| -> Result<Stored, Fault> {
            let (epoch, first_epoch) = read::epochs(connection)?;
            let (blocked, jobs) = (read::blocked(connection)?, read::jobs(connection)?);
            Ok(Stored { epoch, first_epoch, blocked, jobs })
        };
        read(&self.connection).map_err(|fault| fault.of(self.directory.path()))
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        self.transact(|transaction, sources| {
            writes.iter().try_for_each(|write| write::apply(transaction, sources, write))
        })?;
        if writes.iter().any(|write| matches!(write, Write::Plan { .. })) {
            // Copied out of the log, a job and its plan stay if that is lost: then what was recorded is counted again.
            // If it can't be done now, SQLite will do it some time.
            _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
        Ok(())
    }

    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError> {
        find(&self.connection, job, span).map_err(|fault| fault.of(self.directory.path()))
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        Some(Arc::new(SqliteRecords { dir: self.directory.path().to_owned() }))
    }
}

fn find(connection: &Connection, job: JobId, span: Span) -> Result<Option<Recorded>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT record.solutions, record.nodes, source.worker FROM job
         LEFT JOIN record ON record.job = job.id AND cross = ?2 AND first = ?3 AND until = ?4
         LEFT JOIN source ON source.id = record.source
         WHERE job.id = ?1",
    )?;
    let (Ok(from), Ok(to)) = (i64::try_from(span.from()), i64::try_from(span.to())) else { return Ok(None) };
    let mut rows = statement.query(params![sql_integer("job", job.0)?, span.cross(), from, to])?;
    let Some(row) = rows.next()? else { return Err(write::no_job(job)) };
    if row.get_ref("solutions")? == ValueRef::Null {
        return Ok(None);
    }
    let place = format!("record of job {job}, {span}");
    let (solutions, nodes) = (read::integer(row, "solutions", &place)?, read::integer(row, "nodes", &place)?);
    let worker: String = read::cell(row, "worker", &place)?;
    Ok(Some(Recorded { count: Count { solutions, nodes }, worker: Name::of_any(&worker) }))
}
