//! A worker's network: sessions with remote coordinators, pauses between attempts, and its HTTP server.
//!
//! The counting itself is in [`queens_counting`].

mod backoff;
pub mod http;
pub mod remote;
