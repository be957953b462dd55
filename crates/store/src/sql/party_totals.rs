//! Sums a job's records and recounts by party.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use queens_model::{JobId, Party, PartyTotals};
use queens_solver::{Method, Plan};

use super::database::{Database, for_each};
use super::digest::{Board, RECORD, SECOND_COUNT};
use super::fault::Fault;
use super::read::{self, JobColumns, integer, parsed, sql_integer};

/// The records whose count a recount of the same span has, each once for each such recount. Without the sources: SQLite
/// might begin with them and read all records for each, which took a whole core at a thousand sources.
const CONFIRMED: &str = "SELECT s.part, s.first, s.party, r.source FROM second_count s \
    JOIN record r USING (job, part, first, until) \
    WHERE s.job = ?1 AND s.solutions = r.solutions AND s.work = r.work ORDER BY s.part, s.first";

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
        sums.entry(row.get("source", &place)?).or_default().add(&record);
        Ok(())
    })?;
    read::select(database, &SECOND_COUNT, "WHERE job = ?1", &[id.into()], |row| -> Result<(), Fault> {
        SECOND_COUNT.verify(row, Some(board), &place)?;
        let recount_time = Duration::from_micros(integer(row, "duration_us", &place)?);
        let recount = PartyTotals { n_recounts: 1, recount_time, ..PartyTotals::default() };
        sums.entry(row.get("source", &place)?).or_default().add(&recount);
        Ok(())
    })?;
    let mut parties: HashMap<i64, Party> = HashMap::new();
    let mut by_party: BTreeMap<Party, PartyTotals> = BTreeMap::new();
    for (source, sum) in sums {
        let party = read::source(database, source)?.party;
        parties.insert(source, party);
        by_party.entry(party).or_default().add(&sum);
    }
    let mut last = None;
    for_each(database, CONFIRMED, &[id.into()], |row| -> Result<(), Fault> {
        let span: (u32, u64) = (integer(row, "part", &place)?, integer(row, "first", &place)?);
        let (by, source): (Party, i64) = (parsed(row, "party", &place)?, row.get("source", &place)?);
        let counter = parties.get(&source).filter(|counter| **counter != by);
        // Two parties may have confirmed the same record.
        if let Some(counter) = counter
            && last.replace(span) != Some(span)
        {
            by_party.entry(*counter).or_default().n_confirmed += 1;
        }
        Ok(())
    })?;
    Ok(by_party.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use queens_ledger::store::{JobEntry, Record, SecondCount, Source, Store, Write};
    use queens_model::{LeaseId, Name, Terms};
    use queens_solver::{BoardSize, Count, Span};

    use super::*;
    use crate::archive::Archive;
    use crate::sqlite::SqliteStore;

    fn source(name: &str, build: &str) -> Arc<Source> {
        let name = Name::of_any(name);
        let party = Party::of_name(&name);
        Arc::new(Source { name, build: Name::of_any(build), kernel: Name::of_any("portable"), party })
    }

    fn job(id: u64, method: Method, second_of: Option<JobId>) -> (Vec<Write>, Vec<u128>) {
        let n = BoardSize::new(8).expect("a board size");
        let plan = Plan::new(n, method, NonZeroUsize::MIN, &AtomicBool::new(false)).expect("not stopped");
        let choices = plan.parts().iter().map(|part| *part.choice()).collect();
        let terms = Terms { second_of, ..Terms::default() };
        let entry = JobEntry { terms, ..JobEntry::new(JobId(id), n, method, 0) };
        let weights = plan.parts().iter().map(|part| part.weight().into()).collect();
        (vec![Write::Job(entry), Write::Plan { job: JobId(id), choices }], weights)
    }

    fn record(job: u64, part: u32, solutions: u64, source: &Arc<Source>) -> Write {
        let record = Record {
            span: Span::new(part, 0, 1).expect("a span"),
            count: Count { solutions, work: 10 * solutions },
            duration: Duration::from_secs(100),
            lease: LeaseId(0),
            source: source.clone(),
        };
        Write::Record { job: JobId(job), record }
    }

    fn recount(job: u64, part: u32, solutions: u64, name: &str) -> Write {
        let count = SecondCount {
            span: Span::new(part, 0, 1).expect("a span"),
            count: Count { solutions, work: 10 * solutions },
            duration: Duration::from_secs(7),
            source: source(name, "1"),
            at_ms: 1,
        };
        Write::SecondCount { job: JobId(job), count }
    }

    /// Returns a recount with the same solutions and less work.
    fn less_work(recount: Write) -> Write {
        let Write::SecondCount { job, mut count } = recount else { panic!("a recount") };
        count.count.work -= 1;
        Write::SecondCount { job, count }
    }

    #[test]
    fn sums_are_by_party_weighted_and_of_one_job() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut store = SqliteStore::open(dir.path()).expect("opens");
        let records = store.records().expect("on disk");
        let ((first, weights), (second, second_weights)) =
            (job(1, Method::Search, None), job(2, Method::Halves, Some(JobId(1))));
        assert!(weights.iter().any(|weight| *weight > 1), "{weights:?}");
        let writes = [
            first,
            second,
            vec![
                // Two versions of her program are one party.
                record(1, 0, 3, &source("anna", "1")),
                record(1, 1, 5, &source("anna", "2")),
                record(1, 2, 7, &source("bert", "1")),
                // Two parties confirm a record, which counts once; another count confirms nothing.
                recount(1, 0, 3, "bert"),
                recount(1, 0, 3, "carl"),
                recount(1, 1, 6, "bert"),
                less_work(recount(1, 2, 7, "anna")),
                record(2, 0, 11, &source("bert", "1")),
            ],
        ];
        store.commit(&writes.concat()).expect("commits");
        let read = |job| -> BTreeMap<Party, PartyTotals> {
            records.party_totals(JobId(job)).expect("readable").into_iter().collect()
        };
        let seconds = Duration::from_secs;
        let anna = PartyTotals {
            n_records: 2,
            search_work: 80,
            solutions: 3 * weights[0] + 5 * weights[1],
            record_time: seconds(200),
            n_confirmed: 1,
            n_recounts: 1,
            recount_time: seconds(7),
            ..PartyTotals::default()
        };
        let bert = PartyTotals {
            n_records: 1,
            search_work: 70,
            solutions: 7 * weights[2],
            record_time: seconds(100),
            n_recounts: 2,
            recount_time: seconds(14),
            ..PartyTotals::default()
        };
        let carl = PartyTotals { n_recounts: 1, recount_time: seconds(7), ..PartyTotals::default() };
        let of = |name: &str| source(name, "1").party;
        assert_eq!(read(1), BTreeMap::from([(of("anna"), anna), (of("bert"), bert), (of("carl"), carl)]));
        let second = PartyTotals {
            n_records: 1,
            halves_work: 110,
            solutions: 11 * second_weights[0],
            record_time: seconds(100),
            ..PartyTotals::default()
        };
        assert_eq!(read(2), BTreeMap::from([(of("bert"), second)]));
        assert_eq!(read(3), BTreeMap::new());
    }
}
