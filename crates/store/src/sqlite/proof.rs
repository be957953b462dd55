//! Audits the database of a data directory.

use std::path::Path;

use queens_ledger::store::{JobEntry, StoreError};
use queens_solver::{Pass, Plan};
use rusqlite::Connection;

use super::directory::{Directory, open_to_read};
use super::schema::{self, VERSION};
use crate::sql::audit::{JobAudit, audit_all, recomputed_plan};
use crate::sql::fault::Fault;

/// Audits the jobs of a directory by their records alone.
///
/// Each plan must be that of its board. The records of each part must be disjoint, lie inside it, and cover and sum to
/// the coordinator's coverage. Every row must match its digest. A total must be the published one. Reads every
/// record; memory is bounded by the plan and the gaps of one part.
///
/// # Errors
/// If the directory has no database, another process uses it, or data contradict each other.
pub fn audit(dir: &Path) -> Result<Vec<JobAudit>, StoreError> {
    audit_against(dir, &recomputed_plan)
}

/// Audits artificial jobs, whose plans come from `recomputed` instead of their boards.
///
/// # Errors
/// If the directory has no database, another process uses it, or data contradict each other.
pub fn audit_against(
    dir: &Path,
    recomputed: &dyn Fn(&JobEntry, Pass) -> Option<Plan>,
) -> Result<Vec<JobAudit>, StoreError> {
    let mut dir = Directory::take_existing(dir)?;
    let connection = dir.connect()?;
    prove(&connection, recomputed).map_err(|fault| fault.of(dir.path()))
}

/// Audits like [`audit()`] a database outside of data directories, such as a backup.
///
/// # Errors
/// If there is no database, or data contradict each other.
pub fn audit_file(file: &Path) -> Result<Vec<JobAudit>, StoreError> {
    let audited = open_to_read(file).and_then(|connection| match schema::version(&connection)? {
        VERSION => prove(&connection, &recomputed_plan),
        older => Err(Fault::Version(format!(
            "it has schema version {older}: a coordinator that is started on it brings it up to version {VERSION}"
        ))),
    });
    audited.map_err(|fault| fault.of_opening(file))
}

fn prove(
    connection: &Connection,
    recomputed: &dyn Fn(&JobEntry, Pass) -> Option<Plan>,
) -> Result<Vec<JobAudit>, Fault> {
    // One transaction reads one state, while others may write.
    let transaction = connection.unchecked_transaction()?;
    check_file(&transaction)?;
    audit_all(&*transaction, recomputed)
}

/// Checks the file with SQLite, its constraints included. One of them is that every record belongs to a part of a plan;
/// the audit would not see other records.
fn check_file(connection: &Connection) -> Result<(), Fault> {
    let verdict: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(Fault::Damaged(verdict));
    }
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    let mut orphans = statement.query([])?;
    match orphans.next()? {
        None => Ok(()),
        Some(row) => {
            let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
            Err(Fault::Damaged(format!("a row of table {table} belongs to a missing row of table {parent}")))
        }
    }
}
