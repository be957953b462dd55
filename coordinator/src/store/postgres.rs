//! A store in a PostgreSQL database.
//!
//! The same tables as in SQLite (`postgres/schema.sql`), in a schema of their own, `queens`. One coordinator at a time
//! may write (`lead.rs`); others stand by until they lead (`candidate.rs`).

mod candidate;
mod connect;
mod fault;
mod history;
mod lead;
mod row;
pub(crate) mod schema;
mod server;
pub(crate) mod session;
mod single;
mod store;
mod tenure;
mod views;
mod waiting;

pub use self::candidate::Candidate;
pub use self::lead::Contact;
pub use self::server::{Server, ServerError};
pub(crate) use self::store::recover;
pub use self::store::{PostgresStore, audit};
pub use self::tenure::Tenure;
