//! Jobs, workers and events as JSON: what `--output json` prints and what the HTTP API answers.
//!
//! Scripts rely on names and meanings. Numbers that may outgrow what JSON readers hold exactly (2^53) are strings of
//! digits. A description of a field goes into the document of the HTTP API as it stands here.

mod audit_entry;
mod contribution;
mod coordinator;
mod event;
mod job;
#[cfg(feature = "schema")]
mod schema;
mod verdict;
mod worker;

pub use audit_entry::AuditEntry;
pub use contribution::Contribution;
pub use coordinator::Coordinator;
pub use event::Event;
pub use job::Job;
pub use verdict::Verdict;
pub use worker::{SpeedBy, Worker};
