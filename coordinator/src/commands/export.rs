//! The command that writes the certificate of a job in a data directory.

use std::path::Path;

use queens_ledger::store::StoreError;
use queens_model::{JobId, Name};
use queens_platform::VERSION;
use queens_program::print;
use queens_store::sqlite::{export_to, note_exported};
use tracing::warn;

pub(crate) fn export_job(dir: &Path, job: JobId, file: &Path) -> anyhow::Result<()> {
    let exported = export_to(dir, job, &Name::of_any(VERSION), file)?;
    match note_exported(dir, job) {
        Ok(()) => {}
        Err(StoreError::InUse(_)) => warn!(
            "the coordinator of '{}' does not know that job {job} is exported: 'queens export' tells it",
            dir.display()
        ),
        Err(error) => warn!("it could not be noted that job {job} is exported: {error}"),
    }
    print(&format!("{} records of job {job} are in '{}'", exported.n_records, file.display()))
}
