//! Rebuilds jobs from the valid rows of a damaged database.

use std::collections::{BTreeMap, BTreeSet};

use queens_ledger::store::{Block, JobEntry, Phase, Write};
use queens_model::{JobId, JobIdentity, Name, Party, Terms};
use queens_solver::{BoardSize, Choice, Pass};
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};

use crate::clock::unix_ms;
use crate::seed;
use crate::sql::audit::{other_decomposition, pass, recomputed_plan};
use crate::sql::database::Database;
use crate::sql::digest::{
    BLOCKED_WORKER, Board, JOB, JOB_IDENTITY, PLAN_PART, RECORD, SECOND_COUNT, SOURCE, VERDICT,
};
use crate::sql::fault::Fault;
use crate::sql::read::{self, integer, sql_integer};
use crate::sql::table::Table;
use crate::sql::tally::Tally;
use crate::sql::verdicts;
use crate::sql::write::{self, WriteCache};

/// The result of a recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The jobs, in the order of their ids.
    pub jobs: Vec<RecoveredJob>,
    /// The blocked names and parties, with the reasons.
    pub blocked: BTreeMap<Block, String>,
    /// The tables of which rows are missing, with the reasons.
    pub missing: BTreeMap<&'static str, String>,
}

/// The recovered data of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredJob {
    /// The job after the recovery.
    pub job: JobEntry,
    /// Whether only its board was known, from its records and its plan.
    pub was_lost: bool,
    /// The number of records that are kept.
    pub n_records: u64,
    /// The number of subproblems that they cover.
    pub n_recorded: u128,
    /// The number of subproblems of its plan; `None` before it has one.
    pub n_subproblems: Option<u128>,
}

/// A recovery in progress: all valid rows of a damaged database, not yet checked against each other.
pub(super) struct Salvage<'a> {
    connection: &'a Connection,
    boards: BTreeMap<i64, Board>,
    identities: BTreeMap<i64, JobIdentity>,
    /// Jobs whose own rows are lost.
    lost: BTreeSet<i64>,
    missing: BTreeMap<&'static str, String>,
}

impl<'a> Salvage<'a> {
    /// Takes over all rows with the right digest.
    pub(super) fn of(connection: &'a Connection, damaged: &dyn Database) -> Result<Self, Fault> {
        let (boards, identities, lost) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let mut salvage = Self { connection, boards, identities, lost, missing: BTreeMap::new() };
        // Jobs come first: the digests of their rows cover their boards.
        for table in [&SOURCE, &BLOCKED_WORKER, &JOB_IDENTITY, &JOB].into_iter().chain(PARTS) {
            salvage.read(table, damaged)?;
        }
        Ok(salvage)
    }

    /// Takes over the rows of a table. SQLite's scan ends at the first damaged page, so a second one begins at the
    /// other end of the table.
    fn read(&mut self, table: &'static Table, damaged: &dyn Database) -> Result<(), Fault> {
        let key = &table.columns[..table.n_key];
        for order in [key.join(", "), key.join(" DESC, ") + " DESC"] {
            let read = read::select(damaged, table, &format!("ORDER BY {order}"), &[], |row| {
                let values = (0..=table.columns.len()).map(|i| Value::try_from(row.value(i).ok()?).ok());
                let is_kept = match values.collect::<Option<Vec<_>>>() {
                    Some(values) => self.keep(table, &values).map_err(ScanError::Kept)?,
                    None => false,
                };
                if !is_kept {
                    let why = || "some of its rows are not as they were written".to_owned();
                    self.missing.entry(table.name).or_insert_with(why);
                }
                Ok(())
            });
            match read {
                Ok(()) => break,
                Err(ScanError::Read(fault @ Fault::Sqlite(_))) => {
                    self.missing.insert(table.name, fault.reason());
                }
                Err(ScanError::Read(fault) | ScanError::Kept(fault)) => return Err(fault),
            }
        }
        Ok(())
    }

    /// Takes over a row, if its digest is right.
    fn keep(&mut self, table: &'static Table, values: &[Value]) -> Result<bool, Fault> {
        if table.is_of_job {
            return self.keep_part(table, values);
        }
        if !is_proved(table, None, values) {
            return Ok(false);
        }
        match (table.name, values) {
            ("job_identity", [Value::Integer(job @ 0..), Value::Text(identity), _]) => {
                // Every job gets this row again.
                let Ok(identity) = identity.parse() else { return Ok(false) };
                self.identities.insert(*job, identity);
                return Ok(true);
            }
            ("blocked_worker", [Value::Text(name), Value::Text(party), ..])
                if name.parse::<Name>().is_ok() && (party.is_empty() || party.parse::<Party>().is_ok()) => {}
            ("job", [Value::Integer(0..), ..]) | ("source", _) => {}
            _ => return Ok(false),
        }
        table.put(self.connection, None, values[..table.columns.len()].to_vec())?;
        if let ("job", [Value::Integer(id), ..]) = (table.name, values) {
            match read::one_job(self.connection, JobId(id.cast_unsigned())) {
                Ok(job) => self.boards.extend(job.map(|job| (*id, Board::of(&job.row)))),
                // Its board is found by its other rows.
                Err(Fault::Damaged(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(true)
    }

    fn keep_part(&mut self, table: &'static Table, values: &[Value]) -> Result<bool, Fault> {
        // No job has a negative number: such a row is forged.
        let Some(Value::Integer(job @ 0..)) = values.first() else { return Ok(false) };
        // If the job's row is lost, its board is the one that makes the digest right. A second pass is not recovered
        // then: nobody knows its first pass.
        let known = self.boards.get(job).copied();
        let all = self.identities.get(job).into_iter().flat_map(|&identity| Board::all(identity));
        let mut boards = known.into_iter().chain(all.filter(|_| known.is_none()));
        let Some(board) = boards.find(|board| is_proved(table, Some(*board), values)) else {
            return Ok(false);
        };
        table.put(self.connection, Some(board), values[..table.columns.len()].to_vec())?;
        if known.is_none() {
            self.boards.insert(*job, board);
            self.lost.insert(*job);
        }
        Ok(true)
    }

    /// Makes jobs from the rows.
    pub(super) fn repair(self) -> Result<Recovered, Fault> {
        self.replace_lost_sources()?;
        let mut jobs = Vec::new();
        for (&number, &board) in &self.boards {
            let Ok(id) = u64::try_from(number).map(JobId) else { continue };
            if board.is_second && self.is_without_first(number)? {
                self.drop_job(number)?;
                continue;
            }
            if board.decomposition != board.method.decomposition() {
                return Err(other_decomposition(id, board.method, board.decomposition));
            }
            let (row, was_planned) = match read::one_job(self.connection, id)? {
                Some(found) => (found.row, found.plan.is_some()),
                None => (lost_job(id, board)?, true),
            };
            write::put_identity(self.connection, &row)?;
            jobs.push(self.repair_job(row, was_planned)?);
        }
        // Finds errors of the repair before the next coordinator does.
        read::jobs(self.connection)?;
        let blocked = read::blocked(self.connection)?;
        Ok(Recovered { jobs, blocked, missing: self.missing })
    }

    /// Returns whether this is a second pass without any rows of its first.
    fn is_without_first(&self, job: i64) -> Result<bool, Fault> {
        let sql = "SELECT second_of FROM job WHERE id = ?1";
        let first: Option<i64> = self.connection.query_row(sql, [job], |row| row.get(0))?;
        Ok(first.is_none_or(|first| !self.boards.contains_key(&first)))
    }

    /// Removes all rows of a job.
    fn drop_job(&self, job: i64) -> Result<(), Fault> {
        for table in PARTS {
            self.connection.execute(&format!("DELETE FROM {} WHERE job = ?1", table.name), [job])?;
        }
        self.connection.execute("DELETE FROM job_identity WHERE job = ?1", [job])?;
        self.connection.execute("DELETE FROM job WHERE id = ?1", [job])?;
        Ok(())
    }

    /// Replaces lost sources by placeholders: records are valid without knowledge of their worker.
    fn replace_lost_sources(&self) -> Result<(), Fault> {
        let sql = "SELECT source FROM record UNION SELECT source FROM second_count
                   UNION SELECT source FROM verdict UNION SELECT lost_source FROM verdict
                   EXCEPT SELECT id FROM source";
        let mut statement = self.connection.prepare(sql)?;
        let ids = statement.query_map([], |row| row.get::<_, i64>(0))?.collect::<Result<Vec<_>, _>>()?;
        for id in ids {
            let text = |text: &str| Value::Text(text.to_owned());
            // Two lost sources may be of one party. All get the same party, so none confirms another.
            let (unknown, party) = (text("unknown"), Party::of_name(&Name::of_any("lost")));
            let name = text(&format!("lost-{id}"));
            let values = vec![id.into(), name, unknown.clone(), unknown, text(&party.to_string())];
            SOURCE.put(self.connection, None, values)?;
        }
        Ok(())
    }

    /// Restores the plan of a job, if it had one, and the coverage from its records.
    fn repair_job(&self, mut row: JobEntry, was_planned: bool) -> Result<RecoveredJob, Fault> {
        let (id, board) = (row.id, Board::of(&row));
        let was_lost = self.lost.contains(&sql_integer("job", id.0)?);
        let mut job =
            RecoveredJob { job: row.clone(), was_lost, n_records: 0, n_recorded: 0, n_subproblems: None };
        if !was_planned && !self.has_parts(id)? {
            return Ok(job);
        }
        let recomputed = recomputed_plan(&row, self.pass(&row)?)
            .ok_or_else(|| Fault::Unfit("a plan could not be made".to_owned()))?;
        let choices: Vec<Choice> = recomputed.parts().iter().map(|part| *part.choice()).collect();
        self.drop_foreign(id, &choices)?;
        write::put_job(self.connection, &row, None)?;
        let plan = Write::Plan { job: id, choices: choices.clone() };
        write::apply(self.connection, &mut WriteCache::default(), &plan)?;
        let mut n_subproblems = 0;
        for (part, choice) in (0_u32..).zip(&choices) {
            let is_counted = row.terms.part_range.is_none_or(|parts| parts.contains(part));
            let n_counted = if is_counted { choice.n_subproblems } else { 0 };
            self.drop_overlaps(id, part, n_counted)?;
            self.drop_unfounded(id, part)?;
            let found = Tally::of(self.connection, id, None, part, choice.n_subproblems)?;
            if found.n_records > 0 {
                let change = found.sum.change(found.sum.recorded.ranges().map(|range| range.start));
                write::put_coverage(self.connection, board, id, part, &change)?;
            }
            job.n_records += found.n_records;
            job.n_recorded += u128::from(found.sum.recorded.len());
            n_subproblems += u128::from(n_counted);
        }
        job.n_subproblems = Some(n_subproblems);
        row.phase = match row.phase {
            Phase::Done if job.n_recorded < n_subproblems => Phase::Active,
            // The recounts that confirmed it may be lost.
            Phase::Done if verdicts::check_settled(self.connection, &row).is_err() => Phase::Active,
            Phase::Planning => Phase::Active,
            phase => phase,
        };
        let plan = read::one_job(self.connection, id)?.and_then(|job| job.plan);
        write::put_job(self.connection, &row, plan)?;
        job.job = row;
        Ok(job)
    }

    /// Returns the images to count a job on.
    fn pass(&self, row: &JobEntry) -> Result<Pass, Fault> {
        let first = row.terms.second_of.map(|first| read::one_job(self.connection, first)).transpose()?;
        let first = first.flatten().map(|first| first.row);
        Ok(pass(row, &first.iter().collect::<Vec<_>>()))
    }

    /// Returns whether the job has rows in other tables.
    fn has_parts(&self, job: JobId) -> Result<bool, Fault> {
        let sql = "SELECT EXISTS (SELECT job FROM plan_part WHERE job = ?1 UNION ALL SELECT job FROM record WHERE job = ?1
                   UNION ALL SELECT job FROM second_count WHERE job = ?1 UNION ALL SELECT job FROM verdict WHERE job = ?1)";
        Ok(self.connection.query_row(sql, [sql_integer("job", job.0)?], |row| row.get(0))?)
    }

    /// Removes the stored plan, and the records of parts that the new plan lacks or has with another image.
    fn drop_foreign(&self, id: JobId, choices: &[Choice]) -> Result<(), Fault> {
        let job = sql_integer("job", id.0)?;
        let drop_part = "DELETE FROM record WHERE job = ?1 AND part = ?2";
        let mut foreign = Vec::new();
        read::select(self.connection, &PLAN_PART, "WHERE job = ?1", &[job.into()], |row| {
            let number: usize = integer(row, "number", &"a plan")?;
            let image = read::choice(row, "a plan")?.image;
            if choices.get(number).is_some_and(|choice| choice.image != image) {
                foreign.push(sql_integer("part", number)?);
            }
            Ok::<_, Fault>(())
        })?;
        let mut drop = self.connection.prepare_cached(drop_part)?;
        foreign.into_iter().try_for_each(|number| drop.execute((job, number)).map(|_| ()))?;
        let n_parts = sql_integer("number of parts", choices.len())?;
        for table in [&RECORD, &SECOND_COUNT, &VERDICT] {
            let sql = format!("DELETE FROM {} WHERE job = ?1 AND (part < 0 OR part >= ?2)", table.name);
            self.connection.execute(&sql, (job, n_parts))?;
        }
        self.connection.execute("DELETE FROM plan_part WHERE job = ?1", [job])?;
        Ok(())
    }

    /// Removes records of a part that lie outside of it or overlap an earlier one: copies of pages may differ in age.
    fn drop_overlaps(&self, id: JobId, part: u32, n_subproblems: u64) -> Result<(), Fault> {
        let job = sql_integer("job", id.0)?;
        let (mut end, mut dropped) = (0, Vec::new());
        let (rest, values) = ("WHERE job = ?1 AND part = ?2 ORDER BY first", [job.into(), part.into()]);
        read::select(self.connection, &RECORD, rest, &values, |row| -> Result<(), Fault> {
            let place = "a record";
            let first: u64 = integer(row, "first", &place)?;
            let until: u64 = integer(row, "until", &place)?;
            if first < end || until <= first || until > n_subproblems {
                dropped.push(sql_integer("subproblem", first)?);
            } else {
                end = until;
            }
            Ok(())
        })?;
        let sql = "DELETE FROM record WHERE job = ?1 AND part = ?2 AND first = ?3";
        let mut drop = self.connection.prepare_cached(sql)?;
        Ok(dropped.into_iter().try_for_each(|first| drop.execute((job, part, first)).map(|_| ()))?)
    }

    /// Removes records of a part that have lost a dispute since, and recounts and verdicts without a record.
    fn drop_unfounded(&self, id: JobId, part: u32) -> Result<(), Fault> {
        verdicts::drop_losers(self.connection, sql_integer("job", id.0)?, part)?;
        for table in [&SECOND_COUNT, &VERDICT] {
            let sql = format!(
                "DELETE FROM {0} WHERE job = ?1 AND part = ?2 AND NOT EXISTS (SELECT 1 FROM record WHERE job = ?1 \
                 AND part = ?2 AND record.first = {0}.first AND record.until = {0}.until)",
                table.name
            );
            self.connection.prepare_cached(&sql)?.execute((sql_integer("job", id.0)?, part))?;
        }
        Ok(())
    }
}

/// The tables with rows of jobs to keep. Coverage is summed again.
const PARTS: [&Table; 4] = [&PLAN_PART, &RECORD, &SECOND_COUNT, &VERDICT];

/// Why a scan of a damaged table ended early.
enum ScanError {
    /// The table can't be read further.
    Read(Fault),
    /// A row can't be written to the new database.
    Kept(Fault),
}

impl From<Fault> for ScanError {
    fn from(fault: Fault) -> Self {
        Self::Read(fault)
    }
}

/// Returns whether the values are a row of the table with the right digest.
fn is_proved(table: &Table, board: Option<Board>, values: &[Value]) -> bool {
    let Some((Value::Integer(digest), row)) = values.split_last() else { return false };
    row.len() == table.columns.len() && *digest == table.digest(board, row.iter().map(ValueRef::from))
}

/// Returns an entry for a job with only a known board.
fn lost_job(id: JobId, Board { identity, n, method, decomposition, .. }: Board) -> Result<JobEntry, Fault> {
    let n = BoardSize::new(n).map_err(|error| Fault::Damaged(error.to_string()))?;
    let terms = Terms { seed: seed::draw(), ..Terms::default() };
    let entry = JobEntry::new(id, n, method, unix_ms());
    Ok(JobEntry { identity, decomposition, phase: Phase::Active, terms, ..entry })
}
