//! Converts between messages and their form on the wire.
//!
//! This validates everything from the network that needs no knowledge of a job: sizes, ranges, characters, counts. The
//! ledger validates the rest, such as whether a span lies in its part.

mod check;
mod coordinator;
mod held;
mod job;
mod own_contribution;
mod session;
mod terms;
mod worker;

pub(crate) use check::some_line;
pub use check::{InvalidMessage, worker_name};
pub use held::{HeldPieces, in_pieces};
pub use terms::verify_more;
