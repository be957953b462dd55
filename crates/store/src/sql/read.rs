//! Reads jobs from the database and validates them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use queens_ledger::intervals::{Extent, Intervals};
use queens_ledger::store::{Block, Coverage, JobEntry, Phase, Source, StoredJob};
use queens_model::hex::from_hex;
use queens_model::{Arbiter, InvalidName, JobId, JobIdentity, Name, PartRange, Priority, Share, Terms};
use queens_solver::{BoardSize, Choice, Count, Span, Symmetry};
use rusqlite::types::{Value, ValueRef};

use super::database::{Database, Row, collect, first, for_each};
use super::digest::{
    BLOCKED_WORKER, Board, COVERAGE, COVERAGE_RANGE, JOB, JOB_IDENTITY, PLAN_PART, RECORD, SECOND_COUNT,
    SOURCE, VERDICT, plan_digest,
};
use super::fault::Fault;
use super::table::Table;

/// A row of the job table.
pub(crate) struct JobColumns {
    pub(crate) row: JobEntry,
    /// The number of the plan's parts, and its digest.
    pub(crate) plan: Option<(i64, i64)>,
}

/// Calls `each` with the rows of a table that `rest` selects: all columns and the digest. `each` must not use the
/// database.
pub fn select<E: From<Fault>>(
    database: &dyn Database,
    table: &Table,
    rest: &str,
    parameters: &[Value],
    each: impl FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for_each(database, &all(table, rest), parameters, each)
}

/// Returns SQL that selects rows of a table: all columns and the digest.
pub(crate) fn all(table: &Table, rest: &str) -> String {
    format!("SELECT {} FROM {} {rest}", table.all(), table.name)
}

/// Reads the second copies of job identities.
fn identities(database: &dyn Database) -> Result<BTreeMap<JobId, JobIdentity>, Fault> {
    collect(database, &all(&JOB_IDENTITY, ""), &[], |row| {
        let job: u64 = integer(row, "job", &"an identity")?;
        let place = format!("identity of job {job}");
        JOB_IDENTITY.verify(row, None, &place)?;
        Ok((JobId(job), parsed(row, "identity", &place)?))
    })
}

/// Reads the blocked names and parties, which get no leases, with the reasons.
pub(crate) fn blocked(database: &dyn Database) -> Result<BTreeMap<Block, String>, Fault> {
    collect(database, &all(&BLOCKED_WORKER, ""), &[], |row| {
        let place = "a blocked worker";
        let name: String = row.get("name", &place)?;
        let place = format!("blocked worker '{}'", name.escape_debug());
        BLOCKED_WORKER.verify(row, None, &place)?;
        let name = name.parse().map_err(|error: InvalidName| Fault::Damaged(format!("{place}: {error}")))?;
        let is_of_all = row.get::<String>("party", &place)?.is_empty();
        let party = if is_of_all { None } else { Some(parsed(row, "party", &place)?) };
        Ok((Block { name, party }, row.get("reason", &place)?))
    })
}

/// Returns the ids of all sources.
pub(crate) fn sources(database: &dyn Database) -> Result<BTreeSet<i64>, Fault> {
    collect(database, &all(&SOURCE, ""), &[], |row| {
        let id: i64 = row.get("id", &"a source")?;
        SOURCE.verify(row, None, &format_args!("source {id}"))?;
        Ok(id)
    })
}

/// Returns the source with this id.
pub(crate) fn source(database: &dyn Database, id: i64) -> Result<Source, Fault> {
    let place = format!("source {id}");
    let source = first(database, &all(&SOURCE, "WHERE id = ?1"), &[id.into()], |row| {
        SOURCE.verify(row, None, &place)?;
        let name = |column| Ok::<_, Fault>(Name::of_any(&row.get::<String>(column, &place)?));
        let party = parsed(row, "party", &place)?;
        Ok(Source { name: name("worker")?, build: name("build")?, kernel: name("kernel")?, party })
    })?;
    source.ok_or_else(|| Fault::Damaged(format!("{place} is missing")))
}

/// Reads all jobs with everything stored about them, except records.
///
/// # Errors
/// If data contradict each other.
pub fn jobs(database: &dyn Database) -> Result<Vec<StoredJob>, Fault> {
    let jobs = jobs_and_damage(database)?;
    match jobs.iter().find_map(|job| job.damage.clone()) {
        Some(reason) => Err(Fault::Damaged(reason)),
        None => Ok(jobs),
    }
}

/// Reads all jobs like [`jobs`]. A contradictory job consists of its entry and the reason.
///
/// # Errors
/// If the damage may concern more than one job.
pub(crate) fn jobs_and_damage(database: &dyn Database) -> Result<Vec<StoredJob>, Fault> {
    let rows = job_rows(database)?;
    let ids = rows.iter().map(|job| job.row.id).collect();
    check_tables(database, &ids)?;
    let mut identities = identities(database)?;
    let mut jobs = Vec::new();
    for columns in rows {
        let entry = columns.row.clone();
        let has_its_own = identities.remove(&entry.id) == Some(entry.identity);
        jobs.push(match stored(database, columns) {
            Ok(job) if has_its_own => job,
            Ok(_) => StoredJob::damaged(entry, "its identity differs from the one beside it".to_owned()),
            Err(Fault::Damaged(reason)) => StoredJob::damaged(entry, reason),
            Err(fault) => return Err(fault.at(format_args!("job {}", entry.id))),
        });
    }
    match identities.first_key_value() {
        Some((job, _)) => {
            Err(Fault::Damaged(format!("there is an identity of job {job}, which is not there")))
        }
        None => Ok(jobs),
    }
}

/// Checks that all job rows are valid, and that no other row lacks its job.
pub(crate) fn check_jobs(database: &dyn Database) -> Result<(), Fault> {
    let ids = job_rows(database)?.iter().map(|job| job.row.id).collect();
    check_tables(database, &ids)
}

fn job_rows(database: &dyn Database) -> Result<Vec<JobColumns>, Fault> {
    collect(database, &all(&JOB, "ORDER BY id"), &[], job)
}

/// Checks that all rows of the other tables belong to existing jobs.
fn check_tables(database: &dyn Database, jobs: &BTreeSet<JobId>) -> Result<(), Fault> {
    [&PLAN_PART, &COVERAGE, &COVERAGE_RANGE, &RECORD, &SECOND_COUNT, &VERDICT]
        .into_iter()
        .try_for_each(|table| check_owners(database, table, jobs).map_err(|fault| fault.at(table)))
}

/// Reads a job, if it exists, with everything stored about it, except records.
pub(crate) fn stored_job(database: &dyn Database, id: JobId) -> Result<Option<StoredJob>, Fault> {
    let stored = one_job(database, id)?.map(|columns| stored(database, columns)).transpose();
    stored.map_err(|fault| fault.at(format_args!("job {id}")))
}

fn stored(database: &dyn Database, JobColumns { row, plan }: JobColumns) -> Result<StoredJob, Fault> {
    let board = Board::of(&row);
    let id = row.id;
    let choices = choices(database, id, board)?;
    check_plan(&row, plan, &choices)?;
    let coverage = coverage(database, id, board, &choices)?;
    let has_second_counts = has_second_counts(database, id)?;
    Ok(StoredJob { entry: row, choices: plan.map(|_| choices), coverage, has_second_counts, damage: None })
}

/// Reads the row of a job, if it exists.
pub(crate) fn one_job(database: &dyn Database, id: JobId) -> Result<Option<JobColumns>, Fault> {
    first(database, &all(&JOB, "WHERE id = ?1"), &[sql_integer("job", id.0)?.into()], job)
}

fn job(row: &Row<'_>) -> Result<JobColumns, Fault> {
    let id = JobId(integer(row, "id", &"a job")?);
    let place = format!("job {id}");
    JOB.verify(row, None, &place)?;
    let job = job_row(row, id, &place)?;
    let (n_parts, digest): (Option<i64>, Option<i64>) =
        (row.get("n_parts", &place)?, row.get("plan_digest", &place)?);
    if n_parts.is_some() != digest.is_some() {
        return Err(Fault::Damaged(format!("{place} has half a plan")));
    }
    Ok(JobColumns { row: job, plan: n_parts.zip(digest) })
}

fn job_row(row: &Row<'_>, id: JobId, place: &str) -> Result<JobEntry, Fault> {
    let n: i64 = row.get("n", &place)?;
    let size = u8::try_from(n).ok().and_then(|n| BoardSize::new(n).ok());
    let phase: String = row.get("phase", &place)?;
    let paused: i64 = row.get("paused", &place)?;
    let priority: i32 = integer(row, "priority", &place)?;
    let priority =
        Priority::try_from(priority).map_err(|error| Fault::Damaged(format!("{place}: {error}")))?;
    let known = Phase::ALL.into_iter().find(|known| known.name() == phase);
    Ok(JobEntry {
        id,
        identity: parsed(row, "identity", &place)?,
        n: size.ok_or_else(|| Fault::Damaged(format!("{place}: n {n} is no board size")))?,
        method: parsed(row, "method", &place)?,
        decomposition: integer(row, "decomposition", &place)?,
        phase: known.ok_or_else(|| Fault::Damaged(format!("{place}: there is no phase '{phase}'")))?,
        priority,
        paused: paused != 0,
        created_ms: integer(row, "created_ms", &place)?,
        started_ms: optional(row, "started_ms", place)?,
        finished_ms: optional(row, "finished_ms", place)?,
        active: Duration::from_millis(integer(row, "active_ms", &place)?),
        n_verified: integer(row, "n_verified", &place)?,
        n_disputed: integer(row, "n_disputed", &place)?,
        terms: terms(row, place)?,
    })
}

/// Reads the terms of a job.
fn terms(row: &Row<'_>, place: &str) -> Result<Terms, Fault> {
    let wrong = |what: String| Fault::Damaged(format!("{place}: {what}"));
    let part_range = match (optional(row, "parts_from", place)?, optional(row, "parts_to", place)?) {
        (None, None) => None,
        (Some(from), Some(to)) => Some(PartRange::new(from, to).map_err(|error| wrong(error.to_string()))?),
        _ => return Err(wrong("it has half a range of parts".to_owned())),
    };
    let seed: String = row.get("seed", &place)?;
    let number = from_hex(&seed).map(u128::from_be_bytes);
    Ok(Terms {
        part_range,
        recount: Share::of_ppm(integer(row, "recount", &place)?).map_err(|error| wrong(error.to_string()))?,
        recount_by: arbiter(row, place)?,
        second_of: optional(row, "second_of", place)?.map(JobId),
        seed: number.ok_or_else(|| wrong(format!("'{}' is no seed", seed.escape_debug())))?,
        exported_ms: optional(row, "exported_ms", place)?,
    })
}

/// Reads the party that must recount the job, if one is named.
fn arbiter(row: &Row<'_>, place: &str) -> Result<Option<Arbiter>, Fault> {
    let party: Option<String> = row.get("recount_by", &place)?;
    let invitation = optional(row, "invitation", place)?;
    let party = party.map(|_| parsed(row, "recount_by", &place)).transpose()?;
    Ok(party.map(|party| Arbiter { party, invitation }))
}

/// Reads a time or a number that may be unknown.
fn optional<T: TryFrom<i64>>(row: &Row<'_>, column: &str, place: &str) -> Result<Option<T>, Fault> {
    let found: Option<i64> = row.get(column, &place)?;
    found.map(|_| integer(row, column, &place)).transpose()
}

/// Returns whether the result of a boolean query is true.
pub(crate) fn is_true(value: ValueRef<'_>) -> bool {
    value != ValueRef::Integer(0)
}

/// Returns whether the job has recounts.
fn has_second_counts(database: &dyn Database, job: JobId) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM second_count WHERE job = ?1)";
    let found = first(database, sql, &[sql_integer("job", job.0)?.into()], |row| row.value(0).map(is_true))?;
    Ok(found.unwrap_or(false))
}

/// Checks that the choices are those of the job's plan.
fn check_plan(job: &JobEntry, plan: Option<(i64, i64)>, choices: &[Choice]) -> Result<(), Fault> {
    let place = format!("job {}", job.id);
    let n_parts = plan.map_or(0, |(n_parts, _)| n_parts);
    if usize::try_from(n_parts) != Ok(choices.len()) {
        let expected = plan.map_or("no plan".to_owned(), |_| format!("{n_parts} parts"));
        return Err(Fault::Damaged(format!("{place} has {expected}, but {} are there", choices.len())));
    }
    if plan.is_some_and(|(_, digest)| digest != plan_digest(Board::of(job), choices)) {
        return Err(Fault::Damaged(format!("{place}: the digest of its plan is not that of its parts")));
    }
    Ok(())
}

/// Reads the choices of a job's plan; none if there is no plan.
pub(crate) fn choices(database: &dyn Database, job: JobId, board: Board) -> Result<Vec<Choice>, Fault> {
    let mut choices = Vec::new();
    let rest = "WHERE job = ?1 ORDER BY number";
    select(database, &PLAN_PART, rest, &[sql_integer("job", job.0)?.into()], |row| {
        let place = format!("plan of job {job}, part {}", choices.len());
        let number: i64 = row.get("number", &place)?;
        if usize::try_from(number) != Ok(choices.len()) {
            return Err(Fault::Damaged(format!("{place} is missing, {number} comes next")));
        }
        PLAN_PART.verify(row, Some(board), &place)?;
        choices.push(choice(row, &place)?);
        Ok(())
    })?;
    Ok(choices)
}

/// Reads a part of a plan from its row.
pub(crate) fn choice(row: &Row<'_>, place: &str) -> Result<Choice, Fault> {
    let image: i64 = row.get("image", &place)?;
    let symmetry = u8::try_from(image).ok().and_then(Symmetry::from_index);
    Ok(Choice {
        image: symmetry.ok_or_else(|| Fault::Damaged(format!("{place}: there is no image {image}")))?,
        n_subproblems: integer(row, "n_subproblems", &place)?,
        work: parsed(row, "work", &place)?,
    })
}

fn coverage(
    database: &dyn Database,
    job: JobId,
    board: Board,
    choices: &[Choice],
) -> Result<Vec<(u32, Coverage)>, Fault> {
    let mut ranges = ranges(database, job, board)?.into_iter().peekable();
    let mut coverage = Vec::new();
    let rest = "WHERE job = ?1 ORDER BY part";
    select(database, &COVERAGE, rest, &[sql_integer("job", job.0)?.into()], |row| {
        let place = format!("coverage of job {job}");
        let part: u32 = integer(row, "part", &place)?;
        let place = format!("{place}, part {part}");
        COVERAGE.verify(row, Some(board), &place)?;
        let Some(choice) = usize::try_from(part).ok().and_then(|part| choices.get(part)) else {
            return Err(Fault::Damaged(format!("{place}: the plan has {} parts", choices.len())));
        };
        let recorded =
            ranges.next_if(|(of, _)| *of == part).map(|(_, recorded)| recorded).unwrap_or_default();
        let extent = Extent {
            n_ranges: integer(row, "n_ranges", &place)?,
            n_numbers: integer(row, "n_recorded", &place)?,
            fingerprint: row.get::<i64>("fingerprint", &place)?.cast_unsigned(),
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
        let (solutions, work) = (parsed(row, "solutions", &place)?, parsed(row, "work", &place)?);
        coverage.push((part, Coverage { recorded, solutions, work }));
        Ok(())
    })?;
    match ranges.next() {
        None => Ok(coverage),
        Some((part, _)) => {
            Err(Fault::Damaged(format!("coverage of job {job}, part {part} has ranges, but no sums")))
        }
    }
}

/// Reads the recorded ranges of each part that has any, in order.
fn ranges(database: &dyn Database, job: JobId, board: Board) -> Result<Vec<(u32, Intervals)>, Fault> {
    let mut part_range: Vec<(u32, Intervals)> = Vec::new();
    let rest = "WHERE job = ?1 ORDER BY part, first";
    select(database, &COVERAGE_RANGE, rest, &[sql_integer("job", job.0)?.into()], |row| {
        let place = format_args!("recorded ranges of job {job}");
        let (part, first): (u32, u64) = (integer(row, "part", &place)?, integer(row, "first", &place)?);
        let place = format_args!("recorded ranges of job {job}, part {part}, from {first}");
        COVERAGE_RANGE.verify(row, Some(board), &place)?;
        let until: u64 = integer(row, "until", &place)?;
        if part_range.last().is_none_or(|(last, _)| *last != part) {
            part_range.push((part, Intervals::default()));
        }
        let Some((_, recorded)) = part_range.last_mut() else { return Ok(()) };
        let before = recorded.ranges().next_back();
        if until <= first || before.is_some_and(|before| before.end >= first) {
            return Err(Fault::Damaged(format!("{place}: it is empty, or meets the one before it")));
        }
        recorded.insert(first..until);
        Ok(())
    })?;
    Ok(part_range)
}

/// Checks that all rows of a table belong to existing jobs.
fn check_owners(database: &dyn Database, table: &Table, jobs: &BTreeSet<JobId>) -> Result<(), Fault> {
    let sql = format!("SELECT job FROM {} WHERE job > ?1 ORDER BY job LIMIT 1", table.name);
    let mut last = i64::MIN;
    while let Some(job) = first(database, &sql, &[last.into()], |row| row.get::<i64>("job", table))? {
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

/// Converts a number to a signed integer, as SQLite stores it.
pub fn sql_integer(what: &str, value: impl TryInto<i64> + Copy + Display) -> Result<i64, Fault> {
    value.try_into().map_err(|_| Fault::Impossible(format!("{what} {value} is over 2^63 - 1")))
}

/// Reads an integer column of a smaller range.
pub(crate) fn integer<T: TryFrom<i64>>(row: &Row<'_>, column: &str, place: &dyn Display) -> Result<T, Fault> {
    let value: i64 = row.get(column, place)?;
    T::try_from(value).map_err(|_| Fault::Damaged(format!("{place}: {column} {value} is out of range")))
}

/// Reads a text column and parses it.
pub(crate) fn parsed<T: FromStr<Err: Display>>(
    row: &Row<'_>,
    column: &str,
    place: &dyn Display,
) -> Result<T, Fault> {
    let text: String = row.get(column, place)?;
    text.parse().map_err(|error| Fault::Damaged(format!("{place}: {column} '{text}': {error}")))
}

/// Reads a count of these columns.
pub(crate) fn count(
    row: &Row<'_>,
    [solutions, work]: [&str; 2],
    place: &dyn Display,
) -> Result<Count, Fault> {
    Ok(Count { solutions: integer(row, solutions, place)?, work: integer(row, work, place)? })
}

/// Reads the span of a row.
pub(crate) fn span(row: &Row<'_>, place: &dyn Display) -> Result<Span, Fault> {
    let (first, until): (u64, u64) = (integer(row, "first", place)?, integer(row, "until", place)?);
    let part = integer(row, "part", place)?;
    Span::new(part, first, until).map_err(|_| Fault::Damaged(format!("{place}: {first}..{until} is empty")))
}
