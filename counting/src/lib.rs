//! A worker without a network: counting threads, and the session in which it gets leases and reports what they count to.
//!
//! What a worker holds and what it says is decided in queens-worker-session. Here are the threads and the clock. The threads count
//! and know nothing of sessions; the session talks and counts nothing; between them is the desk.

mod config;
mod counting;
mod machine;
mod metrics;
mod session;
mod shared_queue;
mod worker;

pub use config::{Config, Duty};
pub use metrics::Metrics;
pub use session::{Departure, End};
pub use worker::Worker;
