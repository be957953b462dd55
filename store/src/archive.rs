//! What a coordinator asks of whatever keeps its jobs, besides what the ledger does.

use std::fmt::Debug;
use std::io::Write;
use std::sync::Arc;

use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{Store, StoreError};
use queens_model::{Contribution, JobId, Name, VerdictStatus};

use super::certificate::ExportError;
use super::history::History;

/// A store with what people want to read of it.
pub trait Archive: Store {
    /// What people call it.
    fn kind(&self) -> &'static str {
        "memory"
    }

    /// A way to read the records beside, if they are kept outside of this process.
    fn records(&self) -> Option<Arc<dyn Records>> {
        None
    }

    /// Where history is kept, if anything is kept outside of this process.
    fn history(&self) -> Option<Box<dyn History>> {
        None
    }
}

/// Nothing of it outlives the process.
impl Archive for MemoryStore {}

/// Records that are read while the coordinator writes others.
pub trait Records: Debug + Send + Sync {
    /// Who has counted a job, or one of its crosses: those with the most nodes first. Reads all their records.
    ///
    /// # Errors
    /// If they can't be read.
    fn contributions(&self, job: JobId, cross: Option<u32>) -> Result<Vec<Contribution>, StoreError>;

    /// What was decided about spans of a job, in their order: at most so many, without the first `offset`.
    ///
    /// # Errors
    /// If it can't be read.
    fn verdicts(&self, job: JobId, offset: usize, most: usize) -> Result<Vec<VerdictStatus>, StoreError>;

    /// Writes a certificate of a job that is done. `program` is the version of this program.
    ///
    /// # Errors
    /// If the job is not done, or something can't be read or written.
    fn export(&self, job: JobId, program: &Name, out: &mut dyn Write) -> Result<(), ExportError>;
}
