//! The ledger of n-queens jobs, without any I/O: no network, no disk, no clock, no threads.
//!
//! [`Ledger`] decides; [`store`] is what it asks of whoever keeps its decisions.

mod book;
mod changes;
mod effects;
mod events;
pub mod intervals;
mod jobs;
mod later;
mod leases;
mod ledger;
mod load;
mod pace;
mod records;
mod schedule;
mod spans;
mod status;
pub mod store;
mod work;
mod workers;

pub use effects::{Comparison, Effects, Loss};
pub use events::jobs::UnknownJob;
pub use events::operators::{JobRefusal, UnknownWorker};
pub use events::refusal::{MOST_THREADS_IN_ALL, Refusal};
pub use events::reports::Outcome;
pub use jobs::restore::RestoreError;
pub use leases::former::REMEMBERED;
pub use ledger::Ledger;
pub use status::CrossStatus;
