//! Messages to and from their form on the wire.
//!
//! Whatever comes from a network is checked here for what can be checked without knowing any job: sizes, ranges,
//! characters, counts. What depends on a job's plan, such as whether a span lies in its cross, the ledger checks.

mod audit_entry;
mod check;
mod coordinator;
mod event;
mod job;
mod progress_history;
mod session;
mod terms;
mod verdict;
mod worker;

pub(crate) use check::some_line;
pub use check::{InvalidMessage, worker_name};
pub(crate) use session::{MOST_DELTAS, MOST_HELD, MOST_SPANS_HELD};
pub use terms::verify_more;
