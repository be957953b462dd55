//! Reading jobs, and doubting what is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use queens_messages::{Crosses, JobId, Priority, Share, Terms};
use queens_solver::{BoardSize, Choice, Method, Symmetry};
use rusqlite::types::FromSql;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use super::digest::{
    BLOCKED_WORKER, Board, COVERAGE, COVERAGE_RANGE, EPOCH, JOB, PLAN_CROSS, RECORD, SECOND_COUNT, SOURCE,
    Table, VERDICT, plan_digest,
};
use super::fault::Fault;
use queens_ledger::intervals::{Extent, Intervals};
use queens_ledger::store::{Coverage, JobEntry, Phase, StoredJob};

/// A row of the table of jobs.
pub(super) struct JobColumns {
    pub(super) row: JobEntry,
    /// How many crosses its plan has, and the digest of all of them.
    pub(super) plan: Option<(i64, i64)>,
}

/// All columns of a table, for the rows that `rest` chooses.
pub(super) fn select<'a>(
    connection: &'a Connection,
    table: &Table,
    rest: &str,
) -> Result<CachedStatement<'a>, Fault> {
    Ok(connection.prepare_cached(&format!("SELECT {} FROM {} {rest}", table.all(), table.name))?)
}

/// What the next lease tokens begin with, and what the first began with.
pub(super) fn epochs(connection: &Connection) -> Result<(u32, u32), Fault> {
    let mut statement = select(connection, &EPOCH, "WHERE one = 1")?;
    let mut rows = statement.query([])?;
    let row = rows.next()?.ok_or_else(|| Fault::Damaged("there is no epoch".to_owned()))?;
    EPOCH.verify(row, None, &"epoch")?;
    Ok((integer(row, "next", &"epoch")?, integer(row, "first", &"epoch")?))
}

/// Names of workers that get no leases, with the reasons.
pub(super) fn blocked(connection: &Connection) -> Result<BTreeMap<String, String>, Fault> {
    let mut statement = select(connection, &BLOCKED_WORKER, "")?;
    let mut rows = statement.query([])?;
    let mut names = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let place = "a blocked worker";
        let name: String = cell(row, "name", &place)?;
        BLOCKED_WORKER.verify(row, None, &format_args!("blocked worker '{}'", name.escape_debug()))?;
        let reason = cell(row, "reason", &place)?;
        names.insert(name, reason);
    }
    Ok(names)
}

/// The ids of all sources of records.
pub(super) fn sources(connection: &Connection) -> Result<BTreeSet<i64>, Fault> {
    let mut statement = select(connection, &SOURCE, "")?;
    let mut rows = statement.query([])?;
    let mut ids = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let id: i64 = cell(row, "id", &"a source")?;
        SOURCE.verify(row, None, &format_args!("source {id}"))?;
        ids.insert(id);
    }
    Ok(ids)
}

/// All jobs with all that is said of them, records left out.
pub(super) fn jobs(connection: &Connection) -> Result<Vec<StoredJob>, Fault> {
    let rows = job_rows(connection)?;
    let ids = rows.iter().map(|job| job.row.id).collect();
    let jobs = rows.into_iter().map(|columns| stored(connection, columns)).collect::<Result<_, _>>()?;
    check_tables(connection, &ids)?;
    Ok(jobs)
}

/// Whether the rows of all jobs are what was written, and no other row is left of a job that is not there.
pub(super) fn check_jobs(connection: &Connection) -> Result<(), Fault> {
    let ids = job_rows(connection)?.iter().map(|job| job.row.id).collect();
    check_tables(connection, &ids)
}

fn job_rows(connection: &Connection) -> Result<Vec<JobColumns>, Fault> {
    let mut statement = select(connection, &JOB, "ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        jobs.push(job(row)?);
    }
    Ok(jobs)
}

/// Whether all rows of tables are of jobs that are there.
fn check_tables(connection: &Connection, jobs: &BTreeSet<JobId>) -> Result<(), Fault> {
    [&PLAN_CROSS, &COVERAGE, &COVERAGE_RANGE, &RECORD, &SECOND_COUNT, &VERDICT]
        .into_iter()
        .try_for_each(|table| check_owners(connection, table, jobs).map_err(|fault| fault.at(table)))
}

/// A job with all that is said of it, if it is there; records left out.
pub(super) fn stored_job(connection: &Connection, id: JobId) -> Result<Option<StoredJob>, Fault> {
    one_job(connection, id)?.map(|columns| stored(connection, columns)).transpose()
}

fn stored(connection: &Connection, JobColumns { row, plan }: JobColumns) -> Result<StoredJob, Fault> {
    let board = Board::of(&row);
    let id = row.id;
    let choices =
        choices(connection, id, board).map_err(|fault| fault.at(format_args!("plan of job {id}")))?;
    check_plan(&row, plan, &choices)?;
    let coverage = coverage(connection, id, board, &choices)
        .map_err(|fault| fault.at(format_args!("coverage of job {id}")))?;
    let has_second_counts = has_second_counts(connection, id)?;
    Ok(StoredJob { entry: row, choices: plan.map(|_| choices), coverage, has_second_counts })
}

/// The row of one job, if there is such a job.
pub(super) fn one_job(connection: &Connection, id: JobId) -> Result<Option<JobColumns>, Fault> {
    let mut statement = select(connection, &JOB, "WHERE id = ?1")?;
    let mut rows = statement.query([sql_integer("job", id.0)?])?;
    rows.next()?.map(job).transpose()
}

fn job(row: &Row<'_>) -> Result<JobColumns, Fault> {
    let id = JobId(integer(row, "id", &"a job")?);
    let place = format!("job {id}");
    JOB.verify(row, None, &place)?;
    let method: Method = parsed(row, "method", &place)?;
    let job = JobEntry { terms: terms(row, &place)?, ..job_row(row, id, method, &place)? };
    let (n_crosses, digest): (Option<i64>, Option<i64>) =
        (cell(row, "n_crosses", &place)?, cell(row, "plan_digest", &place)?);
    if n_crosses.is_some() != digest.is_some() {
        return Err(Fault::Damaged(format!("{place} has half a plan")));
    }
    Ok(JobColumns { row: job, plan: n_crosses.zip(digest) })
}

/// A job of this method as any schema version from 2 on has it.
pub(super) fn job_row(row: &Row<'_>, id: JobId, method: Method, place: &str) -> Result<JobEntry, Fault> {
    let n: i64 = cell(row, "n", &place)?;
    let size = u8::try_from(n).ok().and_then(|n| BoardSize::new(n).ok());
    let phase: String = cell(row, "phase", &place)?;
    let paused: i64 = cell(row, "paused", &place)?;
    let priority: i32 = integer(row, "priority", &place)?;
    let priority =
        Priority::try_from(priority).map_err(|error| Fault::Damaged(format!("{place}: {error}")))?;
    let known = Phase::ALL.into_iter().find(|known| known.name() == phase);
    Ok(JobEntry {
        id,
        n: size.ok_or_else(|| Fault::Damaged(format!("{place}: n {n} is no board size")))?,
        method,
        decomposition: integer(row, "decomposition", &place)?,
        phase: known.ok_or_else(|| Fault::Damaged(format!("{place}: there is no phase '{phase}'")))?,
        priority,
        paused: paused != 0,
        created_ms: integer(row, "created_ms", &place)?,
        started_ms: time(row, "started_ms", place)?,
        finished_ms: time(row, "finished_ms", place)?,
        active: Duration::from_millis(integer(row, "active_ms", &place)?),
        n_verified: integer(row, "n_verified", &place)?,
        n_disputed: integer(row, "n_disputed", &place)?,
        terms: Terms::default(),
    })
}

/// What is agreed about a job.
fn terms(row: &Row<'_>, place: &str) -> Result<Terms, Fault> {
    let wrong = |what: String| Fault::Damaged(format!("{place}: {what}"));
    let bound = |column| -> Result<Option<u32>, Fault> {
        let bound: Option<i64> = cell(row, column, &place)?;
        let in_range =
            |bound| u32::try_from(bound).map_err(|_| wrong(format!("{column} {bound} is out of range")));
        bound.map(in_range).transpose()
    };
    let crosses = match (bound("crosses_from")?, bound("crosses_to")?) {
        (None, None) => None,
        (Some(from), Some(to)) => Some(Crosses::new(from, to).map_err(|error| wrong(error.to_string()))?),
        _ => return Err(wrong("it has half a range of crosses".to_owned())),
    };
    let second_of: Option<i64> = cell(row, "second_of", &place)?;
    let second_of = second_of.map(u64::try_from).transpose();
    let seed: String = cell(row, "seed", &place)?;
    let is_seed = seed.len() == 32 && seed.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let number = u128::from_str_radix(&seed, 16).ok().filter(|_| is_seed);
    Ok(Terms {
        crosses,
        recount: Share::of_ppm(integer(row, "recount", &place)?).map_err(|error| wrong(error.to_string()))?,
        second_of: second_of.map_err(|_| wrong("second_of is out of range".to_owned()))?.map(JobId),
        seed: number.ok_or_else(|| wrong(format!("'{}' is no seed", seed.escape_debug())))?,
        exported_ms: time(row, "exported_ms", place)?,
    })
}

/// A time that may be unknown.
fn time(row: &Row<'_>, column: &str, place: &str) -> Result<Option<u64>, Fault> {
    let time: Option<i64> = cell(row, column, &place)?;
    let in_range = |time: i64| {
        u64::try_from(time).map_err(|_| Fault::Damaged(format!("{place}: {column} {time} is out of range")))
    };
    time.map(in_range).transpose()
}

/// Whether something of a job was counted again.
fn has_second_counts(connection: &Connection, job: JobId) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM second_count WHERE job = ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([sql_integer("job", job.0)?], |row| row.get(0))?)
}

/// Whether these are the choices that the job was given.
fn check_plan(job: &JobEntry, plan: Option<(i64, i64)>, choices: &[Choice]) -> Result<(), Fault> {
    let place = format!("job {}", job.id);
    let n_crosses = plan.map_or(0, |(n_crosses, _)| n_crosses);
    if usize::try_from(n_crosses) != Ok(choices.len()) {
        let expected = plan.map_or("no plan".to_owned(), |_| format!("{n_crosses} crosses"));
        return Err(Fault::Damaged(format!("{place} has {expected}, but {} are there", choices.len())));
    }
    if plan.is_some_and(|(_, digest)| digest != plan_digest(Board::of(job), choices)) {
        return Err(Fault::Damaged(format!("{place}: the digest of its plan is not that of its crosses")));
    }
    Ok(())
}

fn choices(connection: &Connection, job: JobId, board: Board) -> Result<Vec<Choice>, Fault> {
    let mut statement = select(connection, &PLAN_CROSS, "WHERE job = ?1 ORDER BY number")?;
    let mut rows = statement.query([sql_integer("job", job.0)?])?;
    let mut choices = Vec::new();
    while let Some(row) = rows.next()? {
        let place = format!("plan of job {job}, cross {}", choices.len());
        let number: i64 = cell(row, "number", &place)?;
        if usize::try_from(number) != Ok(choices.len()) {
            return Err(Fault::Damaged(format!("{place} is missing, {number} comes next")));
        }
        PLAN_CROSS.verify(row, Some(board), &place)?;
        choices.push(choice(row, &place)?);
    }
    Ok(choices)
}

/// A cross of a plan as any schema version has it.
pub(super) fn choice(row: &Row<'_>, place: &str) -> Result<Choice, Fault> {
    let image: i64 = cell(row, "image", &place)?;
    let symmetry = u8::try_from(image).ok().and_then(Symmetry::from_index);
    Ok(Choice {
        image: symmetry.ok_or_else(|| Fault::Damaged(format!("{place}: there is no image {image}")))?,
        n_subproblems: integer(row, "n_subproblems", &place)?,
        work: parsed(row, "work", &place)?,
    })
}

fn coverage(
    connection: &Connection,
    job: JobId,
    board: Board,
    choices: &[Choice],
) -> Result<Vec<(u32, Coverage)>, Fault> {
    let mut ranges = ranges(connection, job, board)?.into_iter().peekable();
    let mut statement = select(connection, &COVERAGE, "WHERE job = ?1 ORDER BY cross")?;
    let mut rows = statement.query([sql_integer("job", job.0)?])?;
    let mut coverage = Vec::new();
    while let Some(row) = rows.next()? {
        let place = format!("coverage of job {job}");
        let cross: u32 = integer(row, "cross", &place)?;
        let place = format!("{place}, cross {cross}");
        COVERAGE.verify(row, Some(board), &place)?;
        let Some(choice) = usize::try_from(cross).ok().and_then(|cross| choices.get(cross)) else {
            return Err(Fault::Damaged(format!("{place}: the plan has {} crosses", choices.len())));
        };
        let recorded =
            ranges.next_if(|(of, _)| *of == cross).map(|(_, recorded)| recorded).unwrap_or_default();
        let extent = Extent {
            n_ranges: integer(row, "n_ranges", &place)?,
            n_numbers: integer(row, "n_recorded", &place)?,
            fingerprint: cell::<i64>(row, "fingerprint", &place)?.cast_unsigned(),
        };
        let found = recorded.extent();
        if found != extent {
            return Err(Fault::Damaged(format!(
                "{place}: it should be {} subproblems in {} ranges, but {} in {} are there, or others",
                extent.n_numbers, extent.n_ranges, found.n_numbers, found.n_ranges
            )));
        }
        if let Some(last) = recorded.ranges().next_back().filter(|last| last.end > choice.n_subproblems) {
            let n_subproblems = choice.n_subproblems;
            return Err(Fault::Damaged(format!(
                "{place}: {}..{} goes past its {n_subproblems} subproblems",
                last.start, last.end
            )));
        }
        let (solutions, nodes) = (parsed(row, "solutions", &place)?, parsed(row, "nodes", &place)?);
        coverage.push((cross, Coverage { recorded, solutions, nodes }));
    }
    match ranges.next() {
        None => Ok(coverage),
        Some((cross, _)) => {
            Err(Fault::Damaged(format!("coverage of job {job}, cross {cross} has ranges, but no sums")))
        }
    }
}

/// The recorded ranges of each cross that has any, in order.
fn ranges(connection: &Connection, job: JobId, board: Board) -> Result<Vec<(u32, Intervals)>, Fault> {
    let mut statement = select(connection, &COVERAGE_RANGE, "WHERE job = ?1 ORDER BY cross, first")?;
    let mut rows = statement.query([sql_integer("job", job.0)?])?;
    let mut crosses: Vec<(u32, Intervals)> = Vec::new();
    while let Some(row) = rows.next()? {
        let place = format_args!("recorded ranges of job {job}");
        let (cross, first): (u32, u64) = (integer(row, "cross", &place)?, integer(row, "first", &place)?);
        let place = format_args!("recorded ranges of job {job}, cross {cross}, from {first}");
        COVERAGE_RANGE.verify(row, Some(board), &place)?;
        let until: u64 = integer(row, "until", &place)?;
        if crosses.last().is_none_or(|(last, _)| *last != cross) {
            crosses.push((cross, Intervals::default()));
        }
        let Some((_, recorded)) = crosses.last_mut() else { continue };
        let before = recorded.ranges().next_back();
        if until <= first || before.is_some_and(|before| before.end >= first) {
            return Err(Fault::Damaged(format!("{place}: it is empty, or meets the one before it")));
        }
        recorded.insert(first..until);
    }
    Ok(crosses)
}

/// Whether all rows of a table are of jobs that are there.
fn check_owners(connection: &Connection, table: &Table, jobs: &BTreeSet<JobId>) -> Result<(), Fault> {
    let sql = format!("SELECT job FROM {} WHERE job > ?1 ORDER BY job LIMIT 1", table.name);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut last = i64::MIN;
    while let Some(job) = statement.query_row([last], |row| row.get::<_, i64>(0)).optional()? {
        if !u64::try_from(job).is_ok_and(|job| jobs.contains(&JobId(job))) {
            return Err(Fault::Damaged(format!(
                "table {} has rows of job {job}, which is not there",
                table.name
            )));
        }
        last = job;
    }
    Ok(())
}

/// An integer as SQLite keeps it.
pub(super) fn sql_integer(what: &str, value: impl TryInto<i64> + Copy + Display) -> Result<i64, Fault> {
    value.try_into().map_err(|_| Fault::Impossible(format!("{what} {value} is over 2^63 - 1")))
}

/// An integer column that may not hold every integer.
pub(super) fn integer<T: TryFrom<i64>>(row: &Row<'_>, column: &str, place: &dyn Display) -> Result<T, Fault> {
    let value: i64 = cell(row, column, place)?;
    T::try_from(value).map_err(|_| Fault::Damaged(format!("{place}: {column} {value} is out of range")))
}

/// A text column that holds something else.
pub(super) fn parsed<T: FromStr<Err: Display>>(
    row: &Row<'_>,
    column: &str,
    place: &dyn Display,
) -> Result<T, Fault> {
    let text: String = cell(row, column, place)?;
    text.parse().map_err(|error| Fault::Damaged(format!("{place}: {column} '{text}': {error}")))
}

pub(super) fn cell<T: FromSql>(row: &Row<'_>, column: &str, place: &dyn Display) -> Result<T, Fault> {
    row.get(column).map_err(|error| Fault::Damaged(format!("{place}: {error}")))
}
