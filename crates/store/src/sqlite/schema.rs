//! Creates the tables of the SQLite store, and migrates databases of earlier versions.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::sql::fault::Fault;

/// The application id, which distinguishes our databases from others. `file queens.db` shows it.
pub(super) const APPLICATION_ID: u32 = u32::from_be_bytes(*b"NQns");

/// SQL that creates the tables of a store.
pub const TABLES: &str = include_str!("schema.sql");

/// The version of the tables in `schema.sql`, the only one that this program uses. The first was 1.
pub(super) const VERSION: i32 = 1;

/// Takes the tables one version further. All migrations that a database lacks run in one transaction.
pub(super) type Migration = fn(&Connection) -> Result<(), Fault>;

/// All migrations in order; the first turns version 1 into 2. Released migrations are never edited.
pub(super) const MIGRATIONS: &[Migration] = &[];

/// Returns the version of the tables in a database.
pub(super) fn version(connection: &Connection) -> Result<i32, Fault> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Checks that this program knows a version.
pub(super) fn check_version(version: i32) -> Result<(), Fault> {
    match version {
        1..=VERSION => Ok(()),
        ..=0 => Err(Fault::Damaged(format!("it has schema version {version}"))),
        _ => Err(Fault::Version(format!(
            "it has schema version {version}, this program knows those up to {VERSION}"
        ))),
    }
}

/// Checks that there are only tables and indices. Our programs create no views and triggers; a malicious one would run
/// at each read or write, possibly for ever.
pub(super) fn check(connection: &Connection) -> Result<(), Fault> {
    let sql = "SELECT coalesce(CAST(name AS TEXT), '') FROM sqlite_schema
               WHERE sql NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE 'CREATE INDEX %'
                 AND sql NOT LIKE 'CREATE UNIQUE INDEX %' LIMIT 1";
    match connection.query_row(sql, [], |row| row.get::<_, String>(0)).optional()? {
        None => Ok(()),
        Some(name) => {
            let name = name.escape_debug();
            Err(Fault::Damaged(format!("there is '{name}' in it, which is neither a table nor an index")))
        }
    }
}

/// Creates the tables in an empty database.
pub(super) fn make(connection: &mut Connection) -> Result<(), Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

/// Runs the migrations that a database lacks, all or none.
pub(super) fn migrate(connection: &mut Connection, migrations: &[Migration]) -> Result<(), Fault> {
    let found = version(connection)?;
    let n_done = usize::try_from(found - 1).ok();
    let lacking = n_done.and_then(|n_done| migrations.get(n_done..)).unwrap_or_default();
    if lacking.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (version, migration) in (found + 1..).zip(lacking) {
        migration(&transaction)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_a_table(connection: &Connection) -> Result<(), Fault> {
        Ok(connection.execute_batch("CREATE TABLE a (x); INSERT INTO a VALUES (1)")?)
    }

    fn add_a_column(connection: &Connection) -> Result<(), Fault> {
        Ok(connection.execute_batch("ALTER TABLE a ADD COLUMN y")?)
    }

    fn fail(connection: &Connection) -> Result<(), Fault> {
        Ok(connection.execute_batch("ALTER TABLE b ADD COLUMN z")?)
    }

    fn made() -> Connection {
        let mut connection = Connection::open_in_memory().expect("memory");
        make(&mut connection).expect("makes");
        connection
    }

    fn state(connection: &Connection) -> (i32, i32) {
        let columns =
            connection.query_row("SELECT count(*) FROM pragma_table_info('a')", [], |row| row.get(0));
        (version(connection).expect("readable"), columns.expect("readable"))
    }

    #[test]
    fn the_version_counts_the_migrations() {
        assert_eq!(usize::try_from(VERSION), Ok(1 + MIGRATIONS.len()));
        assert_eq!(state(&made()), (VERSION, 0));
    }

    #[test]
    fn a_database_gets_the_migrations_that_it_lacks() {
        let mut connection = made();
        connection.pragma_update(None, "user_version", 1).expect("writes");
        migrate(&mut connection, &[add_a_table]).expect("migrates");
        assert_eq!(state(&connection), (2, 1));
        for _ in 0..2 {
            migrate(&mut connection, &[add_a_table, add_a_column]).expect("migrates");
            assert_eq!(state(&connection), (3, 2));
        }
    }

    #[test]
    fn a_migration_that_fails_takes_back_those_before_it() {
        let mut connection = made();
        connection.pragma_update(None, "user_version", 1).expect("writes");
        assert!(migrate(&mut connection, &[add_a_table, add_a_column, fail]).is_err());
        assert_eq!(state(&connection), (1, 0));
    }

    #[test]
    fn what_would_run_when_somebody_reads_or_writes_is_refused() {
        let refused = |sql: &str| {
            let connection = made();
            connection.execute_batch(sql).expect("SQL");
            check(&connection).is_err()
        };
        let endless = "WITH RECURSIVE y (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM y) SELECT i FROM y";
        assert!(refused(&format!("ALTER TABLE job RENAME TO x; CREATE VIEW job AS {endless}")));
        assert!(refused("CREATE TRIGGER x AFTER INSERT ON record BEGIN DELETE FROM job; END"));
        // Indices and tables that users may add for fast queries.
        assert!(!refused("CREATE INDEX x ON record (source); CREATE TABLE mine (x UNIQUE); ANALYZE"));
    }
}
