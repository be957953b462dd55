//! Reads records to recount, with their earlier recounts and verdicts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use queens_ledger::store::draw::{Draw, Drawn, MOST_SEEN, Recorded};
use queens_ledger::store::{Record, SecondCount, Source, Verdict};
use queens_model::{JobId, LeaseId, Party};
use queens_solver::Span;
use rusqlite::types::Value;

use super::database::{Database, Row, collect};
use super::digest::{Board, RECORD, SECOND_COUNT, VERDICT};
use super::fault::Fault;
use super::read::{self, count, integer, span, sql_integer};
use super::table::Table;

/// A span's part and its first subproblem.
type Key = (u32, u64);

/// The parties with records in one part of a first pass: a cache for the last part. A part may have many more records
/// than one draw reads.
#[derive(Debug, Default)]
pub(crate) struct Before {
    part: Option<(JobId, u32)>,
    parties: BTreeSet<Party>,
}

/// Reads a job's rows about records.
pub(crate) struct Reader<'a> {
    database: &'a dyn Database,
    job: JobId,
    board: Board,
    sources: HashMap<i64, Arc<Source>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(database: &'a dyn Database, job: JobId, board: Board) -> Self {
        Self { database, job, board, sources: HashMap::new() }
    }

    /// Returns the record of exactly this span, if there is one.
    pub(crate) fn find(&mut self, span: Span) -> Result<Option<Recorded>, Fault> {
        let (Ok(from), Ok(to)) = (i64::try_from(span.from()), i64::try_from(span.to())) else {
            return Ok(None);
        };
        let values = [self.job()?, span.part().into(), from.into(), to.into()];
        let rest = "WHERE job = ?1 AND part = ?2 AND first = ?3 AND until = ?4";
        let Some(record) = self.records(rest, &values)?.pop() else { return Ok(None) };
        let key = (span.part(), span.from());
        let again = self.second_counts(key, key)?.remove(&key).unwrap_or_default();
        let verdicts = self.verdicts(key, key)?.remove(&key).unwrap_or_default();
        Ok(Some(Recorded { record, again, verdicts }))
    }

    /// Reads the records that a draw asks for.
    pub(crate) fn draw(&mut self, draw: &Draw, before: &mut Before) -> Result<Drawn, Fault> {
        let after = draw.after.map_or(Ok((-1, -1)), |(part, first)| {
            sql_integer("subproblem", first).map(|first| (i64::from(part), first))
        })?;
        let sql =
            format!("WHERE job = ?1 AND (part, first) > (?2, ?3) ORDER BY part, first LIMIT {MOST_SEEN}");
        let records = self.records(&sql, &[self.job()?, after.0.into(), after.1.into()])?;
        let n_seen = records.len();
        let key = |record: &Record| (record.span.part(), record.span.from());
        let (Some(first), Some(last)) = (records.first().map(key), records.last().map(key)) else {
            return Ok(Drawn::default());
        };
        let mut again = self.second_counts(first, last)?;
        let mut verdicts = self.verdicts(first, last)?;
        let mut drawn = Drawn { next: (n_seen == MOST_SEEN).then_some(last), ..Drawn::default() };
        let nobody = BTreeSet::new();
        for record in records {
            drawn.see(&record);
            let key = key(&record);
            let again = again.remove(&key).unwrap_or_default();
            let parties = match draw.first_pass {
                Some(first) => self.parties(before, first, key.0)?,
                None => &nobody,
            };
            if !again.is_empty() || draw.wants(&record, parties) {
                let verdicts = verdicts.remove(&key).unwrap_or_default();
                drawn.records.push(Recorded { record, again, verdicts });
            }
        }
        Ok(drawn)
    }

    /// Returns the parties with records in one part of a first pass. The rows are verified elsewhere, where they
    /// matter.
    fn parties<'b>(
        &mut self,
        before: &'b mut Before,
        job: JobId,
        part: u32,
    ) -> Result<&'b BTreeSet<Party>, Fault> {
        if before.part != Some((job, part)) {
            let sql = "SELECT DISTINCT source FROM record WHERE job = ?1 AND part = ?2";
            let values = [sql_integer("job", job.0)?.into(), part.into()];
            let sources: Vec<i64> =
                collect(self.database, sql, &values, |row| row.get::<i64>("source", &"record"))?;
            let party = |source| Ok::<_, Fault>(self.source(source)?.party);
            let parties = sources.into_iter().map(party).collect::<Result<_, _>>()?;
            *before = Before { part: Some((job, part)), parties };
        }
        Ok(&before.parties)
    }

    /// Reads the job's records that `rest` selects.
    fn records(&mut self, rest: &str, values: &[Value]) -> Result<Vec<Record>, Fault> {
        let (job, board) = (self.job, Some(self.board));
        self.about_spans(&RECORD, rest, values, |row| {
            let place = format!("record of job {job}");
            RECORD.verify(row, board, &place)?;
            let span = span(row, &place)?;
            let place = format!("{place}, {span}");
            let count = count(row, ["solutions", "work"], &place)?;
            let duration = Duration::from_micros(integer(row, "duration_us", &place)?);
            let lease = LeaseId(integer(row, "lease", &place)?);
            let record = move |[source]: [Arc<Source>; 1]| Record { span, count, duration, lease, source };
            Ok(([row.get("source", &place)?], record))
        })
    }

    /// Reads the recounts of spans whose first subproblems lie between these.
    fn second_counts(&mut self, first: Key, last: Key) -> Result<BTreeMap<Key, Vec<SecondCount>>, Fault> {
        let (job, board, values) = (self.job, Some(self.board), self.between(first, last)?);
        let found = self.about_spans(&SECOND_COUNT, BETWEEN, &values, |row| {
            let place = format!("second count of job {job}");
            SECOND_COUNT.verify(row, board, &place)?;
            let span = span(row, &place)?;
            let place = format!("{place}, {span}");
            let count = count(row, ["solutions", "work"], &place)?;
            let duration = Duration::from_micros(integer(row, "duration_us", &place)?);
            let at_ms = integer(row, "at_ms", &place)?;
            let second =
                move |[source]: [Arc<Source>; 1]| SecondCount { span, count, duration, source, at_ms };
            Ok(([row.get("source", &place)?], second))
        })?;
        Ok(by_key(found, |second| second.span))
    }

    /// Reads the verdicts on spans whose first subproblems lie between these.
    fn verdicts(&mut self, first: Key, last: Key) -> Result<BTreeMap<Key, Vec<Verdict>>, Fault> {
        let values = self.between(first, last)?;
        Ok(by_key(self.some_verdicts(BETWEEN, &values)?, |verdict| verdict.span))
    }

    /// Reads at most `most` verdicts of the job in the order of their spans, after the first `offset`.
    pub(crate) fn all_verdicts(&mut self, offset: usize, most: usize) -> Result<Vec<Verdict>, Fault> {
        let rest = "WHERE job = ?1 ORDER BY part, first, number LIMIT ?2 OFFSET ?3";
        let [most, offset] = [most, offset].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        self.some_verdicts(rest, &[self.job()?, most.into(), offset.into()])
    }

    fn some_verdicts(&mut self, rest: &str, values: &[Value]) -> Result<Vec<Verdict>, Fault> {
        let (job, board) = (self.job, Some(self.board));
        self.about_spans(&VERDICT, rest, values, |row| {
            let place = format!("verdict of job {job}");
            VERDICT.verify(row, board, &place)?;
            let span = span(row, &place)?;
            let place = format!("{place}, {span}");
            let (number, at_ms) = (integer(row, "number", &place)?, integer(row, "at_ms", &place)?);
            let agreed = count(row, ["solutions", "work"], &place)?;
            let lost = count(row, ["lost_solutions", "lost_work"], &place)?;
            let verdict = move |[source, lost_source]: [Arc<Source>; 2]| Verdict {
                span,
                number,
                at_ms,
                count: agreed,
                source,
                lost,
                lost_source,
            };
            Ok(([row.get("source", &place)?, row.get("lost_source", &place)?], verdict))
        })
    }

    /// Reads rows of a table about spans. `read` returns a row's source ids, and a closure that makes a value from the
    /// sources. The sources are looked up after all rows are read.
    fn about_spans<T, const N: usize, F: FnOnce([Arc<Source>; N]) -> T>(
        &mut self,
        table: &Table,
        rest: &str,
        values: &[Value],
        read: impl Fn(&Row<'_>) -> Result<([i64; N], F), Fault>,
    ) -> Result<Vec<T>, Fault> {
        let found: Vec<([i64; N], F)> = collect(self.database, &read::all(table, rest), values, read)?;
        let mut all = Vec::with_capacity(found.len());
        for (sources, make) in found {
            for source in sources {
                self.look_up(source)?;
            }
            all.push(make(sources.map(|source| Arc::clone(&self.sources[&source]))));
        }
        Ok(all)
    }

    fn job(&self) -> Result<Value, Fault> {
        Ok(sql_integer("job", self.job.0)?.into())
    }

    fn between(&self, first: Key, last: Key) -> Result<[Value; 5], Fault> {
        let number = |number| Ok::<_, Fault>(Value::from(sql_integer("subproblem", number)?));
        Ok([self.job()?, first.0.into(), number(first.1)?, last.0.into(), number(last.1)?])
    }

    fn source(&mut self, id: i64) -> Result<Arc<Source>, Fault> {
        self.look_up(id)?;
        Ok(Arc::clone(&self.sources[&id]))
    }

    /// Adds a source to the cache, or fails.
    fn look_up(&mut self, id: i64) -> Result<(), Fault> {
        if !self.sources.contains_key(&id) {
            self.sources.insert(id, Arc::new(read::source(self.database, id)?));
        }
        Ok(())
    }
}

/// Groups values by the first subproblem of their spans.
fn by_key<T>(found: Vec<T>, span: impl Fn(&T) -> Span) -> BTreeMap<Key, Vec<T>> {
    let mut sorted: BTreeMap<Key, Vec<T>> = BTreeMap::new();
    for one in found {
        let span = span(&one);
        sorted.entry((span.part(), span.from())).or_default().push(one);
    }
    sorted
}

/// Selects a job's rows about spans between two first subproblems.
const BETWEEN: &str =
    "WHERE job = ?1 AND (part, first) >= (?2, ?3) AND (part, first) <= (?4, ?5) ORDER BY part, first";
