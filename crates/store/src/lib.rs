//! Stores jobs, records and history for the coordinator.
//!
//! [`sql`] has the tables, the same in every database; [`sqlite`] is the store in a data directory, [`postgres`] the
//! one on a database server, for programs that need it.

mod archive;
pub mod certificate;
mod clock;
pub mod history;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod seed;
pub mod sql;
pub mod sqlite;

pub use self::archive::{Archive, Records, StoreCopy};
pub use self::clock::unix_ms;
pub use self::sql::audit::JobAudit;
pub use self::sql::contributions::CountedBy;
pub use self::sql::export::Exported;
