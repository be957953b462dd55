//! A worker in a network: its sessions with a coordinator that is elsewhere, and what it tells of itself by HTTP.
//!
//! What counts is in [`queens_counting`].

mod backoff;
pub mod http;
pub mod remote;
