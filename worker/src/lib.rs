//! A worker in a network: its sessions with remote coordinators, and its HTTP server.
//!
//! The counting itself is in [`queens_counting`].

mod backoff;
pub mod http;
pub mod remote;
