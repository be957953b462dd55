//! What has to be known of a store to move all that it keeps.

use queens_ledger::store::{StoreError, StoreName};

use super::database::Database;
use super::fault::Fault;
use crate::archive::Archive;

/// A store that nobody else uses as long as this lives.
pub trait StoreCopy: Archive {
    /// All of it, to be read.
    fn view(&self) -> Result<Box<dyn Database>, StoreError>;

    /// Writes to it in one transaction.
    fn fill(&mut self, work: &mut dyn FnMut(&dyn Database) -> Result<(), Fault>) -> Result<(), StoreError>;

    /// What people call it.
    fn place(&self) -> StoreName;
}
