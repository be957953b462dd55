//! The operations that copying a store needs.

use queens_ledger::store::{StoreError, StoreName};

use super::database::Database;
use super::fault::Fault;
use crate::archive::Archive;

/// A store that nobody else uses during the lifetime of this value.
pub trait StoreCopy: Archive {
    /// Opens a read view of the whole store.
    fn view(&self) -> Result<Box<dyn Database>, StoreError>;

    /// Writes to the store in one transaction.
    fn fill(&mut self, work: &mut dyn FnMut(&dyn Database) -> Result<(), Fault>) -> Result<(), StoreError>;

    /// Returns the name of the store for messages.
    fn place(&self) -> StoreName;
}
