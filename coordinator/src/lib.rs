//! The coordinator of n-queens jobs.
//!
//! [`ledger`] decides and [`store`] keeps; [`Coordinator`] runs the two on a thread of their own and connects them to
//! workers and users.

pub mod connections;
mod contributions;
mod coordinator;
mod event_loop;
pub mod grpc;
mod history;
pub mod http;
pub mod intervals;
mod journal;
pub mod ledger;
mod metrics;
mod planners;
mod pulse;
mod seldom;
pub mod store;
mod traces;
mod turns;

pub use contributions::Untold;
pub use coordinator::{
    Coordinator, Details, Handle, JobChange, Snapshot, StartError, Stopped, TooManyJobs, WorkerChange,
    unthreaded,
};
