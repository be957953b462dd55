//! A coordinator without servers: what decides, what keeps, and how everybody talks to the two.
//!
//! The [`Ledger`](queens_ledger::Ledger) decides and a store keeps; [`Coordinator`] runs the two on a thread of their own
//! and connects them to workers and users, who are in this process or speak through its servers.

mod audit_action;
mod command;
mod contributions;
mod coordinator;
mod event_log;
mod event_loop;
mod event_text;
mod exports;
mod handle;
pub mod history;
mod log_throttle;
mod loop_monitor;
pub mod metrics;
mod planners;
mod progress_history;
mod snapshot;
mod snapshot_publisher;
mod status;
mod symmetric_counts;
mod traces;

pub use audit_action::AuditAction;
pub use contributions::QueryError;
pub use coordinator::{Coordinator, StartError, unthreaded};
pub use exports::{NoExport, Pieces};
pub use handle::{Handle, Stopped};
pub use log_throttle::LogThrottle;
pub use snapshot::{Details, Snapshot};
