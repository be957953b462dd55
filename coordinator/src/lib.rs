//! The coordinator of n-queens jobs.
//!
//! The [`Ledger`](queens_ledger::Ledger) decides and [`store`] keeps; [`Coordinator`] runs the two on a thread of their
//! own and connects them to workers and users.

pub mod access;
mod command;
pub mod connections;
mod contributions;
mod coordinator;
mod course;
mod event_loop;
mod exports;
pub mod grpc;
mod handle;
mod history;
pub mod http;
mod journal;
mod metrics;
mod planners;
mod publisher;
mod pulse;
mod seed;
mod seldom;
mod snapshot;
mod standby;
mod status;
pub mod store;
mod telling;
pub mod tls;
mod traces;
mod turns;

pub use contributions::Untold;
pub use coordinator::{Coordinator, StartError, unthreaded};
pub use handle::{Handle, Stopped};
pub use snapshot::{Details, Snapshot};
pub use standby::{Standby, Standing};
