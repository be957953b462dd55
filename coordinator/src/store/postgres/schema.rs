//! The tables on a server.

use super::session::Session;
use crate::store::sql::database::first;
use crate::store::sql::fault::Fault;
use crate::store::sql::read::cell;
use crate::store::sql::write;

/// The version of the tables that this program works on.
const VERSION: i64 = 5;

/// Whoever makes or changes the tables holds this lock meanwhile: a number that nothing else is likely to have.
const LOCK: i64 = i64::from_be_bytes(*b"NQns\0\0\0\x01");

/// Makes the tables, if there are none, all or none of them. Others that do the same meanwhile wait.
pub(super) fn make(session: &Session) -> Result<(), Fault> {
    session.carry_out(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"))?;
    match version(session)? {
        Some(_) => session.carry_out("COMMIT"),
        None => {
            session.carry_out("CREATE SCHEMA IF NOT EXISTS queens")?;
            session.carry_out(include_str!("schema.sql"))?;
            // Every database begins its lease tokens somewhere else.
            let start = "SELECT floor(random() * 1073741824)::bigint AS start";
            let start = first(session, start, &[], |row| cell::<u32>(row, "start", &"a random number"))?;
            let start = start.unwrap_or_default();
            write::epochs(session, start, start)?;
            session.send_changes()?;
            session.carry_out("COMMIT")
        }
    }
}

/// Whether the tables are those that this program works on.
pub(super) fn check(session: &Session) -> Result<(), Fault> {
    match version(session)? {
        Some(VERSION) => Ok(()),
        Some(other) => {
            Err(Fault::Version(format!("it has schema version {other}, this program knows {VERSION}")))
        }
        None => Err(Fault::Unfit("it has no tables of ours".to_owned())),
    }
}

/// The version of the tables, if there are any.
fn version(session: &Session) -> Result<Option<i64>, Fault> {
    let is_there = "SELECT 1 FROM pg_tables WHERE schemaname = 'queens' AND tablename = 'version'";
    if first(session, is_there, &[], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    let sql = "SELECT version FROM queens.version";
    let version = first(session, sql, &[], |row| cell::<i64>(row, "version", &"version"))?;
    version.map(Some).ok_or_else(|| Fault::Damaged("its table of versions is empty".to_owned()))
}
