//! Applies the ledger's writes inside a transaction.

use std::collections::HashMap;
use std::sync::Arc;

use queens_ledger::store::{Block, CoverageChange, JobEntry, Record, SecondCount, Source, Verdict, Write};
use queens_model::{JobId, Name, PartRange};
use queens_solver::Choice;
use rusqlite::types::Value;

use super::database::{Database, first};
use super::digest::{
    BLOCKED_WORKER, Board, COVERAGE, COVERAGE_RANGE, JOB, JOB_IDENTITY, PLAN_PART, RECORD, SECOND_COUNT,
    SOURCE, VERDICT, plan_digest,
};
use super::fault::Fault;
use super::read::{self, JobColumns, sql_integer};

/// A cache of existing rows. Clear it after each rollback, because its rows may be gone.
#[derive(Debug, Default)]
pub(crate) struct WriteCache {
    sources: HashMap<Arc<Source>, i64>,
    jobs: HashMap<JobId, KnownJob>,
}

/// The properties of a job's row that other rows depend on, or that [`JobEntry`] lacks.
#[derive(Clone, Copy, Debug)]
struct KnownJob {
    board: Board,
    /// The number of the plan's parts, and its digest.
    plan: Option<(i64, i64)>,
}

/// Makes one write part of the open transaction.
pub(crate) fn apply(database: &dyn Database, cache: &mut WriteCache, write: &Write) -> Result<(), Fault> {
    match write {
        Write::Blocked { block, blocked, reason } => {
            self::blocked(database, block, *blocked, reason).map_err(|fault| fault.at(&BLOCKED_WORKER))
        }
        Write::Job(row) => {
            job(database, cache, row).map_err(|fault| fault.at(format_args!("job {}", row.id)))
        }
        Write::Plan { job, choices } => {
            plan(database, cache, *job, choices).map_err(|fault| fault.at(format_args!("plan of job {job}")))
        }
        Write::Record { job, record: counted } => record(database, cache, *job, counted)
            .map_err(|fault| fault.at(format_args!("record of job {job}, {}", counted.span))),
        Write::Coverage { job, part, change } => board(database, cache, *job)
            .and_then(|board| put_coverage(database, board, *job, *part, change))
            .map_err(|fault| fault.at(format_args!("coverage of job {job}, part {part}"))),
        Write::SecondCount { job, count } => second_count(database, cache, *job, count)
            .map_err(|fault| fault.at(format_args!("second count of job {job}, {}", count.span))),
        Write::Verdict { job, verdict } => self::verdict(database, cache, *job, verdict)
            .map_err(|fault| fault.at(format_args!("verdict of job {job}, {}", verdict.span))),
    }
}

fn blocked(database: &dyn Database, block: &Block, blocked: bool, reason: &str) -> Result<(), Fault> {
    let party = block.party.map(|party| party.to_string()).unwrap_or_default();
    let key = vec![block.name.to_string().into(), party.into()];
    if blocked {
        let values = key.into_iter().chain([reason.to_owned().into()]).collect();
        return BLOCKED_WORKER.put(database, None, values);
    }
    database.remove(&BLOCKED_WORKER, key)
}

fn job(database: &dyn Database, cache: &mut WriteCache, row: &JobEntry) -> Result<(), Fault> {
    let board = Board::of(row);
    let found = find_job(database, cache, row.id)?;
    let plan = match found {
        None => None,
        Some(cache) if cache.board == board => cache.plan,
        Some(_) => return Err(Fault::Impossible(format!("job {} is of another board already", row.id))),
    };
    put_job(database, row, plan)?;
    if found.is_none() {
        put_identity(database, row)?;
    }
    cache.jobs.insert(row.id, KnownJob { board, plan });
    Ok(())
}

/// Writes the second copy of a job's identity.
pub(crate) fn put_identity(database: &dyn Database, row: &JobEntry) -> Result<(), Fault> {
    let values = vec![sql_integer("job", row.id.0)?.into(), row.identity.to_string().into()];
    JOB_IDENTITY.put(database, None, values)
}

/// Formats a seed as stored: 32 hexadecimal digits.
pub(crate) fn seed_text(seed: u128) -> String {
    format!("{seed:032x}")
}

fn time(what: &str, ms: Option<u64>) -> Result<Value, Fault> {
    Ok(ms.map(|ms| sql_integer(what, ms)).transpose()?.into())
}

/// Writes the row of a job with the number of its plan's parts and the plan's digest.
pub(crate) fn put_job(
    database: &dyn Database,
    row: &JobEntry,
    plan: Option<(i64, i64)>,
) -> Result<(), Fault> {
    let part_range = row.terms.part_range.map(PartRange::range);
    let second_of = row.terms.second_of.map(|job| sql_integer("job", job.0)).transpose()?;
    let values = vec![
        sql_integer("job", row.id.0)?.into(),
        row.identity.to_string().into(),
        row.n.get().into(),
        row.decomposition.into(),
        row.phase.name().to_owned().into(),
        sql_integer("creation time", row.created_ms)?.into(),
        sql_integer("milliseconds", row.active.as_millis())?.into(),
        sql_integer("number of verified records", row.n_verified)?.into(),
        sql_integer("number of disputed records", row.n_disputed)?.into(),
        plan.map(|(n_parts, _)| n_parts).into(),
        row.priority.get().into(),
        row.paused.into(),
        plan.map(|(_, digest)| digest).into(),
        time("time when it was first counted", row.started_ms)?,
        time("time when it was over", row.finished_ms)?,
        row.method.name().to_owned().into(),
        part_range.as_ref().map(|part_range| part_range.start).into(),
        part_range.map(|part_range| part_range.end).into(),
        row.terms.recount.ppm().into(),
        second_of.into(),
        seed_text(row.terms.seed).into(),
        time("time when it was exported", row.terms.exported_ms)?,
        row.terms.recount_by.map(|arbiter| arbiter.party.to_string()).into(),
        time("number of an invitation", row.terms.recount_by.and_then(|arbiter| arbiter.invitation))?,
    ];
    JOB.put(database, None, values)
}

fn plan(database: &dyn Database, cache: &mut WriteCache, id: JobId, choices: &[Choice]) -> Result<(), Fault> {
    let JobColumns { row, .. } = read::one_job(database, id)?.ok_or_else(|| no_job(id))?;
    let board = Board::of(&row);
    let n_parts = sql_integer("number of parts", choices.len())?;
    let plan = Some((n_parts, plan_digest(board, choices)));
    put_job(database, &row, plan)?;
    cache.jobs.insert(id, KnownJob { board, plan });
    let job = sql_integer("job", id.0)?;
    for (number, choice) in (0_i64..).zip(choices) {
        let n_subproblems = sql_integer("number of subproblems", choice.n_subproblems)?;
        let values = vec![
            job.into(),
            number.into(),
            choice.image.index().into(),
            n_subproblems.into(),
            choice.work.to_string().into(),
        ];
        PLAN_PART.put(database, Some(board), values)?;
    }
    let delete = "DELETE FROM plan_part WHERE job = ?1 AND number >= ?2";
    database.change(delete, &[job.into(), n_parts.into()])
}

/// Updates the coverage of a part.
pub(crate) fn put_coverage(
    database: &dyn Database,
    board: Board,
    id: JobId,
    part: u32,
    change: &CoverageChange,
) -> Result<(), Fault> {
    let job = sql_integer("job", id.0)?;
    let values = vec![
        job.into(),
        part.into(),
        sql_integer("number of subproblems", change.extent.n_numbers)?.into(),
        change.solutions.to_string().into(),
        change.work.to_string().into(),
        sql_integer("number of ranges", change.extent.n_ranges)?.into(),
        change.extent.fingerprint.cast_signed().into(),
    ];
    COVERAGE.put(database, Some(board), values)?;
    for &(first, until) in &change.ranges {
        let first = sql_integer("subproblem", first)?;
        if let Some(until) = until {
            let until = sql_integer("subproblem", until)?;
            let values = vec![job.into(), part.into(), first.into(), until.into()];
            COVERAGE_RANGE.put(database, Some(board), values)?;
        } else {
            database.remove(&COVERAGE_RANGE, vec![job.into(), part.into(), first.into()])?;
        }
    }
    Ok(())
}

fn record(database: &dyn Database, cache: &mut WriteCache, job: JobId, record: &Record) -> Result<(), Fault> {
    let board = board(database, cache, job)?;
    let source = source(database, cache, &record.source)?;
    let span = record.span;
    let values = vec![
        sql_integer("job", job.0)?.into(),
        span.part().into(),
        sql_integer("subproblem", span.from())?.into(),
        sql_integer("subproblem", span.to())?.into(),
        sql_integer("number of solutions", record.count.solutions)?.into(),
        sql_integer("work", record.count.work)?.into(),
        sql_integer("microseconds", record.duration.as_micros())?.into(),
        sql_integer("lease", record.lease.0)?.into(),
        source.into(),
    ];
    RECORD.put(database, Some(board), values)
}

fn second_count(
    database: &dyn Database,
    cache: &mut WriteCache,
    job: JobId,
    counted: &SecondCount,
) -> Result<(), Fault> {
    let board = board(database, cache, job)?;
    let source = source(database, cache, &counted.source)?;
    let span = counted.span;
    let values = vec![
        sql_integer("job", job.0)?.into(),
        span.part().into(),
        sql_integer("subproblem", span.from())?.into(),
        counted.source.party.to_string().into(),
        sql_integer("subproblem", span.to())?.into(),
        sql_integer("number of solutions", counted.count.solutions)?.into(),
        sql_integer("work", counted.count.work)?.into(),
        sql_integer("microseconds", counted.duration.as_micros())?.into(),
        source.into(),
        sql_integer("time of a second count", counted.at_ms)?.into(),
    ];
    SECOND_COUNT.put(database, Some(board), values)
}

fn verdict(
    database: &dyn Database,
    cache: &mut WriteCache,
    job: JobId,
    verdict: &Verdict,
) -> Result<(), Fault> {
    let board = board(database, cache, job)?;
    let sources = [source(database, cache, &verdict.source)?, source(database, cache, &verdict.lost_source)?];
    let span = verdict.span;
    let values = vec![
        sql_integer("job", job.0)?.into(),
        span.part().into(),
        sql_integer("subproblem", span.from())?.into(),
        verdict.number.into(),
        sql_integer("subproblem", span.to())?.into(),
        sql_integer("time of a verdict", verdict.at_ms)?.into(),
        sql_integer("number of solutions", verdict.count.solutions)?.into(),
        sql_integer("work", verdict.count.work)?.into(),
        sources[0].into(),
        sql_integer("number of solutions", verdict.lost.solutions)?.into(),
        sql_integer("work", verdict.lost.work)?.into(),
        sources[1].into(),
    ];
    VERDICT.put(database, Some(board), values)
}

fn source(database: &dyn Database, cache: &mut WriteCache, source: &Arc<Source>) -> Result<i64, Fault> {
    if let Some(&id) = cache.sources.get(source) {
        return Ok(id);
    }
    let Source { name: worker, build, kernel, party } = &**source;
    let text = |name: &Name| Value::from(name.to_string());
    let texts = [text(worker), text(build), text(kernel), party.to_string().into()];
    let find = "SELECT id, worker, build, kernel, party, digest FROM source WHERE worker = ?1 AND build = ?2 AND \
                kernel = ?3 AND party = ?4";
    let found = first(database, find, &texts, |row| {
        let id: i64 = row.get("id", &"a source")?;
        SOURCE.verify(row, None, &format_args!("source {id}"))?;
        Ok(id)
    })?;
    let id = if let Some(id) = found {
        id
    } else {
        let last = "SELECT max(id) AS last FROM source";
        let last: Option<Option<i64>> = first(database, last, &[], |row| row.get("last", &"sources"))?;
        let id = last.flatten().unwrap_or(0).checked_add(1);
        let id = id.ok_or_else(|| Fault::Damaged("a source has the largest number".to_owned()))?;
        SOURCE.put(database, None, [id.into()].into_iter().chain(texts).collect())?;
        id
    };
    cache.sources.insert(Arc::clone(source), id);
    Ok(id)
}

/// Returns the board of a job, which the digests of its rows cover.
pub(crate) fn board(database: &dyn Database, cache: &mut WriteCache, id: JobId) -> Result<Board, Fault> {
    Ok(find_job(database, cache, id)?.ok_or_else(|| no_job(id))?.board)
}

fn find_job(database: &dyn Database, cache: &mut WriteCache, id: JobId) -> Result<Option<KnownJob>, Fault> {
    if let Some(job) = cache.jobs.get(&id) {
        return Ok(Some(*job));
    }
    let read = read::one_job(database, id)?;
    let job = read.map(|JobColumns { row, plan }| KnownJob { board: Board::of(&row), plan });
    if let Some(job) = job {
        cache.jobs.insert(id, job);
    }
    Ok(job)
}

fn no_job(job: JobId) -> Fault {
    Fault::Damaged(format!("there is no job {job}"))
}
