//! A coordinator without servers: the event loop that connects the ledger, its store, workers and users.
//!
//! The [`Ledger`](queens_ledger::Ledger) decides, and a store makes its decisions durable. [`Coordinator`] runs both on
//! a thread of their own. Workers and users are in this process, or connect through the program's servers.

mod audit_action;
mod command;
mod coordinator;
mod event_budget;
mod event_log;
mod event_loop;
mod event_text;
mod exports;
mod handle;
pub mod history;
mod judge;
mod loop_monitor;
pub mod metrics;
mod party_totals;
mod people;
mod planners;
mod record_queries;
mod snapshot;
mod snapshot_publisher;
mod status;
mod symmetric_counts;
mod traces;

pub use audit_action::AuditAction;
pub use coordinator::{Coordinator, StartError, unthreaded};
pub use exports::{NoExport, Pieces};
pub use handle::{Handle, OpenSession, Stopped};
pub use loop_monitor::LoopMonitor;
pub use people::{People, RankedPerson};
pub use record_queries::QueryError;
pub use snapshot::{Details, Snapshot};
