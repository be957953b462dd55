//! Creates the tables on a server, and checks their version.

use queens_store::sql::database::first;
use queens_store::sql::fault::Fault;
use queens_store::sql::read::cell;

use super::session::Session;

/// The schema version that this program works on.
const VERSION: i64 = 1;

/// Advisory lock for creating or changing the tables. No other program is likely to use the number.
const LOCK: i64 = i64::from_be_bytes(*b"NQns\0\0\0\x01");

/// Creates the tables of the jobs, if there are none.
pub(super) fn make(session: &Session) -> Result<(), Fault> {
    make_once(session, "version", |session| session.carry_out(include_str!("schema.sql")))
}

/// Creates tables atomically, unless their version table exists. Concurrent creators wait.
pub(crate) fn make_once(
    session: &Session,
    version_table: &str,
    make: impl FnOnce(&Session) -> Result<(), Fault>,
) -> Result<(), Fault> {
    // Other encodings can't represent every worker name.
    let encoding = "SELECT pg_encoding_to_char(encoding)::text AS encoding FROM pg_database WHERE datname = current_database()";
    let encoding = first(session, encoding, &[], |row| cell::<String>(row, "encoding", &"pg_database"))?;
    if let Some(other) = encoding.filter(|encoding| !["UTF8", "SQL_ASCII"].contains(&encoding.as_str())) {
        return Err(Fault::Unfit(format!(
            "its encoding is {other}, which has not all characters: make it by 'createdb --template=template0 \
             --encoding=UTF8'"
        )));
    }
    session.carry_out(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"))?;
    if version_in(session, version_table)?.is_none() {
        let ours = "SELECT 1 FROM pg_namespace WHERE nspname = 'queens'";
        if first(session, ours, &[], |_| Ok(()))?.is_none() {
            session.carry_out("CREATE SCHEMA queens")?;
        }
        make(session)?;
    }
    session.carry_out("COMMIT")
}

/// Checks that the tables have the version of this program.
pub(super) fn check(session: &Session) -> Result<(), Fault> {
    match version_in(session, "version")? {
        Some(VERSION) => Ok(()),
        Some(other) => {
            Err(Fault::Version(format!("it has schema version {other}, this program knows {VERSION}")))
        }
        None => Err(Fault::Unfit("it has no tables of ours".to_owned())),
    }
}

/// Returns the version in a version table, if the table exists.
pub(crate) fn version_in(session: &Session, table: &str) -> Result<Option<i64>, Fault> {
    let is_there = "SELECT 1 FROM pg_tables WHERE schemaname = 'queens' AND tablename = ?1::text";
    if first(session, is_there, &[table.to_owned().into()], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    let sql = format!("SELECT version FROM queens.{table}");
    let version = first(session, &sql, &[], |row| cell::<i64>(row, "version", &table))?;
    version.map(Some).ok_or_else(|| Fault::Damaged(format!("its table '{table}' is empty")))
}
