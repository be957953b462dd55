//! Sums the work of each source of a job's records, for `queens count --data-dir`.

use std::path::Path;

use queens_ledger::store::StoreError;
use queens_model::JobId;

use super::directory::{DATABASE, open_to_read};
use crate::sql::contributions::{CountedBy, by_source};

/// Lists the sources of a job's records in the data directory `dir`, most work first. Reads every record of the job,
/// also while a coordinator uses the directory.
///
/// # Errors
/// If the records can't be read or are invalid.
pub fn counted_by(dir: &Path, job: JobId) -> Result<Vec<CountedBy>, StoreError> {
    let file = dir.join(DATABASE);
    let read = open_to_read(&file).and_then(|connection| by_source(&connection, job, None));
    let mut all = read.map_err(|fault| fault.of_opening(dir))?;
    all.sort_by(|a, b| (b.work, &a.source.name).cmp(&(a.work, &b.source.name)));
    Ok(all)
}
