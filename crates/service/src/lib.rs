//! Shared functions of the long-running programs: configuration files, logs and traces, and encoded metrics.
//! [`queens_runtime`] has the functions that every program needs.

mod arguments;
mod config;
pub mod logs;
pub mod metrics;

pub use arguments::arguments_of_service;
pub use config::{CONFIG_OK, ConfigArgs};
