//! The coordinator of n-queens jobs, as a server.
//!
//! Other crates decide and persist ([`queens_event_loop`]). This crate connects them to the network: authentication
//! ([`auth`]), gRPC ([`grpc`]), HTTP ([`http`]) and database servers ([`store`]).

pub mod auth;
pub mod connections;
pub mod grpc;
pub mod http;
mod standby;
pub mod store;
pub mod tls;

pub use standby::{LeaderView, Standby};
