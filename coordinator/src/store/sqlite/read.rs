//! Reading jobs, and doubting what is read.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use queens_proto::{JobId, Priority};
use queens_solver::{BoardSize, Choice, Symmetry};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Row};

use super::fault::Fault;
use crate::intervals::Intervals;
use crate::store::{Coverage, JobRow, Phase, StoredJob};

/// What the next lease tokens begin with, and what the first began with.
pub(super) fn epochs(connection: &Connection) -> Result<(u32, u32), Fault> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let epochs = connection.query_row("SELECT next, first FROM epoch WHERE one = 1", [], read);
    let (next, first): (i64, i64) =
        epochs.optional()?.ok_or_else(|| Fault::Damaged("there is no epoch".to_owned()))?;
    let number =
        |epoch| u32::try_from(epoch).map_err(|_| Fault::Damaged(format!("epoch {epoch} is out of range")));
    Ok((number(next)?, number(first)?))
}

/// Names of workers that get no leases.
pub(super) fn blocked(connection: &Connection) -> Result<BTreeSet<String>, Fault> {
    let mut statement = connection.prepare("SELECT name FROM blocked_worker")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// All jobs with all that is said of them, records left out.
pub(super) fn jobs(connection: &Connection) -> Result<Vec<StoredJob>, Fault> {
    let mut statement = connection.prepare("SELECT * FROM job ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        let id = JobId(integer(row, "id", &"a job")?);
        let place = format!("job {id}");
        let row_of_job = job(row, id, &place)?;
        let n_crosses: Option<i64> = cell(row, "n_crosses", &place)?;
        let choices = choices(connection, id)?;
        if n_crosses.map_or(!choices.is_empty(), |n_crosses| usize::try_from(n_crosses) != Ok(choices.len()))
        {
            let expected = n_crosses.map_or("no plan".to_owned(), |n_crosses| format!("{n_crosses} crosses"));
            return Err(Fault::Damaged(format!("{place} has {expected}, but {} are there", choices.len())));
        }
        let coverage = coverage(connection, id, &choices)?;
        jobs.push(StoredJob { row: row_of_job, choices: n_crosses.map(|_| choices), coverage });
    }
    Ok(jobs)
}

fn job(row: &Row<'_>, id: JobId, place: &str) -> Result<JobRow, Fault> {
    let n: i64 = cell(row, "n", &place)?;
    let size = u8::try_from(n).ok().and_then(|n| BoardSize::new(n).ok());
    let phase: String = cell(row, "phase", &place)?;
    let paused: i64 = cell(row, "paused", &place)?;
    let priority: i32 = integer(row, "priority", &place)?;
    let priority =
        Priority::try_from(priority).map_err(|error| Fault::Damaged(format!("{place}: {error}")))?;
    let known = Phase::ALL.into_iter().find(|known| known.name() == phase);
    Ok(JobRow {
        id,
        n: size.ok_or_else(|| Fault::Damaged(format!("{place}: n {n} is no board size")))?,
        decomposition: integer(row, "decomposition", &place)?,
        phase: known.ok_or_else(|| Fault::Damaged(format!("{place}: there is no phase '{phase}'")))?,
        priority,
        paused: paused != 0,
        created_ms: integer(row, "created_ms", &place)?,
        active: Duration::from_millis(integer(row, "active_ms", &place)?),
        n_verified: integer(row, "n_verified", &place)?,
        n_disputed: integer(row, "n_disputed", &place)?,
    })
}

fn choices(connection: &Connection, job: JobId) -> Result<Vec<Choice>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT number, image, n_subproblems, work FROM plan_cross WHERE job = ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([sql_integer("job", job.0)?])?;
    let mut choices = Vec::new();
    while let Some(row) = rows.next()? {
        let place = format!("plan of job {job}, cross {}", choices.len());
        let number: i64 = cell(row, "number", &place)?;
        if usize::try_from(number) != Ok(choices.len()) {
            return Err(Fault::Damaged(format!("{place} is missing, {number} comes next")));
        }
        let image: i64 = cell(row, "image", &place)?;
        let symmetry = u8::try_from(image).ok().and_then(Symmetry::from_index);
        choices.push(Choice {
            image: symmetry.ok_or_else(|| Fault::Damaged(format!("{place}: there is no image {image}")))?,
            n_subproblems: integer(row, "n_subproblems", &place)?,
            work: parsed(row, "work", &place)?,
        });
    }
    Ok(choices)
}

fn coverage(connection: &Connection, job: JobId, choices: &[Choice]) -> Result<Vec<(u32, Coverage)>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT cross, recorded, solutions, nodes FROM coverage WHERE job = ?1 ORDER BY cross",
    )?;
    let mut rows = statement.query([sql_integer("job", job.0)?])?;
    let mut coverage = Vec::new();
    while let Some(row) = rows.next()? {
        let place = format!("coverage of job {job}");
        let cross: u32 = integer(row, "cross", &place)?;
        let place = format!("{place}, cross {cross}");
        let Some(choice) = usize::try_from(cross).ok().and_then(|cross| choices.get(cross)) else {
            return Err(Fault::Damaged(format!("{place}: the plan has {} crosses", choices.len())));
        };
        let recorded: Intervals = parsed(row, "recorded", &place)?;
        if recorded.ranges().last().is_some_and(|last| last.end > choice.n_subproblems) {
            let n_subproblems = choice.n_subproblems;
            return Err(Fault::Damaged(format!(
                "{place}: recorded '{recorded}' goes past its {n_subproblems} subproblems"
            )));
        }
        let solutions = parsed(row, "solutions", &place)?;
        let nodes = parsed(row, "nodes", &place)?;
        coverage.push((cross, Coverage { recorded, solutions, nodes }));
    }
    Ok(coverage)
}

/// An integer as SQLite keeps it.
pub(super) fn sql_integer(what: &str, value: impl TryInto<i64> + Copy + Display) -> Result<i64, Fault> {
    value.try_into().map_err(|_| Fault::Refused(format!("{what} {value} is over 2^63 - 1")))
}

/// An integer column that may not hold every integer.
pub(super) fn integer<T: TryFrom<i64>>(row: &Row<'_>, column: &str, place: &dyn Display) -> Result<T, Fault> {
    let value: i64 = cell(row, column, place)?;
    T::try_from(value).map_err(|_| Fault::Damaged(format!("{place}: {column} {value} is out of range")))
}

/// A text column that holds something else.
fn parsed<T: FromStr<Err: Display>>(row: &Row<'_>, column: &str, place: &dyn Display) -> Result<T, Fault> {
    let text: String = cell(row, column, place)?;
    text.parse().map_err(|error| Fault::Damaged(format!("{place}: {column} '{text}': {error}")))
}

pub(super) fn cell<T: FromSql>(row: &Row<'_>, column: &str, place: &dyn Display) -> Result<T, Fault> {
    row.get(column).map_err(|error| Fault::Damaged(format!("{place}: {error}")))
}
