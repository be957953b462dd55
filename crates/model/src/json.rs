//! JSON views of jobs, workers and events, for `--output json` and the HTTP API.
//!
//! Scripts rely on the names and meanings. Numbers that may exceed 2^53, which JSON readers hold exactly, are strings
//! of digits. The comments of fields become the API's document.

mod contribution;
mod coordinator;
mod job;
#[cfg(feature = "schema")]
pub(crate) mod schema;
mod verdict;
mod worker;

pub use contribution::Contribution;
pub use coordinator::Coordinator;
pub use job::Job;
pub use verdict::Verdict;
pub use worker::{SpeedBy, Worker};
