//! The coordinator of n-queens jobs.
//!
//! The [`Ledger`](queens_ledger::Ledger) decides and [`store`] keeps; [`Coordinator`] runs the two on a thread of their
//! own and connects them to workers and users.

pub mod connections;
mod contributions;
mod coordinator;
mod event_loop;
pub mod grpc;
mod history;
pub mod http;
mod journal;
mod metrics;
mod planners;
mod pulse;
mod seldom;
mod status;
pub mod store;
mod traces;
mod turns;

pub use contributions::Untold;
pub use coordinator::{
    Coordinator, Details, Handle, JobChange, Snapshot, StartError, Stopped, TooManyJobs, WorkerChange,
    unthreaded,
};
