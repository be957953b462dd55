//! Tests that the SQLite store behaves like the store in memory, survives crashes, and validates what it reads.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

mod steps;

use proptest::prelude::*;
use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{Coverage, JobEntry, MAX_COUNT, Record, Source, Store, StoreError, Stored, Write};
use queens_model::{JobId, LeaseId};
use queens_solver::{Count, Span};
use queens_store::sqlite::{SqliteStore, backup};
use rusqlite::Connection;
use tempfile::TempDir;

use self::steps::{any_steps, assert_same_records, choices, job, play, record_of};

fn coverage_of(job: u64, part: u32, recorded: &str, sums: (u128, u128)) -> Write {
    let recorded = recorded.parse().expect("ranges");
    let coverage = Coverage { recorded, solutions: sums.0, work: sums.1 };
    let change = coverage.change(coverage.recorded.ranges().map(|range| range.start));
    Write::Coverage { job: JobId(job), part, change }
}

/// Returns job 1 with some records and their coverage.
fn sample() -> Vec<Write> {
    vec![
        Write::Job(job(1, 6)),
        Write::Plan { job: JobId(1), choices: choices(6) },
        record_of(1, (0, 0, 20), (5, 50), "anna"),
        record_of(1, (0, 20, 40), (6, 60), "bert"),
        coverage_of(1, 0, "0..40", (11, 110)),
        record_of(1, (2, 30, 40), (MAX_COUNT, 7), "anna"),
        record_of(1, (2, 60, 61), (MAX_COUNT, 0), "anna"),
        coverage_of(1, 2, "30..40 60..61", (2 * u128::from(MAX_COUNT), 7)),
    ]
}

fn new_dir() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir).expect("opens")
}

fn sample_dir() -> TempDir {
    let dir = new_dir();
    open(dir.path()).commit(&sample()).expect("commits");
    dir
}

fn database(dir: &Path) -> Connection {
    Connection::open(dir.join("queens.db")).expect("opens")
}

/// Returns the stored jobs; does not count as a load.
fn stored(dir: &Path) -> Stored {
    let copy = copy(dir);
    open(copy.path()).load().expect("loads")
}

fn copy(dir: &Path) -> TempDir {
    let copy = new_dir();
    for (name, bytes) in files(dir).into_iter().filter(|(name, _)| !name.ends_with("-shm")) {
        fs::write(copy.path().join(name), bytes).expect("writes");
    }
    copy
}

/// Returns the files below `dir`, by name.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().expect("has a name").to_string_lossy().into_owned();
            (name, fs::read(&path).expect("readable"))
        })
        .collect()
}

/// Returns every record in the tables.
fn records(dir: &Path, job: u64) -> Vec<Record> {
    let connection = database(dir);
    let mut statement = connection
        .prepare(
            "SELECT part, first, until, solutions, work, duration_us, lease, worker, build, kernel, party
             FROM record JOIN source ON source.id = source WHERE job = ?1 ORDER BY part, first",
        )
        .expect("the tables are there");
    let rows = statement.query_map([i64::try_from(job).expect("small")], |row| {
        let number =
            |column| row.get::<_, i64>(column).map(|value| u64::try_from(value).expect("not negative"));
        let name = |column| row.get::<_, String>(column).map(|name| name.parse().expect("a name"));
        Ok(Record {
            span: Span::new(row.get(0)?, number(1)?, number(2)?).expect("not empty"),
            count: Count { solutions: number(3)?, work: number(4)? },
            duration: Duration::from_micros(number(5)?),
            lease: LeaseId(number(6)?),
            source: Arc::new(Source {
                name: name(7)?,
                build: name(8)?,
                kernel: name(9)?,
                party: row.get::<_, String>(10)?.parse().expect("a party"),
            }),
        })
    });
    rows.expect("readable").map(|row| row.expect("a record")).collect()
}

/// Returns every second count and verdict in the tables, as text.
fn counted_again(dir: &Path, job: u64) -> Vec<String> {
    let connection = database(dir);
    let mut statement = connection
        .prepare(
            "SELECT * FROM (SELECT json_array(part, first, until, second_count.party, solutions, work, duration_us, at_ms, worker, kernel)
             FROM second_count JOIN source ON source.id = source WHERE job = ?1 ORDER BY part, first, second_count.party)
             UNION ALL
             SELECT * FROM (SELECT json_array(part, first, until, number, solutions, work, at_ms, a.worker, lost_solutions,
             lost_work, b.worker) FROM verdict JOIN source a ON a.id = source JOIN source b ON b.id = lost_source
             WHERE job = ?1 ORDER BY part, first, number)",
        )
        .expect("the tables are there");
    let rows = statement.query_map([i64::try_from(job).expect("small")], |row| row.get(0)).expect("readable");
    rows.map(|row| row.expect("a row")).collect()
}

/// Returns those of the store in memory.
fn modelled_again(model: &MemoryStore, job: u64) -> Vec<String> {
    let span = |span: Span| format!("{},{},{}", span.part(), span.from(), span.to());
    let counts = |count: Count| format!("{},{}", count.solutions, count.work);
    let again = model.second_counts(JobId(job)).map(|it| {
        let (name, kernel) = (&it.source.name, &it.source.kernel);
        let (span, counts, us) = (span(it.span), counts(it.count), it.duration.as_micros());
        let party = it.source.party;
        format!("[{span},\"{party}\",{counts},{us},{},\"{name}\",\"{kernel}\"]", it.at_ms)
    });
    let decided = model.verdicts(JobId(job)).map(|it| {
        let (name, lost_by) = (&it.source.name, &it.lost_source.name);
        let (span, count, lost) = (span(it.span), counts(it.count), counts(it.lost));
        format!("[{span},{},{count},{},\"{name}\",{lost},\"{lost_by}\"]", it.number, it.at_ms)
    });
    again.chain(decided).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_the_store_in_memory(steps in any_steps()) {
        let dir = new_dir();
        let (store, mut model) = play(steps, || open(dir.path()));
        assert_same_records(store, &mut model);
        for id in 1..=2 {
            let expected: Vec<Record> = model.records(JobId(id)).cloned().collect();
            prop_assert_eq!(records(dir.path(), id), expected);
            prop_assert_eq!(counted_again(dir.path(), id), modelled_again(&model, id));
        }
    }
}

#[test]
fn writes_can_be_repeated() {
    let dir = sample_dir();
    let mut store = open(dir.path());
    let before = stored(dir.path());
    store.commit(&sample()).expect("commits");
    assert_eq!(stored(dir.path()), before);
    assert_eq!(records(dir.path(), 1).len(), 4);
}

/// Creates a data directory with a backup as its database.
fn restored(backup: &Path) -> TempDir {
    let dir = new_dir();
    fs::copy(backup, dir.path().join("queens.db")).expect("copies");
    dir
}

#[test]
fn a_backup_is_a_state_of_the_store_that_is_written_to_meanwhile() {
    let dir = sample_dir();
    let mut store = open(dir.path());
    let files_before = files(dir.path()).into_keys().collect::<Vec<_>>();
    let out = new_dir();
    for i in 0..20 {
        let stop = AtomicBool::new(false);
        let file = out.path().join(format!("backup {i}.db"));
        let (size, states) = thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let mut states = vec![store.load().expect("loads").jobs];
                while !stop.load(Ordering::Relaxed) || states.len() < 2 {
                    let n = states.len() as u64 + 1;
                    let recorded = [
                        Write::Job(JobEntry { n_verified: n, ..job(1, 6) }),
                        record_of(1, (5, i, i + 1), (2, n), "anna"),
                    ];
                    store.commit(&recorded).expect("is not kept waiting");
                    states.push(store.load().expect("loads").jobs);
                }
                states
            });
            let size = backup(dir.path(), &file).expect("is written");
            stop.store(true, Ordering::Relaxed);
            (size, writing.join().expect("no panic"))
        });
        assert_eq!(fs::metadata(&file).expect("is there").len(), size);
        let copy = restored(&file);
        let jobs = open(copy.path()).load().expect("loads").jobs;
        assert!(states.contains(&jobs), "{jobs:?}");
        let (last, n) = (records(copy.path(), 1).pop().expect("a record"), jobs[0].entry.n_verified);
        assert!(last.count.work == n || n <= 1, "{last:?} of {n}");
    }
    assert_eq!(files(dir.path()).into_keys().collect::<Vec<_>>(), files_before);
    assert_eq!(files(out.path()).len(), 20, "nothing else is left");
}

#[test]
fn a_backup_overwrites_nothing_and_leaves_nothing_half_done() {
    let (dir, out) = (sample_dir(), new_dir());
    let file = out.path().join("backup.db");
    fs::write(&file, "precious").expect("writes");
    let message = |file: &Path| backup(dir.path(), file).expect_err("is refused").to_string();
    assert!(message(&file).contains("is there already"));
    assert_eq!(fs::read(&file).expect("reads"), b"precious");
    assert!(message(&out.path().join("missing/backup.db")).contains("failed to write"));
    let nothing = new_dir();
    let error = backup(nothing.path(), &out.path().join("other")).expect_err("is refused").to_string();
    assert!(error.contains("there is no 'queens.db' in it"), "{error}");
    assert_eq!(files(out.path()).into_keys().collect::<Vec<_>>(), ["backup.db"]);
    // The unfinished file of a killed backup must not prevent another one.
    let other = out.path().join("other.db");
    fs::write(out.path().join("other.db.unfinished"), "half").expect("writes");
    backup(dir.path(), &other).expect("is written");
    assert_eq!(files(out.path()).into_keys().collect::<Vec<_>>(), ["backup.db", "other.db"]);
}

/// A failed commit changes nothing, and later commits work.
#[test]
fn failing_commits_change_nothing() {
    #[track_caller]
    fn check(bad: Write, expected: &str) {
        let dir = sample_dir();
        let mut store = open(dir.path());
        let before = (stored(dir.path()), records(dir.path(), 1));
        // The row of a new worker is rolled back too, and its number is reused.
        let carol = record_of(1, (4, 0, 1), (1, 1), "carol");
        let result = store.commit(&[carol.clone(), Write::Job(job(7, 8)), bad]);
        assert!(
            matches!(
                &result,
                Err(StoreError::Impossible(reason) | StoreError::Damaged { reason, .. }) if reason == expected
            ),
            "{expected} expected, not {result:?}"
        );
        assert_eq!((stored(dir.path()), records(dir.path(), 1)), before);
        store.commit(&[record_of(1, (3, 0, 1), (1, 1), "dora"), carol]).expect("commits");
        let workers: Vec<_> =
            records(dir.path(), 1).iter().map(|record| record.source.name.clone()).collect();
        assert_eq!(workers.iter().collect::<Vec<_>>(), ["anna", "bert", "anna", "anna", "dora", "carol"]);
    }
    let huge = MAX_COUNT + 1;
    check(Write::Plan { job: JobId(2), choices: choices(3) }, "there is no job 2");
    check(record_of(2, (0, 0, 1), (1, 1), "anna"), "there is no job 2");
    check(Write::Job(job(1, 7)), "job 1 is of another board already");
    check(coverage_of(1, 999, "0..1", (0, 0)), "coverage of job 1, part 999: FOREIGN KEY constraint failed");
    check(Write::Plan { job: JobId(1), choices: choices(2) }, "plan of job 1: FOREIGN KEY constraint failed");
    check(
        record_of(1, (1, 0, 1), (huge, 1), "anna"),
        "number of solutions 9223372036854775808 is over 2^63 - 1",
    );
    check(record_of(1, (1, 0, 1), (1, huge), "anna"), "work 9223372036854775808 is over 2^63 - 1");
    check(record_of(1, (1, 0, huge), (1, 1), "anna"), "subproblem 9223372036854775808 is over 2^63 - 1");
    check(Write::Job(job(huge, 8)), "job 9223372036854775808 is over 2^63 - 1");
}

/// Files as after a crash: copied after any commit, with the log cut off anywhere.
#[test]
fn every_copy_is_the_state_after_some_commit() {
    let dir = new_dir();
    let mut store = open(dir.path());
    store.commit(&sample()).expect("commits");
    let mut states = vec![stored(dir.path())];
    for i in 1..5 {
        let writes = [
            record_of(1, (5, i - 1, i), (2, 3), &format!("worker {i}")),
            coverage_of(1, 5, &format!("0..{i}"), (i.into(), 0)),
        ];
        store.commit(&writes).expect("commits");
        states.push(stored(dir.path()));
        assert_ne!(states[states.len() - 2..][0], states[states.len() - 1]);
    }
    let log = fs::read(dir.path().join("queens.db-wal")).expect("the log is there while the store is open");
    let mut last = 0;
    for len in (0..log.len()).step_by(512).chain([log.len()]) {
        let cut = copy(dir.path());
        fs::write(cut.path().join("queens.db-wal"), &log[..len]).expect("writes");
        let state = open(cut.path()).load().expect("loads");
        // Before the first commit, the store is empty.
        let i = states.iter().position(|other| *other == state).map_or(0, |i| i + 1);
        assert!(i >= last && (i > 0 || state.jobs.is_empty()), "log cut to {len} bytes");
        last = i;
    }
    assert_eq!(last, states.len());
}

#[test]
fn a_copy_made_inside_a_transaction_is_the_state_before_it() {
    let dir = sample_dir();
    let _store = open(dir.path());
    let before = stored(dir.path());
    let size = |dir: &Path| fs::metadata(dir.join("queens.db-wal")).map_or(0, |file| file.len());
    let size_before = size(dir.path());
    let other = database(dir.path());
    other
        .execute_batch(
            "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE job SET n_verified = 5;
             WITH RECURSIVE i (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 9999)
             INSERT INTO record SELECT 1, 5, i, i + 1, 1, 1, 1, 1, 1, 0 FROM i;",
        )
        .expect("writes");
    assert!(size(dir.path()) > size_before, "part of the transaction is in the log");
    assert_eq!(stored(dir.path()), before);
}
