//! The command that writes the certificate of a job in a data directory.

use std::path::Path;

use queens_ledger::store::StoreError;
use queens_model::{JobId, Name};
use queens_runtime::{VERSION, print};
use queens_store::sqlite::{export_to, note_exported};
use tracing::warn;

use super::store::DataArgs;

pub(crate) fn export_job(data: &DataArgs, job: JobId, file: &Path) -> anyhow::Result<()> {
    let exported = export_to(&data.data_dir, job, &Name::of_any(VERSION), file)?;
    match note_exported(&data.data_dir, job) {
        Ok(()) => {}
        Err(StoreError::InUse(_)) => warn!(
            "the coordinator of '{}' does not know that job {job} is exported: 'queens export' tells it",
            data.data_dir.display()
        ),
        Err(error) => warn!("it could not be noted that job {job} is exported: {error}"),
    }
    print(&format!("{} records of job {job} are in '{}'", exported.n_records, file.display()))
}
