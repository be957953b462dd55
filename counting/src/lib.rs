//! A worker without a network: counting threads, and the session that receives leases and reports counts.
//!
//! The state machines are in queens-worker-session; this crate adds the threads and the clock. Threads count and know
//! nothing of sessions. The session sends and receives, and counts nothing. The lease queue connects them.

mod config;
mod counter;
mod counting;
mod machine;
mod metrics;
mod session;
mod shared_queue;
mod worker;

pub use config::{Config, Device, Duty};
pub use metrics::Metrics;
pub use session::{Departure, End};
pub use worker::Worker;
