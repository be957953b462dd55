//! Reads and changes a data directory from outside the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::TempDir;
use crate::directory::entries;
use crate::process::{queens, run};
use rusqlite::{Connection, OpenFlags};

/// The database in a data directory.
pub const DATABASE: &str = "queens.db";

/// A row of the table `record`, without the worker's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Job, part, first subproblem, subproblem after the last.
    pub span: (i64, i64, i64, i64),
    /// Solutions, work, microseconds.
    pub count: (i64, i64, i64),
    /// The lease of its worker.
    pub lease: i64,
}

impl Record {
    /// Returns the number of subproblems.
    #[must_use]
    pub fn n_subproblems(&self) -> i64 {
        let (_, _, first, until) = self.span;
        until - first
    }
}

/// Returns the records in `dir`, ordered by span. A process may add to them meanwhile.
///
/// # Errors
/// Returns an error if there is no database yet, or it is being set up.
pub fn records(dir: &Path) -> rusqlite::Result<Vec<Record>> {
    let database = Connection::open_with_flags(dir.join(DATABASE), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut statement = database.prepare(
        "SELECT job, part, first, until, solutions, work, duration_us, lease FROM record
         ORDER BY job, part, first",
    )?;
    let record = |row: &rusqlite::Row<'_>| {
        Ok(Record {
            span: (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?),
            count: (row.get(4)?, row.get(5)?, row.get(6)?),
            lease: row.get(7)?,
        })
    };
    statement.query_map([], record)?.collect()
}

/// Returns the identity of a job in `dir`, as leases name it on the wire.
///
/// # Errors
/// Returns an error if there is no such job.
///
/// # Panics
/// Panics if the stored identity is invalid.
pub fn identity(dir: &Path, job: &str) -> rusqlite::Result<Vec<u8>> {
    let database = Connection::open_with_flags(dir.join(DATABASE), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let sql = "SELECT identity FROM job WHERE id = ?1";
    let identity: String = database.query_row(sql, [job], |row| row.get(0))?;
    Ok(u128::from_str_radix(&identity, 16).expect("hexadecimal").to_be_bytes().to_vec())
}

/// Returns the number of jobs in `dir`; 0 if there is no database yet.
#[must_use]
pub fn n_jobs(dir: &Path) -> i64 {
    let database = Connection::open_with_flags(dir.join(DATABASE), OpenFlags::SQLITE_OPEN_READ_ONLY);
    let count =
        database.and_then(|database| database.query_row("SELECT count(*) FROM job", [], |row| row.get(0)));
    count.unwrap_or_default()
}

/// Returns the recorded share of the estimated work in `dir`.
///
/// # Errors
/// Returns an error if there is no plan.
pub fn share(dir: &Path) -> rusqlite::Result<f64> {
    let database = Connection::open_with_flags(dir.join(DATABASE), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let sql = "SELECT work, n_subproblems, (
                   SELECT coalesce(sum(until - first), 0) FROM record
                   WHERE record.job = plan_part.job AND part = number
               ) FROM plan_part WHERE n_subproblems > 0";
    let mut parts = database.prepare(sql)?;
    let parts = parts
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)))?;
    // In whole work units, like the coordinator: a sum of fractions depends on their order.
    let (mut recorded, mut all) = (0, 0);
    for part in parts {
        let (work, n_subproblems, n_recorded) = part?;
        let work: u128 = work.parse().expect("digits");
        recorded += work * u128::from(n_recorded.unsigned_abs()) / u128::from(n_subproblems.unsigned_abs());
        all += work;
    }
    if all == 0 { Err(rusqlite::Error::QueryReturnedNoRows) } else { Ok(recorded as f64 / all as f64) }
}

/// Returns the counting time of a worker's records, summed over its threads.
///
/// # Errors
/// Returns an error if there is no database.
pub fn counting_time(dir: &Path, worker: &str) -> rusqlite::Result<Duration> {
    let database = Connection::open_with_flags(dir.join(DATABASE), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let sql = "SELECT coalesce(sum(duration_us), 0) FROM record JOIN source ON source = source.id WHERE worker = ?1";
    let us: i64 = database.query_row(sql, [worker], |row| row.get(0))?;
    Ok(Duration::from_micros(us.unsigned_abs()))
}

/// Changes the database in `dir` without the program.
///
/// # Panics
/// Panics if it can't be changed.
pub fn tamper(dir: &Path, sql: &str) {
    let database = Connection::open(dir.join(DATABASE)).expect("it can be opened");
    database.execute_batch(sql).expect("it can be changed");
}

/// Returns the files in `dir` with their bytes; other entries without bytes.
///
/// # Panics
/// Panics if `dir` can't be read.
#[must_use]
pub fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    entries(dir).into_iter().map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect()
}

/// Copies a directory that may be in use, as a snapshot of the file system does.
///
/// # Panics
/// Panics if it can't be copied.
pub fn snapshot(dir: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([dir, to]).status().expect("there is cp");
    assert!(copied.success());
}

/// Returns a directory in which `queens count` has counted a board.
///
/// # Panics
/// Panics if that fails.
#[track_caller]
#[must_use]
pub fn counted(n: u8) -> TempDir {
    let dir = TempDir::new();
    _ = run(count_command(n, dir.path(), &[])).answer();
    dir
}

/// Returns a command that counts a board on a data directory.
#[must_use]
pub fn count_command(n: u8, dir: &Path, args: &[&str]) -> Command {
    let mut command = queens(["count", &n.to_string(), "--output", "json", "--data-dir"]);
    command.arg(dir).args(args);
    command
}

/// Makes a count last, with the slowest kernel on one thread.
pub const PORTABLE: [&str; 4] = ["--kernel", "portable", "--threads", "1"];

/// Returns a copy of `dir` for inspection. Opening a database removes the remains of a crash, which only the program
/// should do.
///
/// # Panics
/// Panics if it can't be made.
#[must_use]
pub fn copy(dir: &Path) -> TempDir {
    let copy = TempDir::new();
    for (path, bytes) in contents(dir) {
        let name = path.file_name().expect("an entry of a directory has a name");
        fs::write(copy.join(name), bytes).expect("written");
    }
    copy
}
