//! What somebody or something else did to the files is found out.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use queens_proto::{JobId, LeaseId, Priority};
use queens_solver::{
    BoardSize, Choice, Count, Cross, DECOMPOSITION_VERSION, FreeRows, Kernel, Plan, Prefixes, Span, Symmetry,
};
use tempfile::TempDir;

use super::directory::DATABASE;
use super::*;
use crate::store::{Coverage, JobRow, Phase, Record, Source};

fn size(n: u8) -> BoardSize {
    BoardSize::new(n).expect("a board size")
}

fn job(id: u64, n: u8, phase: Phase) -> Write {
    Write::Job(JobRow {
        id: JobId(id),
        n: size(n),
        decomposition: DECOMPOSITION_VERSION,
        phase,
        priority: Priority::default(),
        paused: false,
        created_ms: 1_800_000_000_000,
        active: Duration::from_secs(1),
        n_verified: 0,
        n_disputed: 0,
    })
}

fn record(job: u64, span: (u32, u64, u64), count: Count) -> Write {
    let name = |text: &str| text.parse().expect("a name");
    let source = Source { worker: name("anna"), build: name("0.1.0"), kernel: name("portable") };
    let record = Record {
        span: Span::new(span.0, span.1, span.2).expect("not empty"),
        count,
        duration: Duration::from_millis(70),
        lease: LeaseId(1 << 32),
        source: Arc::new(source),
    };
    Write::Record { job: JobId(job), record }
}

fn coverage(job: u64, cross: u32, recorded: &str, sum: Count) -> Write {
    let (solutions, nodes) = (sum.solutions.into(), sum.nodes.into());
    let recorded = recorded.parse().expect("ranges");
    Write::Coverage { job: JobId(job), cross, coverage: Coverage { recorded, solutions, nodes } }
}

/// A directory with an unfinished job 3 (n = 6), on top of which other jobs can be made.
fn sample() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let choice = Choice { image: Symmetry::IDENTITY, n_subproblems: 100, work: 1 };
    let choices = vec![choice; Cross::all(size(6)).len()];
    let count = |solutions, nodes| Count { solutions, nodes };
    let writes = [
        job(3, 6, Phase::Active),
        Write::Plan { job: JobId(3), choices },
        record(3, (0, 0, 20), count(5, 50)),
        record(3, (0, 20, 40), count(6, 60)),
        coverage(3, 0, "0..40", count(11, 110)),
        record(3, (2, 30, 40), count(7, 70)),
        record(3, (2, 60, 100), count(8, 80)),
        coverage(3, 2, "30..40 60..100", count(15, 150)),
        job(4, 32, Phase::Planning),
    ];
    SqliteStore::open(dir.path()).expect("opens").commit(&writes).expect("commits");
    dir
}

/// What the directory says after `sql` was done to it, to a coordinator and to an audit.
fn tampered(sql: &str) -> (String, String) {
    let dir = sample();
    let connection = Connection::open(dir.path().join(DATABASE)).expect("opens");
    let unchecked =
        "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON;";
    connection.execute_batch(&format!("{unchecked} {sql}")).expect("writes");
    drop(connection);
    let audited = audit(dir.path()).map_or_else(reason, |_| "fine".to_owned());
    let mut store = SqliteStore::open(dir.path()).expect("opens");
    (store.load().map_or_else(reason, |_| "fine".to_owned()), audited)
}

fn reason(error: StoreError) -> String {
    match error {
        StoreError::Damaged { reason, .. } | StoreError::Version { reason, .. } => reason,
        error => format!("{error:?}"),
    }
}

#[test]
fn loading_finds_what_cannot_be() {
    #[track_caller]
    fn check(sql: &str, expected: &str) {
        assert_eq!(tampered(sql).0, expected);
    }
    check("DELETE FROM epoch", "there is no epoch");
    check("UPDATE epoch SET next = -1", "epoch -1 is out of range");
    check("UPDATE epoch SET first = -1", "epoch -1 is out of range");
    check("DROP TABLE blocked_worker", "no such table: blocked_worker");
    check(
        "UPDATE job SET priority = 1001 WHERE id = 3",
        "job 3: '1001' is no priority: expected a whole number from -1000 to 1000",
    );
    check("DROP TABLE coverage", "no such table: coverage");
    check("UPDATE job SET id = -3 WHERE id = 3", "a job: id -3 is out of range");
    check("UPDATE job SET n = 33 WHERE id = 3", "job 3: n 33 is no board size");
    check("UPDATE job SET phase = 'Active' WHERE id = 3", "job 3: there is no phase 'Active'");
    check("UPDATE job SET n_verified = -1 WHERE id = 3", "job 3: n_verified -1 is out of range");
    check(
        "UPDATE job SET decomposition = 4294967296 WHERE id = 3",
        "job 3: decomposition 4294967296 is out of range",
    );
    check("UPDATE job SET n_crosses = NULL WHERE id = 3", "job 3 has no plan, but 6 are there");
    check("UPDATE job SET n_crosses = 7 WHERE id = 3", "job 3 has 7 crosses, but 6 are there");
    check("DELETE FROM plan_cross WHERE number = 4", "plan of job 3, cross 4 is missing, 5 comes next");
    check("UPDATE plan_cross SET image = 8 WHERE number = 4", "plan of job 3, cross 4: there is no image 8");
    check(
        "UPDATE plan_cross SET n_subproblems = -1",
        "plan of job 3, cross 0: n_subproblems -1 is out of range",
    );
    check(
        "UPDATE plan_cross SET work = '1e9'",
        "plan of job 3, cross 0: work '1e9': invalid digit found in string",
    );
    check(
        "UPDATE coverage SET cross = 6 WHERE cross = 2",
        "coverage of job 3, cross 6: the plan has 6 crosses",
    );
    check(
        "UPDATE coverage SET recorded = '5..3'",
        "coverage of job 3, cross 0: recorded '5..3': not a list of ranges in ascending order",
    );
    check(
        "UPDATE coverage SET recorded = '0..101'",
        "coverage of job 3, cross 0: recorded '0..101' goes past its 100 subproblems",
    );
    check(
        "UPDATE coverage SET solutions = '-1'",
        "coverage of job 3, cross 0: solutions '-1': invalid digit found in string",
    );
    check(
        "UPDATE coverage SET nodes = ''",
        "coverage of job 3, cross 0: nodes '': cannot parse integer from empty string",
    );
}

#[test]
fn auditing_finds_what_does_not_add_up() {
    #[track_caller]
    fn check(sql: &str, expected: &str) {
        assert_eq!(tampered(sql), ("fine".to_owned(), expected.to_owned()));
    }
    check("SELECT 1", "fine");
    check(
        "UPDATE record SET until = 21 WHERE first = 0",
        "record of job 3, cross 0: 20..40 overlaps the record before it, which ends at 21",
    );
    check(
        "UPDATE record SET until = 101 WHERE first = 60",
        "record of job 3, cross 2: 60..101 goes past its 100 subproblems",
    );
    check(
        "UPDATE record SET first = 19 WHERE first = 20",
        "record of job 3, cross 0: 19..40 overlaps the record before it, which ends at 20",
    );
    check("UPDATE record SET until = 20 WHERE first = 20", "CHECK constraint failed in record");
    check(
        "UPDATE record SET first = 21 WHERE first = 20",
        "job 3, cross 0: subproblems without a record: '20..21', records not in the coverage: ''",
    );
    check(
        "DELETE FROM record WHERE cross = 2",
        "job 3, cross 2: subproblems without a record: '30..40 60..100', records not in the coverage: ''",
    );
    check(
        "DELETE FROM coverage WHERE cross = 2",
        "job 3, cross 2: subproblems without a record: '', records not in the coverage: '30..40 60..100'",
    );
    check(
        "UPDATE record SET solutions = solutions + 1 WHERE first = 60",
        "job 3, cross 2: its records have 16 solutions, its coverage has 15",
    );
    check(
        "UPDATE record SET nodes = nodes - 1 WHERE first = 60",
        "job 3, cross 2: its records have 149 nodes, its coverage has 150",
    );
    check(
        "UPDATE coverage SET solutions = '12' WHERE cross = 0",
        "job 3, cross 0: its records have 11 solutions, its coverage has 12",
    );
    check(
        "INSERT INTO coverage VALUES (3, 5, '', '1', '0')",
        "job 3, cross 5: its records have 0 solutions, its coverage has 1",
    );
    check(
        "UPDATE record SET cross = 6 WHERE first = 60",
        "a row of table record belongs to a missing row of table plan_cross",
    );
    check(
        "UPDATE record SET job = 4 WHERE first = 60",
        "a row of table record belongs to a missing row of table plan_cross",
    );
    check(
        "UPDATE record SET source = 9 WHERE first = 60",
        "a row of table record belongs to a missing row of table source",
    );
    check(
        "UPDATE job SET phase = 'done' WHERE id = 3",
        "job 3 is done, but of 600 subproblems 90 are recorded",
    );
    check("UPDATE job SET phase = 'done' WHERE id = 4", "job 4 is done, but of 0 subproblems 0 are recorded");
    check("UPDATE job SET n = 8 WHERE id = 3", "job 3: a plan for n = 8 has 30 crosses, not 6");
    check(
        "UPDATE job SET decomposition = 999 WHERE id = 3",
        &format!("job 3 is cut by decomposition 999, this program knows {DECOMPOSITION_VERSION}"),
    );
}

/// A page of garbage anywhere is an error, not a panic and not a wrong number.
#[test]
fn damaged_pages_are_found() {
    const PAGE: usize = 4096;
    let good = fs::read(sample().path().join(DATABASE)).expect("readable");
    assert!(good.len() / PAGE > 5);
    for page in 0..good.len() / PAGE {
        for garbage in [0x00, 0x05, 0xff] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let mut bad = good.clone();
            bad[page * PAGE..][..PAGE].fill(garbage);
            fs::write(dir.path().join(DATABASE), bad).expect("writes");
            let audited = audit(dir.path());
            assert!(
                matches!(audited, Err(StoreError::Damaged { .. })),
                "page {page}, {garbage}: {audited:?}"
            );
            let _ = SqliteStore::open(dir.path()).and_then(|mut store| store.load());
        }
    }
}

#[test]
fn audits_need_a_store() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for path in [dir.path().to_owned(), dir.path().join("missing")] {
        assert!(matches!(audit(&path), Err(StoreError::Unusable { .. })));
    }
    assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 0);
}

/// Counts Q(8) into a store, but for the last `n_left` crosses, and audits it.
fn audited_eight(n_left: usize) -> JobAudit {
    let never = AtomicBool::new(false);
    let plan = Plan::new(size(8), NonZeroUsize::MIN, &never).expect("nobody stops it");
    let choices = plan.crosses().iter().map(|planned| *planned.choice()).collect();
    let mut writes = vec![job(1, 8, Phase::Active), Write::Plan { job: JobId(1), choices }];
    for (number, planned) in (0_u32..).zip(&plan.crosses()[n_left..]) {
        let free = FreeRows::new(size(8), &planned.queens(size(8)));
        let n_subproblems = planned.choice().n_subproblems;
        let mut prefixes = Prefixes::new(&free, plan.depth());
        let count = Kernel::best().count(&mut prefixes, u64::MAX, &never).expect("nobody stops it");
        let number = number + u32::try_from(n_left).expect("small");
        writes.push(record(1, (number, 0, n_subproblems), count));
        writes.push(coverage(1, number, &format!("0..{n_subproblems}"), count));
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    SqliteStore::open(dir.path()).expect("opens").commit(&writes).expect("commits");
    audit(dir.path()).expect("all agrees").remove(0)
}

#[test]
fn an_audit_proves_the_number_of_placements() {
    let whole = audited_eight(0);
    assert_eq!((whole.total, whole.is_complete()), (92, true));
    assert_eq!(whole.n_recorded, u128::from(whole.n_records));
    let part = audited_eight(1);
    assert_eq!((part.n_records, part.is_complete()), (whole.n_records - 1, false));
    assert_eq!(part.n_subproblems, whole.n_subproblems);
}

/// The name and content of each file below a directory, but for SQLite's index of the log, which is no data.
fn files(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if !path.ends_with("queens.db-shm") {
            files.push((path.clone(), fs::read(&path).expect("readable")));
        }
    }
    files.sort();
    files
}

#[test]
fn what_is_not_for_us_is_left_alone() {
    /// `path`, below a directory that `prepare` fills, is not opened, for the reason `expected`.
    #[track_caller]
    fn check(path: &str, prepare: impl Fn(&Path), expected: &str) {
        let dir = sample();
        fs::remove_file(dir.path().join("lock")).expect("removes");
        prepare(dir.path());
        let before = files(dir.path());
        for open in
            [SqliteStore::open(&dir.path().join(path)).map(drop), audit(&dir.path().join(path)).map(drop)]
        {
            let message = open.expect_err("nothing to open").to_string();
            assert!(message.contains(expected), "{expected} expected, not {message}");
        }
        assert!(files(dir.path()) == before);
    }
    let write =
        |bytes: &'static [u8]| move |dir: &Path| fs::write(dir.join(DATABASE), bytes).expect("writes");
    let run = |sql: &'static str| {
        move |dir: &Path| {
            Connection::open(dir.join(DATABASE)).expect("opens").execute_batch(sql).expect("runs");
        }
    };
    check("", write(b""), "is damaged: 'queens.db' is no SQLite database");
    check("", write(b"SQLite format 3\0 cut short"), "is damaged: 'queens.db' is no SQLite database");
    check("", write(&[b'x'; 8192]), "is damaged: 'queens.db' is no SQLite database");
    let theirs = "'queens.db' belongs to another program (application id 0x00000007, not 0x4e516e73)";
    check("", run("PRAGMA application_id = 7"), theirs);
    let newer = "by another version: 'queens.db' has schema version 3, this program knows those up to 2";
    check("", run("PRAGMA user_version = 3"), newer);
    check("", run("PRAGMA user_version = 0"), "is damaged: 'queens.db' has schema version 0");
    check("queens.db", |_| (), "queens.db': Not a directory");
    check("queens.db/below", |_| (), "queens.db/below': Not a directory");
    check(
        "",
        |dir| {
            fs::rename(dir.join(DATABASE), dir.join("x"))
                .and_then(|()| fs::create_dir(dir.join(DATABASE)))
                .expect("renames");
        },
        "'queens.db': Is a directory",
    );

    // A newer program changed the schema and died: the file's header doesn't know yet.
    let only_in_the_log = |dir: &Path| {
        let connection = Connection::open(dir.join(DATABASE)).expect("opens");
        connection
            .set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .expect("sets");
        connection.execute_batch("PRAGMA user_version = 3").expect("writes");
        drop(connection);
        assert!(dir.join("queens.db-wal").exists());
        fs::write(dir.join("lock"), "").expect("writes");
    };
    check("", only_in_the_log, newer);
}

#[test]
fn a_log_without_its_database_is_not_lost() {
    let dir = sample();
    fs::rename(dir.path().join(DATABASE), dir.path().join("queens.db-wal")).expect("renames");
    let before = files(dir.path());
    let message = SqliteStore::open(dir.path()).expect_err("its database is missing").to_string();
    assert!(message.contains("there is a 'queens.db-wal' but no 'queens.db'"), "{message}");
    assert!(files(dir.path()) == before);
}

#[test]
fn other_files_are_left_alone_and_parents_are_made() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let inner = dir.path().join("a/b");
    fs::create_dir_all(inner.join("folder")).expect("makes");
    fs::write(inner.join("notes.txt"), "mine").expect("writes");
    // Left by a process that died while it made the database.
    fs::write(inner.join("queens.db.new"), "half").expect("writes");
    for path in [inner.clone(), dir.path().join("c/d")] {
        drop(SqliteStore::open(&path).expect("opens"));
        let mut names: Vec<_> = files(&path).into_iter().map(|(path, _)| path).collect();
        names.retain(|name| !name.ends_with("notes.txt"));
        assert_eq!(names, [path.join("lock"), path.join(DATABASE)]);
    }
    assert_eq!(fs::read(inner.join("notes.txt")).expect("readable"), b"mine");
}
