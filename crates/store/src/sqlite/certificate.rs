//! Exports a certificate from a data directory, even one in use, and notes the export in one not in use.

use std::io::BufWriter;
use std::path::Path;

use queens_certificate::Key;
use queens_ledger::store::{Phase, StoreError};
use queens_model::{JobId, Name};
use queens_platform::NewFile;
use rusqlite::TransactionBehavior;

use super::directory::{Directory, SqliteViews, check_database};
use crate::certificate::ExportError;
use crate::clock::unix_ms;
use crate::sql::export::{Exported, export, second_pass};
use crate::sql::fault::Fault;
use crate::sql::read::{self, JobColumns};
use crate::sql::write;

/// Writes a certificate of a job of the directory `dir` to a new file. `program` is the version of this program.
///
/// # Errors
/// If the job is not done, the directory can't be read, or the file can't be written; then there is none.
pub fn export_to(dir: &Path, job: JobId, program: &Name, file: &Path) -> Result<Exported, ExportError> {
    check_database(dir)?;
    let mut new = NewFile::begin(file)?;
    let views = SqliteViews { dir: dir.to_owned() };
    let exported = export(&views, &Key::of_directory(dir)?, job, program, BufWriter::new(new.file()))?;
    new.keep()?;
    Ok(exported)
}

/// Notes in the directory `dir` that a certificate of a job and of its second pass is published. Later findings about a
/// name then have no effect on it. Nobody else may use the directory. A coordinator notes its own exports itself.
///
/// # Errors
/// If the directory is in use or can't be written.
pub fn note_exported(dir: &Path, job: JobId) -> Result<(), StoreError> {
    let mut directory = Directory::take_existing(dir)?;
    let mut connection = directory.connect()?;
    let at_ms = unix_ms();
    let mut note = || -> Result<(), Fault> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in [Some(job), second_pass(&*transaction, job)?].into_iter().flatten() {
            let Some(JobColumns { mut row, plan }) = read::one_job(&*transaction, id)? else { continue };
            if row.phase == Phase::Done && row.terms.exported_ms.is_none() {
                row.terms.exported_ms = Some(at_ms);
                write::put_job(&*transaction, &row, plan)?;
            }
        }
        Ok(transaction.commit()?)
    };
    note().map_err(|fault| fault.of(dir))
}
