//! What most system tests use.

pub use serde_json::{Value, json};

pub use crate::cluster::{
    Coordinator, SLOWLY, Scenario, coordinator_command, fast_worker, solutions, worker_command, worker_with,
};
pub use crate::data_dir::{DATABASE, records, tamper};
pub use crate::guarded::{Behind, Guarded, Invited, certs, token_in};
pub use crate::process::{
    Ended, Running, clean, is_full, is_installed, processor_time, program, promised, queens,
    queens_coordinator, run, wait_at_most, wait_for, wait_until,
};
pub use crate::service::Service;
pub use crate::{Port, TempDir, binary, http, postgres::Postgres, say, skipped, skipped_without_root};
