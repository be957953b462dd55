//! What only the long-running programs need: configuration files, logs and traces, and encoded metrics.

mod config;
mod logs;
mod metrics;

pub use config::{CONFIG_OK, ConfigArgs, arguments_of_service};
pub use logs::LogArgs;
pub use metrics::exposition;
