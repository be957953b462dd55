//! The ledger of n-queens jobs, without any I/O: no network, no disk, no clock, no threads.
//!
//! [`Ledger`] decides; [`store`] is what it asks of whoever keeps its decisions.

mod failure;
mod fleet;
mod former;
pub mod intervals;
mod job;
mod jobs;
mod lease;
mod ledger;
mod member;
mod operator;
mod pace;
mod schedule;
mod session;
mod spans;
mod status;
pub mod store;

pub use former::REMEMBERED;
pub use ledger::{Comparison, Effects, Ledger, Loss, RestoreError, UnknownJob};
pub use operator::{JobRefusal, UnknownWorker};
pub use session::{MOST_THREADS_IN_ALL, Outcome, Refusal};
pub use status::CrossStatus;
