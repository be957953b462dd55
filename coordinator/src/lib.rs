//! The coordinator of n-queens jobs.
//!
//! [`ledger`] decides and [`store`] keeps; [`Coordinator`] runs the two on a thread of their own and connects them to
//! workers and users.

mod coordinator;
mod event_loop;
pub mod grpc;
pub mod intervals;
pub mod ledger;
mod planners;
pub mod store;

pub use coordinator::{
    Coordinator, Handle, JobChange, Snapshot, StartError, Stopped, WorkerChange, unthreaded,
};
