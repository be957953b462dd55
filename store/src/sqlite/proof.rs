//! Proving what the database of a directory says.

use std::path::Path;

use queens_ledger::store::{JobEntry, StoreError};
use queens_solver::Pass;
use rusqlite::Connection;

use super::directory::{Directory, open_to_read};
use super::integrity::check_file;
use super::schema::{self, VERSION};
use crate::sql::audit::{JobAudit, Truth, audit_all};
use crate::sql::fault::Fault;

/// Proves, from the records alone, what each job of the directory has counted.
///
/// Each plan must be what is planned for the board; the records of each cross must be disjoint, lie inside it, and
/// cover and add up to what the coordinator goes by; every row must be the one that was written; a total must be the
/// published one. Reads every record; memory is bounded by the plan and the gaps of one cross.
///
/// # Errors
/// If there is no database in the directory, another process uses it, or something contradicts something.
pub fn audit(dir: &Path) -> Result<Vec<JobAudit>, StoreError> {
    audit_against(dir, &|job, pass| Truth::of(job.n, job.method, pass))
}

/// The same for jobs of which something else is true than of boards: artificial ones.
///
/// # Errors
/// If there is no database in the directory, another process uses it, or something contradicts something.
pub fn audit_against(
    dir: &Path,
    truth: &dyn Fn(&JobEntry, Pass) -> Option<Truth>,
) -> Result<Vec<JobAudit>, StoreError> {
    let mut dir = Directory::take_existing(dir)?;
    let connection = dir.connect()?;
    prove(&connection, truth).map_err(|fault| fault.of(dir.path()))
}

/// The same as [`audit()`] for a database that is no data directory's, such as a backup.
///
/// # Errors
/// If there is no database, or something contradicts something.
pub fn audit_file(file: &Path) -> Result<Vec<JobAudit>, StoreError> {
    let audited = open_to_read(file).and_then(|connection| match schema::version(&connection)? {
        VERSION => prove(&connection, &|job, pass| Truth::of(job.n, job.method, pass)),
        older => Err(Fault::Version(format!(
            "it has schema version {older}: a coordinator that is started on it brings it up to version {VERSION}"
        ))),
    });
    audited.map_err(|fault| fault.of_opening(file))
}

fn prove(
    connection: &Connection,
    truth: &dyn Fn(&JobEntry, Pass) -> Option<Truth>,
) -> Result<Vec<JobAudit>, Fault> {
    // One transaction, so that all is read from one state, whoever else writes.
    let transaction = connection.unchecked_transaction()?;
    check_file(&transaction)?;
    audit_all(&*transaction, truth)
}
