//! The ledger of n-queens jobs, without any I/O: no network, no disk, no clock, no threads.
//!
//! [`Ledger`] decides; [`store`] is what it asks of whoever keeps its decisions; [`Core`] is a whole coordinator but for
//! what connects it to the world.

mod attendance;
mod clock;
mod core;
mod failure;
mod fleet;
mod former;
pub mod intervals;
mod job;
mod jobs;
mod lease;
mod ledger;
mod member;
mod note;
mod operator;
mod pace;
mod schedule;
mod session;
mod spans;
mod status;
pub mod store;

pub use attendance::Session;
pub use core::{Batch, Core, Due, Durable, MOST_OPEN_JOBS, Sealed, TooManyJobs};
pub use former::REMEMBERED;
pub use ledger::{Comparison, Effects, Ledger, Loss, RestoreError, UnknownJob};
pub use note::Note;
pub use operator::{JobChange, JobRefusal, UnknownWorker, WorkerChange};
pub use session::{MOST_THREADS_IN_ALL, Outcome, Refusal};
pub use status::CrossStatus;
