//! A certificate of a job that is done, also while a coordinator uses the directory.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use queens_certificate::{Header, Key, Pass, Writer};
use queens_messages::{Crosses, JobId, Name};
use queens_process::{NewFile, NoNewFile};
use queens_solver::{Plan, half_turn, published, quarter_turn};
use rusqlite::{Connection, TransactionBehavior};

use super::audit::other_decomposition;
use super::directory::{DATABASE, Directory, check_database, open_to_read};
use super::export_body::{Body, Counters, DoneJob, Unwritten};
use super::fault::Fault;
use super::read::{self, JobColumns, integer, sql_integer};
use super::schema::{self, VERSION};
use super::verdicts;
use super::write;
use crate::store::certificate::ExportError;
use queens_ledger::store::{Phase, StoreError, StoredJob};

/// Why a job can't be exported.
enum Untold {
    Told(ExportError),
    Fault(Fault),
}

impl From<Fault> for Untold {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What was exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The records of all passes.
    pub n_records: u64,
    /// The solutions of the first, weighted.
    pub solutions: u128,
}

/// Writes a certificate of a job of the directory `dir` to a file that is not there yet. `program` is the version of
/// this program.
///
/// # Errors
/// If the job is not done, the directory can't be read or the file can't be written; then there is none.
pub fn export_to(dir: &Path, job: JobId, program: &Name, file: &Path) -> Result<Exported, ExportError> {
    check_database(dir)?;
    let mut new = NewFile::begin(file).map_err(unwritten)?;
    let exported = export(dir, job, program, BufWriter::new(new.file()))?;
    new.keep().map_err(unwritten)?;
    Ok(exported)
}

fn unwritten(error: NoNewFile) -> ExportError {
    match error {
        NoNewFile::Exists(file) => ExportError::Exists(file),
        NoNewFile::Unwritable { source, .. } => ExportError::Unwritable(source),
    }
}

/// Notes in the directory `dir`, which nobody may use meanwhile, that a certificate of a job is out, and of its second
/// pass with it: what was found out about a name later has no effect on it. A coordinator that exports notes that itself.
///
/// # Errors
/// If the directory is in use or can't be written.
pub fn note_exported(dir: &Path, job: JobId) -> Result<(), StoreError> {
    let mut directory = Directory::take_existing(dir)?;
    let mut connection = directory.connect()?;
    let at_ms = now_ms();
    let mut note = || -> Result<(), Fault> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in [Some(job), second_pass(&transaction, job)?].into_iter().flatten() {
            let Some(JobColumns { mut row, plan }) = read::one_job(&transaction, id)? else { continue };
            if row.phase == Phase::Done && row.terms.exported_ms.is_none() {
                row.terms.exported_ms = Some(at_ms);
                write::put_job(&transaction, &row, plan)?;
            }
        }
        Ok(transaction.commit()?)
    };
    note().map_err(|fault| fault.of(dir))
}

/// Writes a certificate of a job of the directory `dir`, signed with the directory's key.
///
/// # Errors
/// If the job is not done, the directory can't be read or the certificate can't be written.
pub(super) fn export(
    dir: &Path,
    job: JobId,
    program: &Name,
    out: impl Write,
) -> Result<Exported, ExportError> {
    let of_dir = |fault: Fault| ExportError::Store(fault.of_opening(dir));
    let told = |untold: Untold| match untold {
        Untold::Told(error) => error,
        Untold::Fault(fault) => of_dir(fault),
    };
    let connection = open_to_read(&dir.join(DATABASE)).map_err(of_dir)?;
    // One transaction, so that all is read from one state, whoever else writes.
    let connection = connection.unchecked_transaction().map_err(|error| of_dir(error.into()))?;
    if schema::version(&connection).map_err(of_dir)? != VERSION {
        let reason = "a coordinator that is started on it brings it up to the present version".to_owned();
        return Err(of_dir(Fault::Version(reason)));
    }
    // Whatever is missing of any job may be a second pass.
    read::check_jobs(&connection).map_err(of_dir)?;
    let job = done_job(&connection, job).map_err(told)?;
    if let Some(of) = job.stored.entry.terms.second_of {
        return Err(ExportError::Second { job: job.stored.entry.id, of });
    }
    let second = second_pass(&connection, job.stored.entry.id).map_err(of_dir)?;
    let second = second.map(|id| done_job(&connection, id)).transpose();
    let passes = [Some(job), second.map_err(told)?];
    let passes: Vec<DoneJob> = passes.into_iter().flatten().collect();
    let key = Key::of_directory(dir)?;
    let ids: Vec<JobId> = passes.iter().map(|pass| pass.stored.entry.id).collect();
    let counters = Counters::of(&connection, &ids).map_err(of_dir)?;
    let mut writer = Writer::begin(out, header(&passes, program, &key)?)?;
    for counter in counters.all() {
        writer.entry(&counter)?;
    }
    let mut totals = Vec::new();
    for (number, pass) in (1..).zip(&passes) {
        let body = Body { connection: &connection, pass, number, counters: &counters };
        totals.push(body.write(&mut writer).map_err(|unwritten| match unwritten {
            Unwritten::Fault(fault) => of_dir(fault),
            Unwritten::Io(error) => error.into(),
        })?);
    }
    writer.finish(totals.clone(), &key)?.flush()?;
    let n_records = totals.iter().map(|total| total.n_records).sum();
    Ok(Exported { n_records, solutions: totals.first().map_or(0, |total| total.solutions) })
}

/// A job that is done, if it is there and no second pass of another.
fn done_job(connection: &Connection, id: JobId) -> Result<DoneJob, Untold> {
    let stored = read::stored_job(connection, id)?.ok_or(Untold::Told(ExportError::Unknown(id)))?;
    let (entry, choices) = (&stored.entry, stored.choices.as_ref());
    let phase = entry.phase;
    let Some(choices) = choices.filter(|_| phase == Phase::Done) else {
        return Err(Untold::Told(ExportError::NotDone { job: id, phase }));
    };
    if entry.decomposition != entry.method.decomposition() {
        return Err(other_decomposition(id, entry.method, entry.decomposition).into());
    }
    let plan = Plan::from_choices(entry.n, entry.method, choices);
    let plan = plan.map_err(|error| Fault::Damaged(error.to_string()))?;
    verdicts::check(connection, entry)?;
    Ok(DoneJob { stored, plan })
}

/// The job that is the second pass of another, if there is one that was not given up.
fn second_pass(connection: &Connection, of: JobId) -> Result<Option<JobId>, Fault> {
    let sql = "SELECT id FROM job WHERE second_of = ?1 AND phase != 'cancelled' ORDER BY id LIMIT 1";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([sql_integer("job", of.0)?])?;
    rows.next()?.map(|row| Ok(JobId(integer(row, "id", &"a job")?))).transpose()
}

fn header(passes: &[DoneJob], program: &Name, key: &Key) -> Result<Header, ExportError> {
    let none = || ExportError::Unwritable(io::Error::other("there is no pass"));
    let DoneJob { stored, plan } = passes.first().ok_or_else(none)?;
    let job = &stored.entry;
    let n_crosses = u32::try_from(plan.parts().len()).map_err(io::Error::other)?;
    let never = AtomicBool::new(false);
    let (half_turn, quarter_turn) = match published(job.n) {
        Some(known) => (known.half_turn, known.quarter_turn),
        None => half_turn(job.n, &never).zip(quarter_turn(job.n, &never)).unwrap_or_default(),
    };
    let pass = |DoneJob { stored: StoredJob { entry, .. }, .. }: &DoneJob| Pass {
        method: entry.method,
        decomposition: entry.decomposition,
        job: entry.id.0,
        recount_ppm: entry.terms.recount.ppm(),
        seed: entry.terms.seed,
    };
    Ok(Header {
        n: job.n,
        crosses: job.terms.crosses.map_or(0..n_crosses, Crosses::range),
        n_crosses,
        created_ms: job.created_ms,
        finished_ms: passes.iter().filter_map(|pass| pass.stored.entry.finished_ms).max().unwrap_or(0),
        passes: passes.iter().map(pass).collect(),
        half_turn,
        quarter_turn,
        made_ms: now_ms(),
        program: program.clone(),
        signer: key.public(),
    })
}

/// The date, in milliseconds since 1970.
fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    u64::try_from(now).unwrap_or_default()
}
