//! What SQL can't do of the steps from one version of the schema to the next.
//!
//! From version 2 to version 3: what can be proved of a database without digests is, and then every row gets one. From
//! version 3 to version 4: jobs get their method, and new digests if the old ones were right. From version 4 to version
//! 5: jobs get their terms, and they and the blocked workers new digests in the same way.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use queens_messages::JobId;
use queens_solver::{Choice, Method, Plan};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};

use super::integrity::check_file;
use crate::store::sql::database::Row;
use crate::store::sql::digest::{
    BLOCKED_WORKER, BLOCKED_WORKER_4, Board, EPOCH, JOB, JOB_3, JOB_4, PLAN_CROSS, RECORD, SOURCE,
    plan_digest,
};
use crate::store::sql::fault::Fault;
use crate::store::sql::read::{self, integer, parsed, sql_integer};
use crate::store::sql::table::Table;
use crate::store::sql::tally::Tally;
use crate::store::sql::write::put_coverage;
use queens_ledger::RestoreError;
use queens_ledger::intervals::Intervals;
use queens_ledger::store::{Coverage, JobEntry, Phase};

/// Up to here a plan is made within a second or two, so that it is made again before it gets a digest.
const QUICKLY_PLANNED: u8 = 26;

/// Rows that are held in memory at a time.
const BATCH: usize = 10_000;

/// Fills in what the step to version 3 adds.
pub(super) fn to_version_3(connection: &Connection) -> Result<(), Fault> {
    check_file(connection)?;
    for (job, has_plan) in jobs(connection)? {
        let (board, found) = (Board::of(&job), job.decomposition);
        if found != job.method.decomposition() {
            // Left to the program that it was begun with, which does not know this version.
            let error = RestoreError::Decomposition { job: job.id, method: job.method, found };
            return Err(Fault::Version(error.to_string()));
        }
        if has_plan {
            let choices = choices(connection, &job)?;
            let digest = plan_digest(board, &choices);
            let update = "UPDATE job SET plan_digest = ?2 WHERE id = ?1";
            connection.execute(update, [sql_integer("job", job.id.0)?, digest])?;
            cover(connection, &job, &choices)?;
        }
        for table in [&PLAN_CROSS, &RECORD] {
            seal(connection, table, Some((job.id, board)))?;
        }
    }
    for table in [&EPOCH, &JOB_3, &SOURCE, &BLOCKED_WORKER_4] {
        seal(connection, table, None)?;
    }
    Ok(connection.execute_batch("DROP TABLE coverage_2")?)
}

/// Fills in what the step to version 4 adds.
pub(super) fn to_version_4(connection: &Connection) -> Result<(), Fault> {
    reseal(connection, &JOB_3, "digest_3", &JOB_4)
}

/// Fills in what the step to version 5 adds.
pub(super) fn to_version_5(connection: &Connection) -> Result<(), Fault> {
    reseal(connection, &JOB_4, "digest_4", &JOB)?;
    reseal(connection, &BLOCKED_WORKER_4, "digest_4", &BLOCKED_WORKER)?;
    // What the step to version 3 found of no job that is there has no digest, and is found now.
    read::jobs(connection)?;
    Ok(())
}

/// Gives rows new digests if the old ones, which stand in a column of this name and go away, are right.
fn reseal(connection: &Connection, old: &Table, digest: &str, new: &Table) -> Result<(), Fault> {
    let (columns, table) = (old.columns.join(", "), old.name);
    let mut statement = connection.prepare(&format!("SELECT {columns}, {digest} FROM {table}"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let key: Value = row.get(0)?;
        let place = match key {
            Value::Text(name) => format!("blocked worker '{}'", name.escape_debug()),
            Value::Integer(id) => format!("job {id}"),
            _ => format!("a row of table {table}"),
        };
        old.verify(&Row::Sqlite(row), None, &place)?;
    }
    drop(rows);
    seal(connection, new, None)?;
    Ok(connection.execute_batch(&format!("ALTER TABLE {table} DROP COLUMN {digest}"))?)
}

/// All jobs, and whether they have plans.
fn jobs(connection: &Connection) -> Result<Vec<(JobEntry, bool)>, Fault> {
    let mut statement = connection.prepare("SELECT * FROM job ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        let row = &Row::Sqlite(row);
        let id = JobId(integer(row, "id", &"a job")?);
        let place = format!("job {id}");
        let n_crosses: Option<i64> = read::cell(row, "n_crosses", &place)?;
        let job = read::job_row(row, id, Method::Search, &place)?;
        if n_crosses.is_none() && job.phase == Phase::Done {
            return Err(Fault::Damaged(format!("{place} is done, but has no plan")));
        }
        jobs.push((job, n_crosses.is_some()));
    }
    Ok(jobs)
}

/// The plan of a job. If it can be made again quickly, it must be that, but for its estimates: those have been others.
fn choices(connection: &Connection, job: &JobEntry) -> Result<Vec<Choice>, Fault> {
    let id = sql_integer("job", job.id.0)?;
    let mut statement = connection.prepare("SELECT * FROM plan_cross WHERE job = ?1 ORDER BY number")?;
    let mut rows = statement.query([id])?;
    let mut choices = Vec::new();
    while let Some(row) = rows.next()? {
        choices.push(read::choice(
            &Row::Sqlite(row),
            &format!("plan of job {}, cross {}", job.id, choices.len()),
        )?);
    }
    if job.n.get() > QUICKLY_PLANNED {
        return Ok(choices);
    }
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let Some(plan) = Plan::new(job.n, Method::Search, threads, &AtomicBool::new(false)) else {
        return Ok(choices);
    };
    let planned: Vec<Choice> = plan.parts().iter().map(|cross| *cross.choice()).collect();
    let cut = |choices: &[Choice]| choices.iter().map(|c| (c.image, c.n_subproblems)).collect::<Vec<_>>();
    if cut(&choices) != cut(&planned) {
        return Err(Fault::Damaged(format!("the plan of job {} is not that of n = {}", job.id, job.n)));
    }
    for (number, choice) in (0_i64..).zip(&planned) {
        let update = "UPDATE plan_cross SET work = ?3 WHERE job = ?1 AND number = ?2";
        connection.prepare_cached(update)?.execute((id, number, choice.work.to_string()))?;
    }
    Ok(planned)
}

/// Writes what the records of each cross add up to, if it is what was added up while they were counted.
fn cover(connection: &Connection, job: &JobEntry, choices: &[Choice]) -> Result<(), Fault> {
    for (cross, choice) in (0..).zip(choices) {
        let found = Tally::of(connection, job.id, None, cross, choice.n_subproblems)?;
        let claimed = old_coverage(connection, job.id, cross)?;
        found
            .compare(&claimed)
            .map_err(|reason| Fault::Damaged(format!("job {}, cross {cross}: {reason}", job.id)))?;
        if claimed.recorded.is_empty() {
            continue;
        }
        let change = claimed.change(claimed.recorded.ranges().map(|range| range.start));
        put_coverage(connection, Board::of(job), job.id, cross, &change)?;
    }
    Ok(())
}

/// What version 2 has of a cross.
fn old_coverage(connection: &Connection, job: JobId, cross: u32) -> Result<Coverage, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM coverage_2 WHERE job = ?1 AND cross = ?2")?;
    let mut rows = statement.query((sql_integer("job", job.0)?, cross))?;
    let Some(row) = rows.next()? else { return Ok(Coverage::default()) };
    let row = &Row::Sqlite(row);
    let place = format_args!("coverage of job {job}, cross {cross}");
    let recorded: Intervals = parsed(row, "recorded", &place)?;
    Ok(Coverage {
        recorded,
        solutions: parsed(row, "solutions", &place)?,
        nodes: parsed(row, "nodes", &place)?,
    })
}

/// Gives rows the digests of what they say: those of a job, or all.
pub(super) fn seal(connection: &Connection, table: &Table, job: Option<(JobId, Board)>) -> Result<(), Fault> {
    let key = &table.columns[..table.n_key];
    let names = key.join(", ");
    let marks = |from: usize| (0..key.len()).map(|i| format!("?{}", from + i)).collect::<Vec<_>>();
    let after = format!("({names}) > ({})", marks(1).join(", "));
    let of_job = job.map_or(String::new(), |(job, _)| format!("job = {job}"));
    let is_key: Vec<String> =
        key.iter().zip(marks(2)).map(|(name, mark)| format!("{name} = {mark}")).collect();
    let update = format!("UPDATE {} SET digest = ?1 WHERE {}", table.name, is_key.join(" AND "));
    let mut last: Option<Vec<Value>> = None;
    loop {
        let conditions = [last.as_ref().map(|_| after.clone()), job.map(|_| of_job.clone())];
        let conditions: Vec<String> = conditions.into_iter().flatten().collect();
        let filter =
            if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
        let mut batch: Vec<Vec<Value>> = Vec::new();
        let rest = format!("{filter} ORDER BY {names} LIMIT {BATCH}");
        read::select(connection, table, &rest, last.as_deref().unwrap_or_default(), |row| {
            let value = |i| Ok(Value::try_from(row.value(i)?).map_err(rusqlite::Error::from)?);
            batch.push((0..table.columns.len()).map(value).collect::<Result<_, Fault>>()?);
            Ok::<_, Fault>(())
        })?;
        for values in &batch {
            let digest = table.digest(job.map(|(_, board)| board), values.iter().map(ValueRef::from));
            let digest = Value::Integer(digest);
            let parameters = [&digest].into_iter().chain(&values[..table.n_key]);
            connection.prepare_cached(&update)?.execute(params_from_iter(parameters))?;
        }
        match batch.pop() {
            Some(values) => last = Some(values[..table.n_key].to_vec()),
            None => return Ok(()),
        }
    }
}
