//! A PostgreSQL database as the store of jobs and invitations.
//!
//! It has the tables of the SQLite store and a few of its own (`schema.sql`), in the schema `queens`. One
//! coordinator at a time may write (`leader_election.rs`). The others are standbys (`leader_candidate.rs`).

mod combined_statement;
mod connect;
mod fault;
mod history;
mod leader_candidate;
mod leader_election;
mod leader_lease;
pub mod pg_connection;
mod postgres_row;
pub mod schema;
mod server;
mod standby;
mod store;
mod store_location;
mod write_buffer;

pub use self::leader_candidate::LeaderCandidate;
pub use self::leader_election::Contact;
pub use self::leader_lease::LeaderLease;
pub use self::server::{Server, ServerError};
pub use self::standby::{LeaderView, Standby};
pub use self::store::PostgresStore;
pub use self::store_location::StoreLocation;
