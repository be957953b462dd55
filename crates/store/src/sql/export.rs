//! Exports the certificate of a finished job.

use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

use queens_certificate::{Header, Key, PartyDigest, Pass, Writer};
use queens_ledger::store::{Phase, StoredJob};
use queens_model::{JobId, Name, PartRange};
use queens_solver::{Plan, half_turn, published, quarter_turn};

use super::audit::other_decomposition;
use super::database::{Database, Views, first};
use super::export_body::{Body, Counters, DoneJob, Unwritten};
use super::fault::Fault;
use super::read::{self, integer, sql_integer};
use super::verdicts;
use crate::certificate::ExportError;
use crate::clock::unix_ms;

/// Why a job can't be exported.
enum QueryError {
    Refused(ExportError),
    Fault(Fault),
}

impl From<Fault> for QueryError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The size and the result of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The number of records of all passes.
    pub n_records: u64,
    /// The weighted solutions of the first pass.
    pub solutions: u128,
}

/// Writes a certificate of a job, signed with a key.
///
/// # Errors
/// If the job is not done, the database can't be read or the certificate can't be written.
pub(crate) fn export(
    views: &dyn Views,
    key: &Key,
    job: JobId,
    program: &Name,
    out: impl Write,
) -> Result<Exported, ExportError> {
    let of_store = |fault: Fault| ExportError::Store(fault.of_opening(views.place()));
    let told = |untold: QueryError| match untold {
        QueryError::Refused(error) => error,
        QueryError::Fault(fault) => of_store(fault),
    };
    let view = views.view().map_err(of_store)?;
    let database = &*view;
    // A missing row of any job may belong to a second pass.
    read::check_jobs(database).map_err(of_store)?;
    let job = done_job(database, job).map_err(told)?;
    if let Some(of) = job.stored.entry.terms.second_of {
        return Err(ExportError::Second { job: job.stored.entry.id, of });
    }
    let second = second_pass(database, job.stored.entry.id).map_err(of_store)?;
    let second = second.map(|id| done_job(database, id)).transpose();
    let passes = [Some(job), second.map_err(told)?];
    let passes: Vec<DoneJob> = passes.into_iter().flatten().collect();
    let ids: Vec<JobId> = passes.iter().map(|pass| pass.stored.entry.id).collect();
    let seed = passes.first().map_or(0, |first| first.stored.entry.terms.seed);
    let counters = Counters::of(database, &ids, seed).map_err(of_store)?;
    let mut writer = Writer::begin(out, header(&passes, program, key)?)?;
    for counter in counters.all() {
        writer.entry(&counter)?;
    }
    let mut totals = Vec::new();
    for (number, pass) in (1..).zip(&passes) {
        let body = Body { database, pass, number, counters: &counters };
        totals.push(body.write(&mut writer).map_err(|unwritten| match unwritten {
            Unwritten::Fault(fault) => of_store(fault),
            Unwritten::Io(error) => error.into(),
        })?);
    }
    writer.finish(totals.clone(), key)?.flush()?;
    let n_records = totals.iter().map(|total| total.n_records).sum();
    Ok(Exported { n_records, solutions: totals.first().map_or(0, |total| total.solutions) })
}

/// Reads a finished job and its plan.
fn done_job(database: &dyn Database, id: JobId) -> Result<DoneJob, QueryError> {
    let stored = read::stored_job(database, id)?.ok_or(QueryError::Refused(ExportError::Unknown(id)))?;
    let (entry, choices) = (&stored.entry, stored.choices.as_ref());
    let Some(choices) = choices.filter(|_| entry.phase == Phase::Done) else {
        return Err(QueryError::Refused(ExportError::NotDone { job: id }));
    };
    if entry.decomposition != entry.method.decomposition() {
        return Err(other_decomposition(id, entry.method, entry.decomposition).into());
    }
    let plan = Plan::from_choices(entry.n, entry.method, choices);
    let plan = plan.map_err(|error| Fault::Damaged(error.to_string()))?;
    verdicts::check(database, entry)?;
    Ok(DoneJob { stored, plan })
}

/// Finds the second pass of a job, unless it was cancelled.
pub(crate) fn second_pass(database: &dyn Database, of: JobId) -> Result<Option<JobId>, Fault> {
    let sql = "SELECT id FROM job WHERE second_of = ?1 AND phase != 'cancelled' ORDER BY id LIMIT 1";
    first(database, sql, &[sql_integer("job", of.0)?.into()], |row| Ok(JobId(integer(row, "id", &"a job")?)))
}

fn header(passes: &[DoneJob], program: &Name, key: &Key) -> Result<Header, ExportError> {
    let none = || ExportError::Unwritable(io::Error::other("there is no pass"));
    let DoneJob { stored, plan } = passes.first().ok_or_else(none)?;
    let job = &stored.entry;
    let n_parts = u32::try_from(plan.parts().len()).map_err(io::Error::other)?;
    let never = AtomicBool::new(false);
    let (half_turn, quarter_turn) = match published(job.n) {
        Some(known) => (known.half_turn, known.quarter_turn),
        None => half_turn(job.n, &never).zip(quarter_turn(job.n, &never)).unwrap_or_default(),
    };
    let seed = job.terms.seed;
    let pass = |DoneJob { stored: StoredJob { entry, .. }, .. }: &DoneJob| Pass {
        method: entry.method,
        decomposition: entry.decomposition,
        job: entry.id.0,
        identity: entry.identity,
        recount_ppm: entry.terms.recount.ppm(),
        seed: entry.terms.seed,
        recount_by: entry.terms.recount_by.map(|arbiter| PartyDigest::of(arbiter.party, seed)),
    };
    Ok(Header {
        n: job.n,
        crosses: job.terms.part_range.map_or(0..n_parts, PartRange::range),
        n_crosses: n_parts,
        created_ms: job.created_ms,
        finished_ms: passes.iter().filter_map(|pass| pass.stored.entry.finished_ms).max().unwrap_or(0),
        passes: passes.iter().map(pass).collect(),
        half_turn,
        quarter_turn,
        made_ms: unix_ms(),
        program: program.clone(),
        signer: key.public(),
    })
}
