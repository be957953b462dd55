//! What most system tests use.

pub use queens_solver::Kernel;
pub use serde_json::{Value, json};

pub use crate::cluster::{Coordinator, LONG, coordinator_command, fraction, number, solutions};
pub use crate::data_dir::{DATABASE, records, tamper};
pub use crate::guarded::{Behind, Guarded, Invited, certs, code_in, join, tls_args, token_in};
pub use crate::process::{
    Ended, Running, clean, is_full, is_installed, program, promised, queens, queens_coordinator, run, utf8,
    wait_at_most, wait_for, wait_until,
};
pub use crate::resources::{memory_kib, peak_memory_kib, pin, processor_time};
pub use crate::scenario::Scenario;
pub use crate::service::Service;
pub use crate::workers::{SLOWLY, fast_worker, logging_worker, worker_command, worker_with};
pub use crate::{
    Port, REPOSITORY, TempDir, binary, http,
    postgres::{Postgres, with_store},
    runtime, say, skipped, skipped_without_root,
};
