//! A worker's side of a session, without threads, clocks and networks.
//!
//! The [`LeaseQueue`] holds a worker's leases: counting threads take chunks from it and put counts on it. The
//! [`WorkerSession`] reports those counts to the coordinator. Both are plain state machines: commands and the time come
//! in, messages go out, and nothing blocks. The worker and the simulation run them.

mod chunk_size;
mod held_lease;
mod lease_queue;
mod report_times;
mod unacknowledged;
mod worker_session;

pub use chunk_size::{ChunkAim, ChunkSize};
pub use held_lease::HeldLease;
pub use lease_queue::{LeaseQueue, LeaseToCount};
pub use worker_session::{AfterStep, Remark, SessionStep, WorkerSession};
