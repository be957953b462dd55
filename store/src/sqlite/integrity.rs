//! What SQLite itself has to say of the file of a database.

use rusqlite::Connection;

use crate::sql::fault::Fault;

/// Whether SQLite finds fault with the file, its constraints included. That every record belongs to a cross of a
/// plan is one of them; otherwise the audit would not meet the record.
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
