//! The coordinator of n-queens jobs, as a server.
//!
//! What decides and keeps is in other crates ([`queens_event_loop`]). Here is what stands between it and the network:
//! who is let in ([`auth`]), gRPC ([`grpc`]), HTTP ([`http`]) and databases on servers ([`store`]).

pub mod auth;
pub mod connections;
pub mod grpc;
pub mod http;
mod standby;
pub mod store;
pub mod tls;

pub use standby::{Standby, Standing};
