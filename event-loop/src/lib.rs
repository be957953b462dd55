//! A coordinator without servers: what decides, what keeps, and how everybody talks to the two.
//!
//! The [`Ledger`](queens_ledger::Ledger) decides and a store keeps; [`Coordinator`] runs the two on a thread of their own
//! and connects them to workers and users, who are in this process or speak through its servers.

mod command;
mod contributions;
mod coordinator;
mod course;
mod deed;
mod event_loop;
mod exports;
mod handle;
pub mod history;
mod journal;
pub mod metrics;
mod planners;
mod publisher;
mod pulse;
mod seldom;
mod snapshot;
mod status;
mod telling;
mod traces;
mod turns;

pub use contributions::Untold;
pub use coordinator::{Coordinator, StartError, unthreaded};
pub use deed::Deed;
pub use exports::{NoExport, Pieces};
pub use handle::{Handle, Stopped};
pub use seldom::Seldom;
pub use snapshot::{Details, Snapshot};
