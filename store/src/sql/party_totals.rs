//! Sums a job's records and recounts by party.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use queens_model::{JobId, Party, PartyTotals};
use queens_solver::{Method, Plan};

use super::database::{Database, for_each};
use super::digest::{Board, RECORD, SECOND_COUNT};
use super::fault::Fault;
use super::read::{self, JobColumns, cell, integer, sql_integer};

/// The records that another party has confirmed, each once for each party that did. A recount confirms a record of the
/// same span and count.
const CONFIRMED: &str = "SELECT s.part, s.first, r.source FROM second_count s \
    JOIN record r USING (job, part, first, until) JOIN source w ON w.id = r.source \
    WHERE s.job = ?1 AND s.solutions = r.solutions AND s.work = r.work AND s.party <> w.party \
    ORDER BY s.part, s.first";

/// Returns the sums over each party's records and recounts of a job, in no order. Reads and verifies all of them.
pub(crate) fn party_totals(database: &dyn Database, job: JobId) -> Result<Vec<(Party, PartyTotals)>, Fault> {
    let Some(JobColumns { row: job_row, .. }) = read::one_job(database, job)? else {
        return Ok(Vec::new());
    };
    let board = Board::of(&job_row);
    let choices = read::choices(database, job, board)?;
    // The parts of an earlier decomposition have weights that this program does not know.
    let plan = Plan::from_choices(job_row.n, job_row.method, &choices)
        .ok()
        .filter(|_| job_row.decomposition == job_row.method.decomposition());
    let weights: Vec<u128> =
        plan.iter().flat_map(|plan| plan.parts()).map(|part| u128::from(part.weight())).collect();
    let (place, id) = (format!("records of job {job}"), sql_integer("job", job.0)?);
    // Summed here: a database would first sort all rows by source, and SQLite rejects sums over 2^63.
    let mut sums: HashMap<i64, PartyTotals> = HashMap::new();
    read::select(database, &RECORD, "WHERE job = ?1", &[id.into()], |row| -> Result<(), Fault> {
        RECORD.verify(row, Some(board), &place)?;
        let part: usize = integer(row, "part", &place)?;
        let weight = weights.get(part).copied().unwrap_or_default();
        let work = u128::from(integer::<u64>(row, "work", &place)?);
        let (search_work, halves_work) = match job_row.method {
            Method::Search => (work, 0),
            Method::Halves => (0, work),
        };
        let record = PartyTotals {
            n_records: 1,
            search_work,
            halves_work,
            solutions: weight.saturating_mul(u128::from(integer::<u64>(row, "solutions", &place)?)),
            record_time: Duration::from_micros(integer(row, "duration_us", &place)?),
            ..PartyTotals::default()
        };
        sums.entry(cell(row, "source", &place)?).or_default().add(&record);
        Ok(())
    })?;
    read::select(database, &SECOND_COUNT, "WHERE job = ?1", &[id.into()], |row| -> Result<(), Fault> {
        SECOND_COUNT.verify(row, Some(board), &place)?;
        let recount_time = Duration::from_micros(integer(row, "duration_us", &place)?);
        let recount = PartyTotals { n_recounts: 1, recount_time, ..PartyTotals::default() };
        sums.entry(cell(row, "source", &place)?).or_default().add(&recount);
        Ok(())
    })?;
    let mut last = None;
    for_each(database, CONFIRMED, &[id.into()], |row| -> Result<(), Fault> {
        let span: (u32, u64) = (integer(row, "part", &place)?, integer(row, "first", &place)?);
        // Two parties may have confirmed the same record.
        if last.replace(span) != Some(span) {
            sums.entry(cell(row, "source", &place)?).or_default().n_confirmed += 1;
        }
        Ok(())
    })?;
    let mut by_party: BTreeMap<Party, PartyTotals> = BTreeMap::new();
    for (source, sum) in sums {
        by_party.entry(read::source(database, source)?.party).or_default().add(&sum);
    }
    Ok(by_party.into_iter().collect())
}
