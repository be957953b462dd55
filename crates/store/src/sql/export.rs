//! Exports the certificate of a finished job.

use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

use queens_certificate::{Header, Key, PartyDigest, Pass, Writer};
use queens_ledger::store::{Phase, StoredJob};
use queens_model::{JobId, Name, PartRange};
use queens_solver::{Plan, half_turn, published, quarter_turn};

use super::audit::other_decomposition;
use super::database::{Database, Views, first};
use super::export_body::{Body, Counters, DoneJob, Failed};
use super::fault::Fault;
use super::read::{self, integer, sql_integer};
use super::verdicts;
use crate::certificate::ExportError;
use crate::clock::unix_ms;

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
    let view = views.view().map_err(Failed::from);
    view.and_then(|view| write(&*view, key, job, program, out)).map_err(|failed| match failed {
        Failed::Fault(fault) => ExportError::Store(fault.of_opening(views.place())),
        Failed::Export(error) => error,
    })
}

fn write(
    database: &dyn Database,
    key: &Key,
    job: JobId,
    program: &Name,
    out: impl Write,
) -> Result<Exported, Failed> {
    // A missing row of any job may belong to a second pass.
    read::check_jobs(database)?;
    let mut passes = vec![done_job(database, job)?];
    if let Some(of) = passes[0].stored.entry.terms.second_of {
        return Err(ExportError::Second(job, of).into());
    }
    if let Some(second) = second_pass(database, job)? {
        passes.push(done_job(database, second)?);
    }
    let ids: Vec<JobId> = passes.iter().map(|pass| pass.stored.entry.id).collect();
    let counters = Counters::of(database, &ids, passes[0].stored.entry.terms.seed)?;
    let mut writer = Writer::begin(out, header(&passes, program, key)?)?;
    for counter in counters.all() {
        writer.entry(&counter)?;
    }
    let mut totals = Vec::new();
    for (number, pass) in (1..).zip(&passes) {
        totals.push(Body { database, pass, number, counters: &counters }.write(&mut writer)?);
    }
    let n_records = totals.iter().map(|total| total.n_records).sum();
    let solutions = totals[0].solutions;
    writer.finish(totals, key)?.flush()?;
    Ok(Exported { n_records, solutions })
}

/// Reads a finished job and its plan.
fn done_job(database: &dyn Database, id: JobId) -> Result<DoneJob, Failed> {
    let stored = read::stored_job(database, id)?.ok_or(ExportError::Unknown(id))?;
    let (entry, choices) = (&stored.entry, stored.choices.as_ref());
    let Some(choices) = choices.filter(|_| entry.phase == Phase::Done) else {
        return Err(ExportError::NotDone(id).into());
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

fn header(passes: &[DoneJob], program: &Name, key: &Key) -> io::Result<Header> {
    let DoneJob { stored, plan } = &passes[0];
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
