//! A worker: counting threads, and the session in which it gets leases and reports what they count to.
//!
//! What a worker holds and what it says is decided in queens-desk. Here are the threads, the clock and the networks.
//! The threads count and know nothing of networks; the session talks and counts nothing; between them is the desk.

mod config;
mod counting;
pub mod http;
mod machine;
mod metrics;
mod patience;
pub mod remote;
mod session;
mod shared_desk;
mod worker;

pub use config::Config;
pub use metrics::Metrics;
pub use session::End;
pub use worker::Worker;
