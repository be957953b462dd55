//! The coordinator's gRPC services: workers' sessions, and job management for operators.

mod authorize;
mod jobs;
mod lists;
mod own_contribution;
mod refusal;
mod server;
mod session;
mod standby;
mod watch;
mod worker_news;

pub(crate) use server::serve;
pub use server::serve_to_all;
pub(crate) use standby::stand_by;
