//! A store in a PostgreSQL database.
//!
//! It has the tables of the SQLite store and a few of its own (`postgres/schema.sql`), in the schema `queens`. One
//! coordinator at a time may write (`leader_election.rs`). The others are standbys (`leader_candidate.rs`).

mod atomic_write;
mod connect;
mod fault;
mod history;
mod leader_candidate;
mod leader_election;
mod leader_lease;
mod read_only;
mod row;
pub(crate) mod schema;
mod server;
pub(crate) mod session;
mod store;
mod write_buffer;

pub use self::leader_candidate::LeaderCandidate;
pub use self::leader_election::Contact;
pub use self::leader_lease::LeaderLease;
pub use self::server::{Server, ServerError};
pub(crate) use self::store::recover;
pub use self::store::{PostgresStore, audit};
