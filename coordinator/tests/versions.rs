//! Tests that this program and later ones can use directories of every release.

use std::collections::BTreeMap;
use std::path::Path;

use queens_ledger::store::{Block, Phase, Store};
use queens_ledger::{Ledger, Run};
use queens_model::{Name, Terms};
use queens_solver::Method;
use queens_store::sqlite::{SqliteStore, audit};
use rusqlite::Connection;
use tempfile::TempDir;

fn new_dir() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir).expect("opens")
}

fn database(dir: &Path) -> Connection {
    Connection::open(dir.join("queens.db")).expect("opens")
}

/// Returns the rows of a query as text.
fn texts(dir: &Path, sql: &str) -> Vec<String> {
    let database = database(dir);
    let mut statement = database.prepare(sql).expect("the tables are there");
    let rows = statement.query_map([], |row| row.get(0)).expect("readable");
    rows.map(|row| row.expect("a text")).collect()
}

fn records(dir: &Path) -> Vec<String> {
    let sql = "SELECT json_array(job, part, first, until, solutions, work, duration_us, lease, worker, build, kernel)
               FROM record JOIN source ON source.id = source ORDER BY job, part, first";
    texts(dir, sql)
}

/// Creates a directory as programs of schema version 1 leave it.
fn version_1() -> TempDir {
    let dir = new_dir();
    database(dir.path()).execute_batch(include_str!("version_1.sql")).expect("SQL");
    dir
}

#[test]
fn a_directory_of_version_1_is_gone_on_with() {
    let dir = version_1();
    let records_before = records(dir.path());
    let stored = open(dir.path()).load().expect("loads");
    let found: Vec<_> =
        stored.jobs.iter().map(|job| (job.entry.n.get(), job.entry.method, job.entry.phase)).collect();
    assert_eq!(
        found,
        [
            (6, Method::Search, Phase::Done),
            (7, Method::Search, Phase::Done),
            (8, Method::Halves, Phase::Done),
            (9, Method::Search, Phase::Active),
            (5, Method::Search, Phase::Cancelled),
        ]
    );
    let terms = stored.jobs.iter().map(|job| job.entry.terms);
    assert!(terms.clone().all(|terms| terms == Terms { seed: terms.seed, ..Terms::default() }));
    assert_eq!(
        stored.blocked,
        BTreeMap::from([(Block { name: Name::of_any("bert"), party: None }, String::new())])
    );
    assert_eq!((records_before.len(), records(dir.path())), (26, records_before));
    let totals = audit(dir.path()).expect("nothing contradicts").into_iter().map(|job| job.total);
    assert_eq!(totals.collect::<Vec<_>>(), [4, 40, 92, 0, 0]);
    // They do not change.
    assert_eq!(open(dir.path()).load().expect("loads").jobs, stored.jobs);
    Ledger::restore(stored, Run::new(1)).expect("can be gone on with");
}

/// A change of the tables needs a migration: without one, this directory would differ from a new one.
#[test]
fn its_tables_are_those_of_a_new_directory() {
    let columns = |dir: &Path| {
        drop(open(dir));
        let sql = "SELECT json_array(kind.name, cid, info.name, info.type, \"notnull\", pk) FROM sqlite_schema AS kind
                   JOIN pragma_table_info(kind.name) AS info WHERE kind.type = 'table' ORDER BY kind.name, cid";
        texts(dir, sql)
    };
    let (before, new) = (version_1(), new_dir());
    assert_eq!(columns(before.path()), columns(new.path()));
    assert_eq!(texts(new.path(), "SELECT CAST(user_version AS TEXT) FROM pragma_user_version"), ["1"]);
}
