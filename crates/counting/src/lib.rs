//! A worker without a network: counting threads, and the session that receives leases and reports counts.
//!
//! The state machines are in queens-worker-session; this crate adds the threads and the clock. Threads count and know
//! nothing of sessions. The session sends and receives, and counts nothing. The lease queue connects them.

mod card_probe;
mod config;
mod counter;
mod counting;
mod leave_requests;
mod metrics;
mod sensor_monitor;
mod session;
mod shared_queue;
mod worker;

pub use card_probe::{CardProbe, ProbedChunk, probe_card};
pub use config::{Config, Device, Duty, default_threads};
pub use counter::threads_of;
pub use leave_requests::{LeaveRequests, PauseFlag};
pub use metrics::{Activity, Counted, Metrics};
pub use session::{Departure, End};
pub use worker::Worker;
