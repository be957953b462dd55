//! The coordinator's gRPC services: sessions of workers, and what operators ask for.

mod gate;
mod jobs;
mod lists;
mod refusal;
mod server;
mod session;
mod told;
mod watch;

pub use server::{serve, serve_invited};
