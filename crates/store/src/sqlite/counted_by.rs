//! Sums the work of each source of a job's records, for `queens count --data-dir`.

use std::path::Path;
use std::time::Duration;

use queens_ledger::store::{Source, StoreError};
use queens_model::JobId;

use super::directory::{DATABASE, open_to_read};
use crate::sql::contributions::{Sum, by_source};

/// The contribution of one source to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedBy {
    /// The worker, its build, kernel and party.
    pub source: Source,
    /// The number of its records.
    pub n_records: u64,
    /// Their work.
    pub work: u128,
    /// The time of its threads, summed.
    pub core_time: Duration,
}

/// Lists the sources of a job's records in the data directory `dir`, most work first. Reads every record of the job,
/// also while a coordinator uses the directory.
///
/// # Errors
/// If the records can't be read or are invalid.
pub fn counted_by(dir: &Path, job: JobId) -> Result<Vec<CountedBy>, StoreError> {
    let file = dir.join(DATABASE);
    let read = open_to_read(&file).and_then(|connection| by_source(&connection, job, None));
    let counted = |(source, sum): (Source, Sum)| CountedBy {
        source,
        n_records: sum.n_records,
        work: sum.work,
        core_time: Duration::from_micros(sum.time_us),
    };
    let mut all: Vec<CountedBy> =
        read.map_err(|fault| fault.of_opening(dir))?.into_iter().map(counted).collect();
    all.sort_by(|a, b| (b.work, &a.source.name).cmp(&(a.work, &b.source.name)));
    Ok(all)
}
