//! Who counted what is recorded.

use std::path::Path;
use std::time::Duration;

use queens_proto::{JobId, Name};
use rusqlite::Connection;

use super::directory::{DATABASE, open_to_read};
use super::fault::Fault;
use super::read::{cell, integer, sql_integer};
use crate::store::{Source, StoreError};

/// What one source has counted of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedBy {
    /// Who counted, and with what.
    pub source: Source,
    /// Its records.
    pub n_records: u64,
    /// Their nodes.
    pub nodes: u128,
    /// How long its threads took, added up.
    pub core_time: Duration,
}

/// Who counted what is recorded of a job in the data directory `dir`, who counted most first. Reads every record of the
/// job, also while a coordinator uses the directory.
///
/// # Errors
/// If the records can't be read or make no sense.
pub fn counted_by(dir: &Path, job: JobId) -> Result<Vec<CountedBy>, StoreError> {
    let file = dir.join(DATABASE);
    let read = open_to_read(&file).and_then(|connection| read(&connection, job));
    read.map_err(|fault| fault.of_opening(dir))
}

fn read(connection: &Connection, job: JobId) -> Result<Vec<CountedBy>, Fault> {
    // In two halves, as the sum of all nodes may pass 2^63.
    let mut statement = connection.prepare(
        "SELECT worker, build, kernel, count(*) AS records, sum(nodes >> 32) AS high,
                sum(nodes & 0xffffffff) AS low, total(duration_us) AS us
         FROM record JOIN source ON source.id = record.source WHERE job = ?1 GROUP BY source",
    )?;
    let mut rows = statement.query([sql_integer("job", job.0)?])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let place = format!("records of job {job}");
        let name = |column| -> Result<Name, Fault> {
            let text: String = cell(row, column, &place)?;
            Ok(Name::of_any(&text))
        };
        let (high, low): (u64, u64) = (integer(row, "high", &place)?, integer(row, "low", &place)?);
        let us: f64 = cell(row, "us", &place)?;
        let core_time = Duration::try_from_secs_f64(us / 1e6);
        all.push(CountedBy {
            source: Source { worker: name("worker")?, build: name("build")?, kernel: name("kernel")? },
            n_records: integer(row, "records", &place)?,
            nodes: (u128::from(high) << 32) + u128::from(low),
            core_time: core_time.map_err(|error| Fault::Damaged(format!("{place}: {error}")))?,
        });
    }
    all.sort_by_key(|by| std::cmp::Reverse(by.nodes));
    Ok(all)
}
