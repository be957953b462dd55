//! Runs SQLite's integrity check of a database file.

use rusqlite::Connection;

use crate::sql::fault::Fault;

/// Checks the file with SQLite, its constraints included. One of them is that every record belongs to a part of a plan;
/// the audit would not see other records.
pub(crate) fn check_file(connection: &Connection) -> Result<(), Fault> {
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
