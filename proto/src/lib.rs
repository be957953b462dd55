//! What coordinators, workers and operators say to each other.
//!
//! The messages are domain types, checked when they are made. A [`Link`] carries those of a worker's session between
//! the two ends in one process; across processes the same messages travel by gRPC as [`pb`] types, and [`convert`]
//! is where the one becomes the other.

pub mod checksum;
pub mod convert;
mod id;
mod link;
mod message;
mod name;
pub mod page;
pub mod pb;
pub mod plain;
mod priority;
mod status;

pub use id::{JobId, LeaseId, WorkerId};
pub use link::{Link, link};
pub use message::{Delta, Failure, Held, Hello, Lease, LeasedSpan, Report, ToCoordinator, ToWorker};
pub use name::{InvalidName, Name};
pub use priority::{InvalidPriority, Priority};
pub use status::{
    Contribution, Event, EventKind, FleetSpeed, JobState, JobStatus, Progress, WorkerState, WorkerStatus,
};
