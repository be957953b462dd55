//! Carrying out writes inside a transaction.

use std::collections::HashMap;
use std::sync::Arc;

use queens_proto::JobId;
use queens_solver::Choice;
use rusqlite::{Connection, ToSql, ffi, params};

use super::fault::Fault;
use super::read::sql_integer;
use crate::store::{Coverage, JobRow, Record, Source, Write};

/// The rows of sources that are known. Only a cache: forget it whenever a transaction is taken back, because the rows
/// it names may have gone with it.
pub(super) type Sources = HashMap<Arc<Source>, i64>;

/// Makes one write part of the transaction that is open.
pub(super) fn apply(connection: &Connection, sources: &mut Sources, write: &Write) -> Result<(), Fault> {
    match write {
        Write::Epoch(next) => epoch(connection, *next),
        Write::Blocked { name, blocked } => self::blocked(connection, name, *blocked),
        Write::Job(row) => job(connection, row),
        Write::Plan { job, choices } => plan(connection, *job, choices),
        Write::Record { job, record: counted } => record(connection, sources, *job, counted),
        Write::Coverage { job, cross, coverage: covered } => coverage(connection, *job, *cross, covered),
    }
}

fn epoch(connection: &Connection, next: u32) -> Result<(), Fault> {
    connection.prepare_cached("UPDATE epoch SET next = ?1")?.execute([next])?;
    Ok(())
}

fn blocked(connection: &Connection, name: &str, blocked: bool) -> Result<(), Fault> {
    let sql = match blocked {
        true => "INSERT INTO blocked_worker (name) VALUES (?1) ON CONFLICT (name) DO NOTHING",
        false => "DELETE FROM blocked_worker WHERE name = ?1",
    };
    connection.prepare_cached(sql)?.execute([name])?;
    Ok(())
}

fn job(connection: &Connection, row: &JobRow) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO job (id, n, decomposition, phase, created_ms, active_ms, n_verified, n_disputed,
                          priority, paused)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (id) DO UPDATE SET
             n = excluded.n, decomposition = excluded.decomposition, phase = excluded.phase,
             priority = excluded.priority, paused = excluded.paused,
             created_ms = excluded.created_ms, active_ms = excluded.active_ms,
             n_verified = excluded.n_verified, n_disputed = excluded.n_disputed",
    )?;
    statement.execute(params![
        sql_integer("job", row.id.0)?,
        row.n.get(),
        row.decomposition,
        row.phase.name(),
        sql_integer("creation time", row.created_ms)?,
        sql_integer("milliseconds", row.active.as_millis())?,
        sql_integer("number of verified records", row.n_verified)?,
        sql_integer("number of disputed records", row.n_disputed)?,
        row.priority.get(),
        row.paused,
    ])?;
    Ok(())
}

fn plan(connection: &Connection, id: JobId, choices: &[Choice]) -> Result<(), Fault> {
    let job = sql_integer("job", id.0)?;
    let n_crosses = sql_integer("number of crosses", choices.len())?;
    let mut update = connection.prepare_cached("UPDATE job SET n_crosses = ?2 WHERE id = ?1")?;
    if update.execute(params![job, n_crosses])? == 0 {
        return Err(no_job(id));
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO plan_cross (job, number, image, n_subproblems, work) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (job, number) DO UPDATE SET
             image = excluded.image, n_subproblems = excluded.n_subproblems, work = excluded.work",
    )?;
    for (number, choice) in (0_i64..).zip(choices) {
        let n_subproblems = sql_integer("number of subproblems", choice.n_subproblems)?;
        insert.execute(params![job, number, choice.image.index(), n_subproblems, choice.work.to_string()])?;
    }
    let mut delete = connection.prepare_cached("DELETE FROM plan_cross WHERE job = ?1 AND number >= ?2")?;
    let problem = || format!("job {id} has records of crosses past the {n_crosses} of its plan");
    execute_related(&mut delete, params![job, n_crosses], problem)
}

fn coverage(connection: &Connection, job: JobId, cross: u32, coverage: &Coverage) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO coverage (job, cross, recorded, solutions, nodes) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (job, cross) DO UPDATE SET
             recorded = excluded.recorded, solutions = excluded.solutions, nodes = excluded.nodes",
    )?;
    let values = params![
        sql_integer("job", job.0)?,
        cross,
        coverage.recorded.to_string(),
        coverage.solutions.to_string(),
        coverage.nodes.to_string(),
    ];
    execute_related(&mut statement, values, || no_cross(job, cross))
}

fn record(connection: &Connection, sources: &mut Sources, job: JobId, record: &Record) -> Result<(), Fault> {
    let source = source(connection, sources, &record.source)?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO record (job, cross, first, until, solutions, nodes, duration_us, lease, source)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (job, cross, first) DO UPDATE SET
             until = excluded.until, solutions = excluded.solutions, nodes = excluded.nodes,
             duration_us = excluded.duration_us, lease = excluded.lease, source = excluded.source",
    )?;
    let span = record.span;
    let values = params![
        sql_integer("job", job.0)?,
        span.cross(),
        sql_integer("subproblem", span.from())?,
        sql_integer("subproblem", span.to())?,
        sql_integer("number of solutions", record.count.solutions)?,
        sql_integer("number of nodes", record.count.nodes)?,
        sql_integer("microseconds", record.duration.as_micros())?,
        sql_integer("lease", record.lease.0)?,
        source,
    ];
    execute_related(&mut statement, values, || no_cross(job, span.cross()))
}

fn source(connection: &Connection, sources: &mut Sources, source: &Arc<Source>) -> Result<i64, Fault> {
    if let Some(&id) = sources.get(source) {
        return Ok(id);
    }
    // An update that changes nothing makes the row that is there return its id.
    let mut statement = connection.prepare_cached(
        "INSERT INTO source (worker, build, kernel) VALUES (?1, ?2, ?3)
         ON CONFLICT (worker, build, kernel) DO UPDATE SET kernel = kernel
         RETURNING id",
    )?;
    let Source { worker, build, kernel } = &**source;
    let id = statement.query_row([worker.as_str(), build.as_str(), kernel.as_str()], |row| row.get(0))?;
    sources.insert(Arc::clone(source), id);
    Ok(id)
}

pub(super) fn no_job(job: JobId) -> Fault {
    Fault::Refused(format!("there is no job {job}"))
}

fn no_cross(job: JobId, cross: u32) -> String {
    format!("job {job} has no cross {cross}")
}

/// Executes a statement that only a missing or still needed row of another table forbids; `problem` says which.
fn execute_related(
    statement: &mut rusqlite::CachedStatement<'_>,
    values: &[&dyn ToSql],
    problem: impl Fn() -> String,
) -> Result<(), Fault> {
    match statement.execute(values) {
        Ok(_) => Ok(()),
        Err(rusqlite::Error::SqliteFailure(error, _))
            if error.extended_code == ffi::SQLITE_CONSTRAINT_FOREIGNKEY =>
        {
            Err(Fault::Refused(problem()))
        }
        Err(error) => Err(error.into()),
    }
}
