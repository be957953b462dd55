//! A worker's network: sessions with remote coordinators, backoff between attempts, and its HTTP server. When it may
//! count: schedule, battery, and the wishes of its user.
//!
//! The counting itself is in [`queens_counting`].

mod backoff;
pub mod control;
pub mod http;
pub mod idle_timeout;
mod lost_session;
pub mod news;
pub mod own_numbers;
pub mod pause_monitor;
pub mod pause_policy;
pub mod progress;
pub mod remote;
pub mod schedule;
mod sleep_monitor;
