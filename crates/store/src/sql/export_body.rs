//! Writes the body of a certificate: all records of a job, with their recounts and verdicts.

use std::collections::BTreeMap;
use std::io::Write;

use queens_certificate::{Counted, Counter, CrossSum, Entry, PartyDigest, Total, Verdict, Writer};
use queens_ledger::store::{Coverage, Source, StoredJob};
use queens_model::JobId;
use queens_solver::{Plan, Span};

use super::database::{Database, Row, collect};
use super::digest::{Board, RECORD, SECOND_COUNT, VERDICT};
use super::fault::Fault;
use super::read::{self, count, integer, span, sql_integer};
use super::table::Table;
use super::tally::Tally;
use crate::certificate::ExportError;

/// A finished job and its plan.
pub(crate) struct DoneJob {
    pub(crate) stored: StoredJob,
    pub(crate) plan: Plan,
}

/// Why an export failed, before the name of the store is known.
pub(crate) enum Failed {
    /// The database can't be read.
    Fault(Fault),
    Export(ExportError),
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<E: Into<ExportError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Export(error.into())
    }
}

/// The sources of all counts of some jobs, by row id, with their numbers in the certificate.
pub(crate) struct Counters(BTreeMap<i64, (u32, Counter)>);

/// The columns that reference a source.
const SOURCES: [(&Table, &str); 4] =
    [(&RECORD, "source"), (&SECOND_COUNT, "source"), (&VERDICT, "source"), (&VERDICT, "lost_source")];

impl Counters {
    /// Reads the sources of these jobs, for a certificate whose first pass has this seed.
    pub(crate) fn of(database: &dyn Database, jobs: &[JobId], seed: u128) -> Result<Self, Fault> {
        let mut used: Vec<i64> = Vec::new();
        for (job, (table, column)) in jobs.iter().flat_map(|job| SOURCES.map(|source| (job, source))) {
            let sql = format!("SELECT DISTINCT {column} AS source FROM {} WHERE job = ?1", table.name);
            let found: Vec<i64> = collect(database, &sql, &[sql_integer("job", job.0)?.into()], |row| {
                row.get::<i64>("source", &table)
            })?;
            used.extend(found);
        }
        used.sort_unstable();
        used.dedup();
        let mut counters = BTreeMap::new();
        for (number, source) in (0..).zip(used) {
            let Source { name: worker, build, kernel, party } = read::source(database, source)?;
            let counter = Counter { worker, build, kernel, party: PartyDigest::of(party, seed) };
            counters.insert(source, (number, counter));
        }
        Ok(Self(counters))
    }

    /// Iterates over all counters, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = Entry> {
        self.0.values().map(|(number, counter)| Entry::Counter { number: *number, counter: counter.clone() })
    }

    fn get(&self, row: &Row<'_>, column: &str, place: &str) -> Result<(u32, PartyDigest), Fault> {
        let source: i64 = row.get(column, &place)?;
        let found = self.0.get(&source).map(|(number, counter)| (*number, counter.party));
        found.ok_or_else(|| Fault::Damaged(format!("{place}: there is no source {source}")))
    }
}

/// A pass to write into a certificate.
pub(crate) struct Body<'a> {
    pub(crate) database: &'a dyn Database,
    pub(crate) pass: &'a DoneJob,
    /// The number of the pass: 1 or 2.
    pub(crate) number: u8,
    pub(crate) counters: &'a Counters,
}

/// The recounts and verdicts of a part, by first subproblem, in the form of the certificate.
type OtherCounts = BTreeMap<u64, Vec<OtherCount>>;

/// A recount or a verdict, with the party that counted.
struct OtherCount {
    entry: Entry,
    span: Span,
    party: PartyDigest,
}

impl Body<'_> {
    /// Writes the pass and returns its total.
    pub(crate) fn write<W: Write>(&self, writer: &mut Writer<W>) -> Result<Total, Failed> {
        let DoneJob { stored, plan } = self.pass;
        let parts = stored.entry.terms.part_range;
        let mut total = Total::default();
        let mut coverage = stored.coverage.iter().peekable();
        for (number, planned) in (0_u32..).zip(plan.parts()) {
            let nothing = Coverage::default();
            let found = coverage.next_if(|(part, _)| *part == number);
            if parts.is_some_and(|parts| !parts.contains(number)) {
                continue;
            }
            let claimed = found.map_or(&nothing, |(_, coverage)| coverage);
            let Coverage { solutions, work, .. } = *claimed;
            let (choice, weight) = (planned.choice(), planned.weight());
            let sum = CrossSum {
                pass: self.number,
                number,
                image: choice.image.index(),
                n_subproblems: choice.n_subproblems,
                weight,
                solutions,
                work,
                // The digests of the job's rows cover its identity, so they belong to no other job.
                identity: self.board().identity,
            };
            writer.entry(&Entry::Cross(sum))?;
            let found = self.records(writer, number)?;
            let place = format!("job {}, part {number}", stored.entry.id);
            found.compare(claimed).map_err(|reason| Fault::Damaged(format!("{place}: {reason}")))?;
            if found.sum.recorded.len() != choice.n_subproblems {
                return Err(
                    Fault::Damaged(format!("{place}: the job is done, and this is not recorded")).into()
                );
            }
            total.n_records += found.n_records;
            total.solutions += u128::from(weight) * solutions;
            total.work += work;
        }
        Ok(total)
    }

    /// Writes the records of a part and returns their sums.
    fn records<W: Write>(&self, writer: &mut Writer<W>, part: u32) -> Result<Tally, Failed> {
        let mut again = self.other_counts(&SECOND_COUNT, "party", part)?;
        let mut verdicts = self.other_counts(&VERDICT, "number", part)?;
        let mut tally = Tally::default();
        let place = self.place(&RECORD, part);
        let rest = "WHERE job = ?1 AND part = ?2 ORDER BY first";
        let values = [self.job()?.into(), part.into()];
        read::select(self.database, &RECORD, rest, &values, |row| -> Result<(), Failed> {
            RECORD.verify(row, Some(self.board()), &place)?;
            let (counted, party) = self.counted(row, &place)?;
            let span = counted.span;
            tally.n_records += 1;
            tally.sum.recorded.insert(span.from()..span.to());
            tally.sum.solutions += u128::from(counted.count.solutions);
            tally.sum.work += u128::from(counted.count.work);
            writer.entry(&Entry::Record(counted))?;
            // A recount may be of a record that has grown since, or by the party whose count replaced the record.
            let about =
                |other_counts: &mut OtherCounts| other_counts.remove(&span.from()).unwrap_or_default();
            let again = about(&mut again).into_iter().filter(|it| it.span == span && it.party != party);
            // The database orders them by party, which the certificate must not disclose.
            let mut again: Vec<OtherCount> = again.collect();
            again.sort_by_key(|it| it.party);
            let verdicts = about(&mut verdicts).into_iter().filter(|it| it.span == span);
            for opinion in again.into_iter().chain(verdicts) {
                writer.entry(&opinion.entry)?;
            }
            Ok(())
        })?;
        Ok(tally)
    }

    /// Reads all rows of a table about records of a part, in the order of their spans and of `order`.
    fn other_counts(&self, table: &Table, order: &str, part: u32) -> Result<OtherCounts, Fault> {
        let rest = format!("WHERE job = ?1 AND part = ?2 ORDER BY first, {order}");
        let place = self.place(table, part);
        let mut other_counts = OtherCounts::new();
        let values = [self.job()?.into(), part.into()];
        read::select(self.database, table, &rest, &values, |row| -> Result<(), Fault> {
            table.verify(row, Some(self.board()), &place)?;
            let opinion = if table.name == VERDICT.name {
                self.verdict(row, &place)?
            } else {
                let (counted, party) = self.counted(row, &place)?;
                let entry = Entry::Again { counted, at_ms: integer(row, "at_ms", &place)? };
                OtherCount { entry, span: counted.span, party }
            };
            other_counts.entry(opinion.span.from()).or_default().push(opinion);
            Ok(())
        })?;
        Ok(other_counts)
    }

    fn verdict(&self, row: &Row<'_>, place: &str) -> Result<OtherCount, Fault> {
        let (counter, _) = self.counters.get(row, "source", place)?;
        let (loser, party) = self.counters.get(row, "lost_source", place)?;
        let span = span(row, &place)?;
        let verdict = Verdict {
            pass: self.number,
            span,
            number: integer(row, "number", &place)?,
            at_ms: integer(row, "at_ms", &place)?,
            agreed: count(row, ["solutions", "work"], &place)?,
            counter,
            lost: count(row, ["lost_solutions", "lost_work"], &place)?,
            loser,
        };
        Ok(OtherCount { entry: Entry::Verdict(verdict), span, party })
    }

    fn counted(&self, row: &Row<'_>, place: &str) -> Result<(Counted, PartyDigest), Fault> {
        let (counter, party) = self.counters.get(row, "source", place)?;
        let counted = Counted {
            pass: self.number,
            span: span(row, &place)?,
            count: count(row, ["solutions", "work"], &place)?,
            duration_us: integer(row, "duration_us", &place)?,
            counter,
        };
        Ok((counted, party))
    }

    fn job(&self) -> Result<i64, Fault> {
        sql_integer("job", self.pass.stored.entry.id.0)
    }

    fn board(&self) -> Board {
        Board::of(&self.pass.stored.entry)
    }

    fn place(&self, table: &Table, part: u32) -> String {
        format!("{table}, job {}, part {part}", self.pass.stored.entry.id)
    }
}
