//! Where what the ledger wants kept is kept, and what lies beside it.
//!
//! [`sql`] are the tables, the same in every database; [`sqlite`] is a directory with one. What keeps the same tables on a
//! server is in the crate of the program that needs it.

mod archive;
pub mod certificate;
mod clock;
pub mod history;
pub mod seed;
pub mod sql;
pub mod sqlite;

pub use self::archive::{Archive, Records};
pub use self::clock::unix_ms;
pub use self::sql::audit::{JobAudit, Truth};
pub use self::sql::export::Exported;
