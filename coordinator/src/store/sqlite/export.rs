//! A certificate of a job that is done, also while a coordinator uses the directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use queens_certificate::{Counted, Counter, CrossSum, Entry, Header, Key, KeyError, Pass, Total, Writer};
use queens_messages::{JobId, Name};
use queens_solver::{Count, Plan, Span, half_turn, published, quarter_turn};
use rusqlite::Connection;
use thiserror::Error;

use super::backup::{BackupError, put_in_place};
use super::digest::{Board, RECORD, SOURCE};
use super::directory::{DATABASE, check_database, open_to_read};
use super::fault::Fault;
use super::read::{self, cell, integer, select, sql_integer};
use super::schema::{self, VERSION};
use queens_ledger::store::{Coverage, JobEntry, Phase, StoreError, StoredJob};

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The directory can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such job.
    #[error("there is no job {0}")]
    Unknown(JobId),
    /// There is nothing to be certified yet.
    #[error("job {job} is {}: a certificate is made of a job that is done", phase.name())]
    NotDone {
        /// The job.
        job: JobId,
        /// Where it stands.
        phase: Phase,
    },
    /// There is something where the certificate should go.
    #[error("'{}' is there already: an export overwrites nothing", .0.display())]
    Exists(PathBuf),
    /// There is no key to sign it with.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// It can't be written.
    #[error("failed to write it: {0}")]
    Unwritable(#[from] io::Error),
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
    if file.symlink_metadata().is_ok() {
        return Err(ExportError::Exists(file.to_owned()));
    }
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let written = || -> Result<Exported, ExportError> {
        let mut out = BufWriter::new(File::create(&unfinished)?);
        let exported = export(dir, job, program, &mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        put_in_place(&unfinished, file).map_err(|error| match error {
            BackupError::Exists(file) => ExportError::Exists(file),
            other => ExportError::Unwritable(io::Error::other(other.to_string())),
        })?;
        Ok(exported)
    };
    let exported = written();
    if exported.is_err() {
        // The reason why it could not be made says more than why it can't be removed.
        _ = fs::remove_file(&unfinished);
    }
    exported
}

/// Writes a certificate of a job of the directory `dir`, signed with the directory's key.
///
/// # Errors
/// If the job is not done, the directory can't be read or the certificate can't be written.
fn export(dir: &Path, job: JobId, program: &Name, out: impl Write) -> Result<Exported, ExportError> {
    let of_dir = |fault: Fault| ExportError::Store(fault.of_opening(dir));
    let connection = open_to_read(&dir.join(DATABASE)).map_err(of_dir)?;
    // One transaction, so that all is read from one state, whoever else writes.
    let connection = connection.unchecked_transaction().map_err(|error| of_dir(error.into()))?;
    if schema::version(&connection).map_err(of_dir)? != VERSION {
        let reason = "a coordinator that is started on it brings it up to the present version".to_owned();
        return Err(of_dir(Fault::Version(reason)));
    }
    let stored = read::stored_job(&connection, job).map_err(of_dir)?;
    let stored = stored.ok_or(ExportError::Unknown(job))?;
    let (phase, choices) = (stored.entry.phase, stored.choices.as_ref());
    let Some(choices) = choices.filter(|_| phase == Phase::Done) else {
        return Err(ExportError::NotDone { job, phase });
    };
    let plan = Plan::from_choices(stored.entry.n, stored.entry.method, choices);
    let plan = plan.map_err(|error| of_dir(Fault::Damaged(error.to_string())))?;
    let key = Key::of_directory(dir)?;
    let pass = ExportedPass { connection: &connection, stored: &stored, plan: &plan, number: 1, dir };
    let counters = counters(&connection, &[&stored]).map_err(of_dir)?;
    let mut writer = Writer::begin(out, header(&stored.entry, &plan, program, &key)?)?;
    for (number, counter) in counters.values() {
        writer.entry(&Entry::Counter { number: *number, counter: counter.clone() })?;
    }
    let total = pass.write(&mut writer, &counters)?;
    writer.finish(vec![total], &key)?.flush()?;
    Ok(Exported { n_records: total.n_records, solutions: total.solutions })
}

fn header(job: &JobEntry, plan: &Plan, program: &Name, key: &Key) -> Result<Header, ExportError> {
    let n_crosses = u32::try_from(plan.parts().len()).map_err(io::Error::other)?;
    let never = AtomicBool::new(false);
    let (half_turn, quarter_turn) = match published(job.n) {
        Some(known) => (known.half_turn, known.quarter_turn),
        None => half_turn(job.n, &never).zip(quarter_turn(job.n, &never)).unwrap_or_default(),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Ok(Header {
        n: job.n,
        crosses: 0..n_crosses,
        n_crosses,
        created_ms: job.created_ms,
        finished_ms: job.finished_ms.unwrap_or(0),
        passes: vec![Pass {
            method: job.method,
            decomposition: job.decomposition,
            job: job.id.0,
            recount_ppm: 0,
            seed: 0,
        }],
        half_turn,
        quarter_turn,
        made_ms: u64::try_from(now).unwrap_or_default(),
        program: program.clone(),
        signer: key.public(),
    })
}

/// All who counted anything of these jobs, by the numbers of their rows, with those that they have in the certificate.
type Counters = BTreeMap<i64, (u32, Counter)>;

fn counters(connection: &Connection, jobs: &[&StoredJob]) -> Result<Counters, Fault> {
    let mut used: Vec<i64> = Vec::new();
    for job in jobs {
        let mut statement = connection.prepare_cached("SELECT DISTINCT source FROM record WHERE job = ?1")?;
        let mut rows = statement.query([sql_integer("job", job.entry.id.0)?])?;
        while let Some(row) = rows.next()? {
            used.push(cell(row, "source", &"a record")?);
        }
    }
    used.sort_unstable();
    used.dedup();
    let mut counters = Counters::new();
    for (number, source) in (0..).zip(used) {
        let place = format!("source {source}");
        let mut statement = select(connection, &SOURCE, "WHERE id = ?1")?;
        let mut rows = statement.query([source])?;
        let row = rows.next()?.ok_or_else(|| Fault::Damaged(format!("{place} is missing")))?;
        SOURCE.verify(row, None, &place)?;
        let name = |column| -> Result<Name, Fault> {
            let text: String = cell(row, column, &place)?;
            Ok(Name::of_any(&text))
        };
        let counter = Counter { worker: name("worker")?, build: name("build")?, kernel: name("kernel")? };
        counters.insert(source, (number, counter));
    }
    Ok(counters)
}

/// A pass on its way into a certificate.
struct ExportedPass<'a> {
    connection: &'a Connection,
    stored: &'a StoredJob,
    plan: &'a Plan,
    number: u8,
    dir: &'a Path,
}

impl ExportedPass<'_> {
    fn write<W: Write>(&self, writer: &mut Writer<W>, counters: &Counters) -> Result<Total, ExportError> {
        let mut total = Total::default();
        let mut coverage = self.stored.coverage.iter().peekable();
        for (number, planned) in (0_u32..).zip(self.plan.parts()) {
            let nothing = Coverage::default();
            let found = coverage.next_if(|(cross, _)| *cross == number);
            let Coverage { solutions, nodes, .. } = *found.map_or(&nothing, |(_, coverage)| coverage);
            let choice = planned.choice();
            writer.entry(&Entry::Cross(CrossSum {
                pass: self.number,
                number,
                image: choice.image.index(),
                n_subproblems: choice.n_subproblems,
                weight: planned.weight(),
                solutions,
                nodes,
            }))?;
            total.n_records += self.records(writer, counters, number)?;
            total.solutions += u128::from(planned.weight()) * solutions;
            total.nodes += nodes;
        }
        Ok(total)
    }

    /// Writes the records of a cross; returns how many there are.
    fn records<W: Write>(
        &self,
        writer: &mut Writer<W>,
        counters: &Counters,
        cross: u32,
    ) -> Result<u64, ExportError> {
        let mut n_records = 0;
        let mut failed = Ok(());
        let mut read = || -> Result<(), Fault> {
            let (job, board) = (&self.stored.entry, Board::of(&self.stored.entry));
            let mut statement =
                select(self.connection, &RECORD, "WHERE job = ?1 AND cross = ?2 ORDER BY first")?;
            let mut rows = statement.query((sql_integer("job", job.id.0)?, cross))?;
            let place = format!("record of job {}, cross {cross}", job.id);
            while let Some(row) = rows.next()? {
                RECORD.verify(row, Some(board), &place)?;
                let (first, until) = (integer(row, "first", &place)?, integer(row, "until", &place)?);
                let span = Span::new(cross, first, until);
                let source: i64 = cell(row, "source", &place)?;
                let counter = counters.get(&source).map(|(number, _)| *number);
                let (Ok(span), Some(counter)) = (span, counter) else {
                    return Err(Fault::Damaged(format!("{place}: {first}..{until} by source {source}")));
                };
                let count = Count {
                    solutions: integer(row, "solutions", &place)?,
                    nodes: integer(row, "nodes", &place)?,
                };
                let duration_us = integer(row, "duration_us", &place)?;
                n_records += 1;
                failed = writer.entry(&Entry::Record(Counted {
                    pass: self.number,
                    span,
                    count,
                    duration_us,
                    counter,
                }));
                if failed.is_err() {
                    break;
                }
            }
            Ok(())
        };
        read().map_err(|fault| fault.of_opening(self.dir))?;
        failed?;
        Ok(n_records)
    }
}
