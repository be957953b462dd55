//! The coordinator's gRPC services: sessions of workers, and what operators ask for.

mod authorize;
mod jobs;
mod lists;
mod refusal;
mod server;
mod session;
mod standby;
mod watch;

pub use server::{serve, serve_invited};
pub use standby::stand_by;
