//! Sums a job's records by worker and kernel.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use queens_ledger::store::Source;
use queens_model::{Contribution, JobId, Name};

use super::database::Database;
use super::digest::{Board, RECORD};
use super::fault::Fault;
use super::read::{self, JobColumns, integer, sql_integer};

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

/// Returns the contribution of each source to a job, or to one of its parts, in no order. Reads and verifies all
/// records.
pub(crate) fn by_source(
    database: &dyn Database,
    job: JobId,
    part: Option<u32>,
) -> Result<Vec<CountedBy>, Fault> {
    // Summed here: a database would first sort all records by source, and SQLite rejects sums over 2^63.
    let Some(JobColumns { row: job_row, .. }) = read::one_job(database, job)? else {
        return Ok(Vec::new());
    };
    let board = Board::of(&job_row);
    let place = format!("records of job {job}");
    let (first, last) = part.map_or((0, u32::MAX), |part| (part, part));
    let mut sums: HashMap<i64, (u64, u128, u64)> = HashMap::new();
    let rest = "WHERE job = ?1 AND part BETWEEN ?2 AND ?3";
    let values = [sql_integer("job", job.0)?.into(), first.into(), last.into()];
    read::select(database, &RECORD, rest, &values, |row| -> Result<(), Fault> {
        RECORD.verify(row, Some(board), &place)?;
        let (n_records, work, time_us) = sums.entry(row.get("source", &place)?).or_default();
        *n_records += 1;
        *work += u128::from(integer::<u64>(row, "work", &place)?);
        *time_us = time_us.saturating_add(integer(row, "duration_us", &place)?);
        Ok(())
    })?;
    let counted = |(source, (n_records, work, time_us)): (i64, (u64, u128, u64))| {
        let (source, core_time) = (read::source(database, source)?, Duration::from_micros(time_us));
        Ok(CountedBy { source, n_records, work, core_time })
    };
    sums.into_iter().map(counted).collect()
}

/// Returns the contributions of each worker and kernel to a job, or to one of its parts, most work first.
pub(crate) fn contributions(
    database: &dyn Database,
    job: JobId,
    part: Option<u32>,
) -> Result<Vec<Contribution>, Fault> {
    let mut named: BTreeMap<(Name, Name), Contribution> = BTreeMap::new();
    for CountedBy { source, n_records, work, core_time } in by_source(database, job, part)? {
        let Source { name: worker, kernel, .. } = source;
        // One worker may have counted with several versions of its program.
        let key = (worker.clone(), kernel.clone());
        let time = Duration::ZERO;
        let sum = named.entry(key).or_insert(Contribution { worker, kernel, n_spans: 0, work: 0, time });
        sum.n_spans += n_records;
        sum.work += work;
        sum.time = sum.time.saturating_add(core_time);
    }
    let mut contributions: Vec<Contribution> = named.into_values().collect();
    // The sort is stable: equal contributions stay in the order of their names.
    contributions.sort_by_key(|it| Reverse(it.work));
    Ok(contributions)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use queens_model::{LeaseId, Party};
    use queens_solver::{BoardSize, Choice, Count, Method, Span, Symmetry};

    use super::*;
    use crate::archive::Archive;
    use crate::sqlite::SqliteStore;
    use queens_ledger::store::{JobEntry, MAX_COUNT, Phase, Record, Store, Write};

    fn job(id: u64) -> Write {
        Write::Job(JobEntry {
            phase: Phase::Active,
            ..JobEntry::new(JobId(id), BoardSize::new(6).expect("a board size"), Method::Search, 0)
        })
    }

    fn record(job: u64, (part, from): (u32, u64), work: u64, (worker, build): (&str, &str)) -> Write {
        let record = Record {
            span: Span::new(part, from, from + 1).expect("a span"),
            count: Count { solutions: 0, work },
            duration: Duration::from_millis(1500),
            lease: LeaseId(0),
            source: Arc::new(Source {
                name: Name::of_any(worker),
                build: Name::of_any(build),
                kernel: Name::of_any("portable"),
                party: Party::of_name(&Name::of_any(worker)),
            }),
        };
        Write::Record { job: JobId(job), record }
    }

    #[test]
    fn sums_are_exact_and_of_the_job_or_cross_that_was_asked_for() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut store = SqliteStore::open(dir.path()).expect("opens");
        let records = store.records().expect("on disk");
        let choice = Choice { image: Symmetry::IDENTITY, n_subproblems: 100, work: 1 };
        let plan = |job| Write::Plan { job: JobId(job), choices: vec![choice; 2] };
        let writes = [
            job(1),
            plan(1),
            job(2),
            plan(2),
            record(1, (0, 0), MAX_COUNT, ("anna", "1")),
            record(1, (0, 1), MAX_COUNT, ("anna", "1")),
            record(1, (1, 0), MAX_COUNT - 1, ("anna", "2")),
            record(1, (1, 1), 7, ("bert", "1")),
            record(2, (1, 1), 8, ("bert", "1")),
        ];
        store.commit(&writes).expect("commits");
        let all = |contributions: Vec<Contribution>| -> Vec<(String, u64, u128, u128)> {
            let one = |it: Contribution| (it.worker.to_string(), it.n_spans, it.work, it.time.as_millis());
            contributions.into_iter().map(one).collect()
        };
        let read = |job, part| all(records.contributions(JobId(job), part).expect("readable"));
        let most = u128::from(MAX_COUNT);
        assert_eq!(read(1, None), [("anna".into(), 3, 3 * most - 1, 4500), ("bert".into(), 1, 7, 1500)]);
        assert_eq!(read(1, Some(1)), [("anna".into(), 1, most - 1, 1500), ("bert".into(), 1, 7, 1500)]);
        assert_eq!(read(2, None), [("bert".into(), 1, 8, 1500)]);
        assert_eq!(read(2, Some(0)), []);
        assert_eq!(read(3, None), []);
    }
}
