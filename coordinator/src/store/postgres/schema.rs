//! The tables on a server.

use queens_store::sql::database::first;
use queens_store::sql::fault::Fault;
use queens_store::sql::read::cell;

use super::session::Session;

/// The version of the tables that this program works on.
const VERSION: i64 = 1;

/// Whoever makes or changes the tables holds this lock meanwhile: a number that nothing else is likely to have.
const LOCK: i64 = i64::from_be_bytes(*b"NQns\0\0\0\x01");

/// Makes the tables of the jobs, if there are none.
pub(super) fn make(session: &Session) -> Result<(), Fault> {
    make_once(session, "version", |session| session.carry_out(include_str!("schema.sql")))
}

/// Makes tables, if the one among them that says their version is not there: all or none of them. Others that make any
/// meanwhile wait.
pub(crate) fn make_once(
    session: &Session,
    version_table: &str,
    make: impl FnOnce(&Session) -> Result<(), Fault>,
) -> Result<(), Fault> {
    // Anything else takes not every name that a worker may have.
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

/// Whether the tables are those that this program works on.
pub(super) fn check(session: &Session) -> Result<(), Fault> {
    match version_in(session, "version")? {
        Some(VERSION) => Ok(()),
        Some(other) => {
            Err(Fault::Version(format!("it has schema version {other}, this program knows {VERSION}")))
        }
        None => Err(Fault::Unfit("it has no tables of ours".to_owned())),
    }
}

/// What a table says of the version of those that were made with it, if it is there.
pub(crate) fn version_in(session: &Session, table: &str) -> Result<Option<i64>, Fault> {
    let is_there = "SELECT 1 FROM pg_tables WHERE schemaname = 'queens' AND tablename = ?1::text";
    if first(session, is_there, &[table.to_owned().into()], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    let sql = format!("SELECT version FROM queens.{table}");
    let version = first(session, &sql, &[], |row| cell::<i64>(row, "version", &table))?;
    version.map(Some).ok_or_else(|| Fault::Damaged(format!("its table '{table}' is empty")))
}
