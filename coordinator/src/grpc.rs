//! The coordinator's gRPC services: workers' sessions, and job management for operators.

mod jobs;
mod lists;
mod own_contribution;
mod server;
mod session;
mod worker_news;

pub use server::serve_to_all;
pub(crate) use server::{serve, stand_by};
