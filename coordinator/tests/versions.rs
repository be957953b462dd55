//! Directories of older programs are gone on with, if they do not contradict themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use queens_coordinator::store::sqlite::{SqliteStore, audit, audit_file, backup, recover};
use queens_ledger::Ledger;
use queens_ledger::store::{JobEntry, Phase, Store, Write};
use queens_messages::{Priority, Terms};
use queens_solver::{DECOMPOSITION_VERSION, Method};
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

/// Every record of a job, as text.
fn records(dir: &Path, job: i64) -> Vec<String> {
    let database = database(dir);
    let sql =
        "SELECT json_array(cross, first, until, solutions, nodes, duration_us, lease, worker, build, kernel)
               FROM record JOIN source ON source.id = source WHERE job = ?1 ORDER BY cross, first";
    let mut statement = database.prepare(sql).expect("the tables are there");
    let rows = statement.query_map([job], |row| row.get(0)).expect("readable");
    rows.map(|row| row.expect("a record")).collect()
}

/// A directory as the program of schema version 1 has left it.
fn version_1() -> TempDir {
    let dir = new_dir();
    let database = database(dir.path());
    database.execute_batch(include_str!("version_1.sql")).expect("SQL");
    // Not what this is about: boards this small are cut as they ever were.
    database.execute("UPDATE job SET decomposition = ?1", [DECOMPOSITION_VERSION]).expect("writes");
    dir
}

#[test]
fn a_directory_of_version_1_is_gone_on_with() {
    let dir = version_1();
    let records_before = records(dir.path(), 1);
    let mut store = open(dir.path());
    let stored = store.load().expect("loads");
    let found: Vec<_> = stored.jobs.iter().map(|job| (job.entry.n.get(), job.entry.phase)).collect();
    assert_eq!(found, [(6, Phase::Done), (7, Phase::Active), (5, Phase::Cancelled)]);
    assert!(stored.jobs.iter().all(|job| job.entry.priority == Priority::default() && !job.entry.paused));
    // What workers still hold was leased from epoch 0 on.
    assert_eq!((stored.epoch, stored.first_epoch, stored.blocked.len()), (1, 0, 0));
    Ledger::restore(stored.clone()).expect("can be gone on with");
    let row = JobEntry {
        priority: Priority::try_from(7).expect("a priority"),
        paused: true,
        ..stored.jobs[1].entry.clone()
    };
    let blocked = Write::Blocked { name: "anna".to_owned(), blocked: true, reason: String::new() };
    store.commit(&[Write::Job(row.clone()), blocked]).expect("commits");
    drop(store);
    let audited = audit(dir.path()).expect("nothing contradicts");
    assert_eq!((audited[0].total, audited[0].is_complete()), (4, true));
    assert_eq!((&audited[1].job, records(dir.path(), 1)), (&row, records_before));
    assert!(open(dir.path()).load().expect("loads").blocked.contains_key("anna"));
}

/// A directory as the program of schema version 2 has left it, and then `sql`.
fn version_2(sql: &str) -> TempDir {
    let dir = new_dir();
    let database = database(dir.path());
    database.execute_batch(include_str!("version_2.sql")).expect("SQL");
    database.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").expect("SQL");
    database.execute_batch(sql).expect("SQL");
    dir
}

#[test]
fn a_directory_of_version_2_is_gone_on_with() {
    let dir = version_2("UPDATE plan_cross SET work = '77' WHERE job = 2 AND number = 3");
    let records_before = [1, 2].map(|job| records(dir.path(), job));
    let stored = open(dir.path()).load().expect("loads");
    let found: Vec<_> =
        stored.jobs.iter().map(|job| (job.entry.n.get(), job.entry.phase, job.entry.paused)).collect();
    assert_eq!(found, [(6, Phase::Done, false), (7, Phase::Active, true)]);
    assert_eq!(stored.jobs[1].entry.priority, Priority::try_from(5).expect("a priority"));
    assert!(stored.blocked.contains_key("bert"));
    assert_eq!([1, 2].map(|job| records(dir.path(), job)), records_before);
    // The estimate of an older program is made anew.
    let audited = audit(dir.path()).expect("nothing contradicts");
    let (done, half) = (&audited[0], &audited[1]);
    assert_eq!((done.total, done.is_complete()), (4, true));
    assert_eq!((half.n_records, half.is_complete()), (records_before[1].len() as u64, false));
    Ledger::restore(stored).expect("can be gone on with");
}

/// Nothing gets a digest that can be seen to be wrong, and a directory that is refused stays what it is.
#[test]
fn a_directory_of_version_2_that_contradicts_itself_is_refused() {
    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let dir = version_2(sql);
        let version = |dir: &Path| {
            database(dir)
                .pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))
                .expect("a number")
        };
        let message = SqliteStore::open(dir.path()).expect_err("is refused").to_string();
        assert!(message.contains(expected), "{expected} expected, not {message}");
        assert_eq!(version(dir.path()), 2);
    }
    let plan = "the plan of job 2 is not that of n = 7";
    check("UPDATE plan_cross SET n_subproblems = 0 WHERE job = 2 AND number = 3", plan);
    check("UPDATE plan_cross SET image = 2 WHERE job = 2 AND number = 3", plan);
    check("DELETE FROM plan_cross WHERE job = 2 AND number = 3", plan);
    check(
        "UPDATE coverage SET solutions = '1' WHERE job = 2 AND cross = 1",
        "job 2, cross 1: its records have",
    );
    check(
        "UPDATE coverage SET recorded = '' WHERE job = 2 AND cross = 1",
        "job 2, cross 1: subproblems without a record",
    );
    check(
        "UPDATE record SET nodes = nodes + 1 WHERE job = 2 AND cross = 1",
        "job 2, cross 1: its records have",
    );
    check("DELETE FROM record WHERE job = 2 AND cross = 1", "job 2, cross 1: subproblems without a record");
    check("DELETE FROM coverage WHERE job = 2 AND cross = 1", "job 2, cross 1: subproblems without a record");
    check(
        "INSERT INTO coverage VALUES (2, 99, '0..1', '1', '1')",
        "belongs to a missing row of table plan_cross",
    );
    check("UPDATE job SET n = 8 WHERE id = 2", "the plan of job 2 is not that of n = 8");
}

/// A directory as the program of schema version 3 has left it, and then `sql`.
fn version_3(sql: &str) -> TempDir {
    let dir = new_dir();
    let database = database(dir.path());
    database.execute_batch(include_str!("version_3.sql")).expect("SQL");
    database.execute_batch(sql).expect("SQL");
    dir
}

/// Nothing but the rows of jobs and of blocked workers gets another digest.
#[test]
fn a_directory_of_version_3_is_gone_on_with() {
    let dir = version_3("");
    let digests = |dir: &Path| -> Vec<i64> {
        let tables = ["plan_cross", "record", "coverage", "coverage_range", "source", "epoch"];
        let database = database(dir);
        let of = |table: &str| -> Vec<i64> {
            let mut statement = database.prepare(&format!("SELECT digest FROM {table}")).expect("SQL");
            let rows = statement.query_map([], |row| row.get(0)).expect("readable");
            rows.map(|row| row.expect("a digest")).collect()
        };
        tables.iter().flat_map(|table| of(table)).collect()
    };
    let before = digests(dir.path());
    let stored = open(dir.path()).load().expect("loads");
    let found: Vec<_> = stored.jobs.iter().map(|job| &job.entry).collect();
    assert_eq!([found[0].phase, found[1].phase], [Phase::Done, Phase::Active]);
    assert!(found.iter().all(|job| job.method == Method::Search));
    assert_eq!((found[1].priority, found[1].paused), (Priority::try_from(5).expect("a priority"), true));
    assert!(stored.blocked.contains_key("bert"));
    assert_eq!(digests(dir.path()), before);
    assert_eq!(audit(dir.path()).expect("nothing contradicts")[0].total, 4);
    Ledger::restore(stored).expect("can be gone on with");
}

#[test]
fn a_row_that_version_3_did_not_write_gets_no_new_digest() {
    let dir = version_3("UPDATE job SET priority = 6 WHERE id = 2");
    let message = SqliteStore::open(dir.path()).expect_err("is refused").to_string();
    assert!(message.contains("job 2: its digest is not that of its content"), "{message}");
    let version = database(dir.path()).pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
    assert_eq!(version, Ok(3));
}

#[test]
fn what_proves_itself_of_version_3_is_recovered() {
    let dir = version_3("UPDATE record SET nodes = nodes + 1 WHERE cross = 3");
    let new = new_dir();
    let recovered = recover(dir.path(), new.path()).expect("something proves itself");
    let found: Vec<_> =
        recovered.jobs.iter().map(|job| (job.was_lost, job.job.method, job.n_recorded)).collect();
    assert_eq!(found, [(false, Method::Search, 5), (false, Method::Search, 0)]);
    assert_eq!(recovered.jobs[1].job.priority, Priority::try_from(5).expect("a priority"));
    audit(new.path()).expect("nothing contradicts");
}

#[test]
fn a_backup_of_version_1_is_of_this_version() {
    let (dir, out) = (version_1(), new_dir());
    let before = fs::read(dir.path().join("queens.db")).expect("readable");
    let file = out.path().join("backup.db");
    backup(dir.path(), &file).expect("is written");
    assert_eq!(audit_file(&file).expect("nothing contradicts").len(), 3);
    assert_eq!(fs::read(dir.path().join("queens.db")).expect("readable"), before);
}

/// A directory as the program of schema version 4 has left it, and then `sql`.
fn version_4(sql: &str) -> TempDir {
    let dir = new_dir();
    let database = database(dir.path());
    database.execute_batch(include_str!("version_4.sql")).expect("SQL");
    database.execute_batch(sql).expect("SQL");
    dir
}

/// Its jobs are on the terms on which all were counted then, and each gets a seed.
#[test]
fn a_directory_of_version_4_is_gone_on_with() {
    let dir = version_4("");
    let records_before = [1, 2, 3].map(|job| records(dir.path(), job));
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
    let terms: Vec<Terms> = stored.jobs.iter().map(|job| job.entry.terms).collect();
    assert!(terms.iter().all(|terms| *terms == Terms { seed: terms.seed, ..Terms::default() }), "{terms:?}");
    let seeds: BTreeSet<u128> = terms.iter().map(|terms| terms.seed).collect();
    assert_eq!((seeds.len(), seeds.contains(&0)), (5, false));
    assert_eq!(stored.blocked, BTreeMap::from([("bert".to_owned(), String::new())]));
    assert_eq!([1, 2, 3].map(|job| records(dir.path(), job)), records_before);
    let totals = audit(dir.path()).expect("nothing contradicts").into_iter().map(|job| job.total);
    assert_eq!(totals.collect::<Vec<_>>(), [4, 40, 92, 0, 0]);
    // They stay what they are.
    assert_eq!(open(dir.path()).load().expect("loads").jobs, stored.jobs);
    Ledger::restore(stored).expect("can be gone on with");
}

#[test]
fn a_row_that_version_4_did_not_write_gets_no_new_digest() {
    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let dir = version_4(sql);
        let message = SqliteStore::open(dir.path()).expect_err("is refused").to_string();
        assert!(message.contains(expected), "{message}");
        let version =
            database(dir.path()).pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
        assert_eq!(version, Ok(4));
    }
    check("UPDATE job SET phase = 'active' WHERE id = 2", "job 2: its digest is not that of its content");
    check("UPDATE blocked_worker SET name = 'anna'", "blocked worker 'anna': its digest is not that");
    check("UPDATE coverage SET nodes = '7' WHERE job = 3", "its digest is not that of its content");
}

#[test]
fn what_proves_itself_of_version_4_is_recovered() {
    let dir = version_4("UPDATE record SET nodes = nodes + 1 WHERE job = 2 AND cross = 3");
    let new = new_dir();
    let recovered = recover(dir.path(), new.path()).expect("something proves itself");
    let found: Vec<_> = recovered.jobs.iter().map(|job| (job.job.phase, job.job.terms.seed != 0)).collect();
    let [done, active, cancelled] = [Phase::Done, Phase::Active, Phase::Cancelled].map(|phase| (phase, true));
    assert_eq!(found, [done, active, done, active, cancelled]);
    assert_eq!(recovered.blocked, BTreeMap::from([("bert".to_owned(), String::new())]));
    audit(new.path()).expect("nothing contradicts");
}
