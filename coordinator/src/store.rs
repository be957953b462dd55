//! Where jobs and invitations are stored: the PostgreSQL store, migration between stores, and restores.

mod migrate_store;
pub mod postgres;
mod restore_directory;
pub(crate) mod store_location;

pub use self::migrate_store::{MoveError, Moved, move_all};
pub use self::restore_directory::{RestoreError, Restored, restore};
pub use self::store_location::StoreLocation;
