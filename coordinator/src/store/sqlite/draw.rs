//! Reading records that are to be counted again, with all that is known against them or for them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use queens_ledger::store::draw::{Draw, Drawn, MOST_SEEN, Recorded};
use queens_ledger::store::{Record, SecondCount, Source, Verdict};
use queens_messages::{JobId, LeaseId, Name};
use queens_solver::{Count, Span};
use rusqlite::{Connection, Row, params};

use super::digest::{Board, RECORD, SECOND_COUNT, SOURCE, VERDICT};
use super::fault::Fault;
use super::read::{self, cell, integer, sql_integer};

/// A span's cross and its first subproblem.
type Key = (u32, u64);

/// Who has recorded something of a cross of a first pass: that of the cross that was looked at last. It may have many
/// more records than are looked at in one go.
#[derive(Debug, Default)]
pub(super) struct Before {
    cross: Option<(JobId, u32)>,
    names: BTreeSet<Name>,
}

/// Reads rows of one job that are about records.
pub(super) struct Reader<'a> {
    connection: &'a Connection,
    job: JobId,
    board: Board,
    sources: HashMap<i64, Arc<Source>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(connection: &'a Connection, job: JobId, board: Board) -> Self {
        Self { connection, job, board, sources: HashMap::new() }
    }

    /// The record of exactly this span, if there is one.
    pub(super) fn find(&mut self, span: Span) -> Result<Option<Recorded>, Fault> {
        let (Ok(from), Ok(to)) = (i64::try_from(span.from()), i64::try_from(span.to())) else {
            return Ok(None);
        };
        let connection = self.connection;
        let mut statement =
            read::select(connection, &RECORD, "WHERE job = ?1 AND cross = ?2 AND first = ?3 AND until = ?4")?;
        let mut rows = statement.query(params![sql_integer("job", self.job.0)?, span.cross(), from, to])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let record = self.record(row)?;
        let key = (span.cross(), span.from());
        let again = self.second_counts(key, key)?.remove(&key).unwrap_or_default();
        let verdicts = self.verdicts(key, key)?.remove(&key).unwrap_or_default();
        Ok(Some(Recorded { record, again, verdicts }))
    }

    /// What a draw asks for.
    pub(super) fn draw(&mut self, draw: &Draw, before: &mut Before) -> Result<Drawn, Fault> {
        let connection = self.connection;
        let after = draw.after.map_or(Ok((-1, -1)), |(cross, first)| {
            sql_integer("subproblem", first).map(|first| (i64::from(cross), first))
        })?;
        let sql =
            format!("WHERE job = ?1 AND (cross, first) > (?2, ?3) ORDER BY cross, first LIMIT {MOST_SEEN}");
        let mut statement = read::select(connection, &RECORD, &sql)?;
        let mut rows = statement.query(params![sql_integer("job", self.job.0)?, after.0, after.1])?;
        let mut records: Vec<Record> = Vec::new();
        while let Some(row) = rows.next()? {
            records.push(self.record(row)?);
        }
        let n_seen = records.len();
        let key = |record: &Record| (record.span.cross(), record.span.from());
        let (Some(first), Some(last)) = (records.first().map(key), records.last().map(key)) else {
            return Ok(Drawn::default());
        };
        let mut again = self.second_counts(first, last)?;
        let mut verdicts = self.verdicts(first, last)?;
        let mut wanted = Vec::new();
        let nobody = BTreeSet::new();
        for record in records {
            let key = key(&record);
            let again = again.remove(&key).unwrap_or_default();
            let names = match draw.first_pass {
                Some(first) => self.names(before, first, key.0)?,
                None => &nobody,
            };
            if !again.is_empty() || draw.wants(&record, names) {
                let verdicts = verdicts.remove(&key).unwrap_or_default();
                wanted.push(Recorded { record, again, verdicts });
            }
        }
        let next = (n_seen == MOST_SEEN).then_some(last);
        Ok(Drawn { records: wanted, n_seen: n_seen as u64, next })
    }

    /// Who has recorded something of a cross of a first pass. That each row is what was written is looked at where it
    /// counts.
    fn names<'b>(
        &mut self,
        before: &'b mut Before,
        job: JobId,
        cross: u32,
    ) -> Result<&'b BTreeSet<Name>, Fault> {
        if before.cross != Some((job, cross)) {
            let sql = "SELECT DISTINCT source FROM record WHERE job = ?1 AND cross = ?2";
            let connection = self.connection;
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params![sql_integer("job", job.0)?, cross])?;
            let mut names = BTreeSet::new();
            while let Some(row) = rows.next()? {
                names.insert(self.source(cell(row, "source", &"record")?)?.name.clone());
            }
            *before = Before { cross: Some((job, cross)), names };
        }
        Ok(&before.names)
    }

    fn record(&mut self, row: &Row<'_>) -> Result<Record, Fault> {
        let place = format!("record of job {}", self.job);
        RECORD.verify(row, Some(self.board), &place)?;
        let span = span(row, &place)?;
        let place = format!("{place}, {span}");
        Ok(Record {
            span,
            count: count(row, ["solutions", "nodes"], &place)?,
            duration: Duration::from_micros(integer(row, "duration_us", &place)?),
            lease: LeaseId(integer(row, "lease", &place)?),
            source: self.source(cell(row, "source", &place)?)?,
        })
    }

    /// Further counts of spans that begin with one of these subproblems.
    fn second_counts(&mut self, first: Key, last: Key) -> Result<BTreeMap<Key, Vec<SecondCount>>, Fault> {
        let connection = self.connection;
        let mut statement = read::select(connection, &SECOND_COUNT, BETWEEN)?;
        let mut rows = statement.query(self.between(first, last)?)?;
        let mut found: BTreeMap<Key, Vec<SecondCount>> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let place = format!("second count of job {}", self.job);
            SECOND_COUNT.verify(row, Some(self.board), &place)?;
            let span = span(row, &place)?;
            let place = format!("{place}, {span}");
            let second = SecondCount {
                span,
                count: count(row, ["solutions", "nodes"], &place)?,
                duration: Duration::from_micros(integer(row, "duration_us", &place)?),
                source: self.source(cell(row, "source", &place)?)?,
                at_ms: integer(row, "at_ms", &place)?,
            };
            found.entry((span.cross(), span.from())).or_default().push(second);
        }
        Ok(found)
    }

    /// What was decided about spans that begin with one of these subproblems.
    fn verdicts(&mut self, first: Key, last: Key) -> Result<BTreeMap<Key, Vec<Verdict>>, Fault> {
        let connection = self.connection;
        let mut statement = read::select(connection, &VERDICT, BETWEEN)?;
        let mut rows = statement.query(self.between(first, last)?)?;
        let mut found: BTreeMap<Key, Vec<Verdict>> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let verdict = self.verdict(row)?;
            found.entry((verdict.span.cross(), verdict.span.from())).or_default().push(verdict);
        }
        Ok(found)
    }

    /// What was decided about spans of the job, in their order: at most so many, without the first `offset`.
    pub(super) fn all_verdicts(&mut self, offset: usize, most: usize) -> Result<Vec<Verdict>, Fault> {
        let connection = self.connection;
        let sql = "WHERE job = ?1 ORDER BY cross, first, number LIMIT ?2 OFFSET ?3";
        let mut statement = read::select(connection, &VERDICT, sql)?;
        let [most, offset] = [most, offset].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let mut rows = statement.query(params![sql_integer("job", self.job.0)?, most, offset])?;
        let mut verdicts = Vec::new();
        while let Some(row) = rows.next()? {
            verdicts.push(self.verdict(row)?);
        }
        Ok(verdicts)
    }

    fn verdict(&mut self, row: &Row<'_>) -> Result<Verdict, Fault> {
        let place = format!("verdict of job {}", self.job);
        VERDICT.verify(row, Some(self.board), &place)?;
        let span = span(row, &place)?;
        let place = format!("{place}, {span}");
        Ok(Verdict {
            span,
            number: integer(row, "number", &place)?,
            at_ms: integer(row, "at_ms", &place)?,
            count: count(row, ["solutions", "nodes"], &place)?,
            source: self.source(cell(row, "source", &place)?)?,
            lost: count(row, ["lost_solutions", "lost_nodes"], &place)?,
            lost_source: self.source(cell(row, "lost_source", &place)?)?,
        })
    }

    fn between(&self, first: Key, last: Key) -> Result<[i64; 5], Fault> {
        let number = |number| sql_integer("subproblem", number);
        Ok([
            sql_integer("job", self.job.0)?,
            first.0.into(),
            number(first.1)?,
            last.0.into(),
            number(last.1)?,
        ])
    }

    fn source(&mut self, id: i64) -> Result<Arc<Source>, Fault> {
        if let Some(source) = self.sources.get(&id) {
            return Ok(Arc::clone(source));
        }
        let place = format!("source {id}");
        let mut statement = read::select(self.connection, &SOURCE, "WHERE id = ?1")?;
        let mut rows = statement.query([id])?;
        let row = rows.next()?.ok_or_else(|| Fault::Damaged(format!("{place} is missing")))?;
        SOURCE.verify(row, None, &place)?;
        let name = |column| Ok::<_, Fault>(Name::of_any(&cell::<String>(row, column, &place)?));
        let source = Source { name: name("worker")?, build: name("build")?, kernel: name("kernel")? };
        let source = Arc::new(source);
        self.sources.insert(id, Arc::clone(&source));
        Ok(source)
    }
}

/// Rows of a job about spans that begin with one of some subproblems.
const BETWEEN: &str =
    "WHERE job = ?1 AND (cross, first) >= (?2, ?3) AND (cross, first) <= (?4, ?5) ORDER BY cross, first";

fn span(row: &Row<'_>, place: &dyn Display) -> Result<Span, Fault> {
    let (first, until): (u64, u64) = (integer(row, "first", place)?, integer(row, "until", place)?);
    let cross = integer(row, "cross", place)?;
    Span::new(cross, first, until).map_err(|_| Fault::Damaged(format!("{place}: {first}..{until} is empty")))
}

fn count(row: &Row<'_>, [solutions, nodes]: [&str; 2], place: &dyn Display) -> Result<Count, Fault> {
    Ok(Count { solutions: integer(row, solutions, place)?, nodes: integer(row, nodes, place)? })
}
