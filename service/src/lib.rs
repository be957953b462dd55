//! What programs do alike that run for long and are looked after: configuration files, logs and traces, and the form of
//! metrics. What every program does is in [`queens_runtime`].

mod arguments;
mod config;
pub mod logs;
pub mod metrics;

pub use arguments::arguments_of_service;
pub use config::{CONFIG_OK, ConfigArgs};
