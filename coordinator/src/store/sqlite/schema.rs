//! The tables, and how a database of an older version gets them.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::migrate::{to_version_3, to_version_4, to_version_5};
use crate::store::sql::fault::Fault;

/// What `file queens.db` shows, and what tells our databases from others.
pub(super) const APPLICATION_ID: u32 = u32::from_be_bytes(*b"NQns");

/// The version of the tables this program works on: that many [`STEPS`].
pub(super) const VERSION: i32 = 5;

/// Takes the tables one version further.
pub(super) struct Step {
    sql: &'static str,
    /// What SQL can't do, in the same transaction.
    fill: fn(&Connection) -> Result<(), Fault>,
}

/// All of them, beginning with no tables.
pub(super) const STEPS: &[Step] = &[
    Step { sql: include_str!("schema_1.sql"), fill: nothing },
    Step { sql: include_str!("schema_2.sql"), fill: nothing },
    Step { sql: include_str!("schema_3.sql"), fill: to_version_3 },
    Step { sql: include_str!("schema_4.sql"), fill: to_version_4 },
    Step { sql: include_str!("schema_5.sql"), fill: to_version_5 },
];

fn nothing(_: &Connection) -> Result<(), Fault> {
    Ok(())
}

/// The version of the tables: how many steps have been taken.
pub(super) fn version(connection: &Connection) -> Result<i32, Fault> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Whether there are tables and indices only. Views and triggers, which no program of ours makes, would run while
/// somebody reads or writes: for ever, if whoever made them likes.
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

/// Takes the steps that have not been taken, all or none.
pub(super) fn migrate(connection: &mut Connection, steps: &[Step]) -> Result<(), Fault> {
    let n_taken = version(connection)?;
    let rest = usize::try_from(n_taken).ok().and_then(|n_taken| steps.get(n_taken..)).unwrap_or_default();
    if rest.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (version, step) in (n_taken + 1..).zip(rest) {
        transaction.execute_batch(step.sql)?;
        (step.fill)(&transaction)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: [Step; 2] = [
        Step { sql: "CREATE TABLE a (x); INSERT INTO a VALUES (1);", fill: nothing },
        Step { sql: "ALTER TABLE a ADD COLUMN y;", fill: nothing },
    ];

    fn state(connection: &Connection) -> (i32, i32) {
        let columns =
            connection.query_row("SELECT count(*) FROM pragma_table_info('a')", [], |row| row.get(0));
        (version(connection).expect("readable"), columns.expect("readable"))
    }

    #[test]
    fn version_is_the_number_of_steps() {
        assert_eq!(usize::try_from(VERSION), Ok(STEPS.len()));
    }

    #[test]
    fn an_old_database_takes_the_missing_steps_only() {
        let mut connection = Connection::open_in_memory().expect("memory");
        migrate(&mut connection, &TWO[..1]).expect("first step");
        assert_eq!(state(&connection), (1, 1));
        for _ in 0..2 {
            migrate(&mut connection, &TWO).expect("second step");
            assert_eq!(state(&connection), (2, 2));
        }
    }

    #[test]
    fn a_failing_step_takes_back_those_before_it() {
        let mut connection = Connection::open_in_memory().expect("memory");
        let [first, second] = TWO;
        let steps = [first, second, Step { sql: "ALTER TABLE b ADD COLUMN z;", fill: nothing }];
        migrate(&mut connection, &TWO[..1]).expect("first step");
        assert!(migrate(&mut connection, &steps).is_err());
        assert_eq!(state(&connection), (1, 1));
    }

    #[test]
    fn what_would_run_when_somebody_reads_or_writes_is_refused() {
        let refused = |sql: &str| {
            let mut connection = Connection::open_in_memory().expect("memory");
            migrate(&mut connection, STEPS).expect("all steps");
            connection.execute_batch(sql).expect("SQL");
            check(&connection).is_err()
        };
        let endless = "WITH RECURSIVE y (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM y) SELECT i FROM y";
        assert!(refused(&format!("ALTER TABLE job RENAME TO x; CREATE VIEW job AS {endless}")));
        assert!(refused("CREATE TRIGGER x AFTER INSERT ON record BEGIN DELETE FROM job; END"));
        // What people add to look things up quickly.
        assert!(!refused("CREATE INDEX x ON record (source); CREATE TABLE mine (x UNIQUE); ANALYZE"));
    }
}
