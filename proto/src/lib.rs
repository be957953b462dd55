//! What coordinators and workers say to each other.
//!
//! The messages are domain types, checked when they are made. A [`Link`] carries them between a coordinator and a
//! worker in one process; across processes the same messages travel by gRPC.

mod id;
mod link;
mod message;

pub use id::{JobId, LeaseId, WorkerId};
pub use link::{Link, link};
pub use message::{Delta, Held, Hello, Lease, LeasedSpan, Report, ToCoordinator, ToWorker};
