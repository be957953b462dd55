//! The store interface of a coordinator: the ledger's store, with read access to records and history.

use std::fmt::Debug;
use std::io::Write;
use std::sync::Arc;

use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{Store, StoreError, StoreName};
use queens_model::{Contribution, JobId, Name, Party, PartyTotals, VerdictStatus};

use super::certificate::ExportError;
use super::history::History;
use super::sql::database::Database;
use super::sql::fault::Fault;

/// A store whose records and history people can read.
pub trait Archive: Store {
    /// Returns the kind of the store, for messages.
    fn kind(&self) -> &'static str {
        "memory"
    }

    /// Returns read access to the records, if they are stored outside of this process.
    fn records(&self) -> Option<Arc<dyn Records>> {
        None
    }

    /// Returns the history store, if history is stored outside of this process.
    fn history(&self) -> Option<Box<dyn History>> {
        None
    }
}

/// Keeps everything in this process's memory.
impl Archive for MemoryStore {}

/// Read access to records while the coordinator writes.
pub trait Records: Debug + Send + Sync {
    /// Returns the contributions to a job, or to one of its parts, most work first. Reads all their records.
    ///
    /// # Errors
    /// If they can't be read.
    fn contributions(&self, job: JobId, part: Option<u32>) -> Result<Vec<Contribution>, StoreError>;

    /// Returns the sums over each party's records and recounts of a job, in no order. Reads all of them.
    ///
    /// # Errors
    /// If they can't be read.
    fn party_totals(&self, job: JobId) -> Result<Vec<(Party, PartyTotals)>, StoreError>;

    /// Returns at most `most` verdicts of a job in the order of their spans, after the first `offset`.
    ///
    /// # Errors
    /// If they can't be read.
    fn verdicts(&self, job: JobId, offset: usize, most: usize) -> Result<Vec<VerdictStatus>, StoreError>;

    /// Writes a certificate of a finished job. `program` is the version of this program.
    ///
    /// # Errors
    /// If the job is not done, or reading or writing fails.
    fn export(&self, job: JobId, program: &Name, out: &mut dyn Write) -> Result<(), ExportError>;
}

/// A store that nobody else uses during the lifetime of this value.
pub trait StoreCopy: Archive {
    /// Opens a read view of the whole store.
    fn view(&self) -> Result<Box<dyn Database>, StoreError>;

    /// Writes to the store in one transaction.
    fn fill(&mut self, work: &mut dyn FnMut(&dyn Database) -> Result<(), Fault>) -> Result<(), StoreError>;

    /// Returns the name of the store for messages.
    fn place(&self) -> StoreName;
}
