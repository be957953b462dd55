//! The tables of the invitation store: SQL for both databases, and their creation in SQLite.

use rusqlite::{Connection, TransactionBehavior};

/// The identifier of the file format, and the version of the schema.
pub(super) const APPLICATION_ID: i64 = 0x4e51_6163;
pub(super) const VERSION: i64 = 1;

/// SQL that creates the tables of both databases.
pub(super) const TABLES: &str = include_str!("schema.sql");

/// SQL that creates the table of SQLite alone.
const PLACE: &str = "
CREATE TABLE place (
    -- The coordinator's address, key pin and URL of pages. Each start of a coordinator writes them.
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    url   TEXT,
    pin   TEXT,
    pages TEXT
) STRICT;
";

/// Creates the tables in an empty database; returns the identifier and the version found.
pub(super) fn make(connection: &mut Connection) -> rusqlite::Result<(i64, i64)> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let ids = |transaction: &Connection| -> rusqlite::Result<(i64, i64)> {
        let id = |name: &str| transaction.pragma_query_value(None, name, |row| row.get(0));
        Ok((id("application_id")?, id("user_version")?))
    };
    let n_tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if ids(&transaction)? == (0, 0) && n_tables == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(PLACE)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    let found = ids(&transaction)?;
    transaction.commit()?;
    Ok(found)
}
