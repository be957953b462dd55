//! Stores jobs, records and history for the coordinator.
//!
//! [`sql`] has the tables, the same in every database; [`sqlite`] is the store in a data directory. The store on a
//! database server is in the crate of the program that needs it.

mod archive;
pub mod certificate;
mod clock;
pub mod history;
pub mod seed;
pub mod sql;
pub mod sqlite;

pub use self::archive::{Archive, Records};
pub use self::clock::unix_ms;
pub use self::sql::audit::{JobAudit, RecomputedPlan};
pub use self::sql::export::Exported;
