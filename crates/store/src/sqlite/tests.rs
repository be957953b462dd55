//! Tests that damaged and foreign files are detected.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use queens_ledger::store::{Block, Coverage, JobEntry, Phase, Record, SecondCount, Source, Verdict};
use queens_model::{JobId, LeaseId, Name, Party};
use queens_solver::{BoardSize, Choice, Count, Cross, Kernel, Method, Plan, Span, Symmetry};
use tempfile::TempDir;

use super::directory::{DATABASE, open_file};
use super::*;
use crate::JobAudit;

pub(super) fn size(n: u8) -> BoardSize {
    BoardSize::new(n).expect("a board size")
}

pub(super) fn job(id: u64, n: u8, phase: Phase) -> Write {
    Write::Job(JobEntry {
        phase,
        active: Duration::from_secs(1),
        ..JobEntry::new(JobId(id), size(n), Method::Search, 1_800_000_000_000)
    })
}

pub(super) fn record(job: u64, span: (u32, u64, u64), count: Count) -> Write {
    let name = |text: &str| text.parse().expect("a name");
    let party = Party::of_name(&name("anna"));
    let source = Source { name: name("anna"), build: name("0.1.0"), kernel: name("portable"), party };
    let record = Record {
        span: Span::new(span.0, span.1, span.2).expect("not empty"),
        count,
        duration: Duration::from_millis(70),
        lease: LeaseId(1 << 32),
        source: Arc::new(source),
    };
    Write::Record { job: JobId(job), record }
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn source_of(name: &str) -> Arc<Source> {
    let party = Party::of_name(&self::name(name));
    Arc::new(Source { name: self::name(name), build: self::name("0.1.0"), kernel: self::name("avx2"), party })
}

fn second_count(job: u64, span: (u32, u64, u64), count: Count) -> Write {
    let count = SecondCount {
        span: Span::new(span.0, span.1, span.2).expect("not empty"),
        count,
        duration: Duration::from_millis(80),
        source: source_of("carol"),
        at_ms: 1_800_000_000_001,
    };
    Write::SecondCount { job: JobId(job), count }
}

fn verdict(job: u64, span: (u32, u64, u64), [count, lost]: [Count; 2]) -> Write {
    let verdict = Verdict {
        span: Span::new(span.0, span.1, span.2).expect("not empty"),
        number: 0,
        at_ms: 1_800_000_000_002,
        count,
        source: source_of("carol"),
        lost,
        lost_source: source_of("dora"),
    };
    Write::Verdict { job: JobId(job), verdict }
}

pub(super) fn coverage(job: u64, part: u32, recorded: &str, sum: Count) -> Write {
    let (solutions, work) = (sum.solutions.into(), sum.work.into());
    let recorded = recorded.parse().expect("ranges");
    let coverage = Coverage { recorded, solutions, work };
    let change = coverage.change(coverage.recorded.ranges().map(|range| range.start));
    Write::Coverage { job: JobId(job), part, change }
}

/// The artificial plan of job 3.
pub(super) fn choices() -> Vec<Choice> {
    let choice = Choice { image: Symmetry::IDENTITY, n_subproblems: 100, work: 1 };
    vec![choice; Cross::all(size(6)).len()]
}

/// Creates a directory with an unfinished job 3 (n = 6), to which tests add other jobs.
pub(super) fn sample() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let count = |solutions, work| Count { solutions, work };
    let writes = [
        job(3, 6, Phase::Active),
        Write::Plan { job: JobId(3), choices: choices() },
        record(3, (0, 0, 20), count(5, 50)),
        record(3, (0, 20, 40), count(6, 60)),
        coverage(3, 0, "0..40", count(11, 110)),
        record(3, (2, 30, 40), count(7, 70)),
        record(3, (2, 60, 100), count(8, 80)),
        coverage(3, 2, "30..40 60..100", count(15, 150)),
        job(4, 32, Phase::Planning),
        Write::Blocked {
            block: Block { name: name("bert"), party: Some(Party::of_name(&name("bert"))) },
            blocked: true,
            reason: "it lied".to_owned(),
        },
        second_count(3, (0, 20, 40), count(6, 60)),
        verdict(3, (2, 30, 40), [count(7, 70), count(6, 70)]),
    ];
    SqliteStore::open(dir.path()).expect("opens").commit(&writes).expect("commits");
    dir
}

/// Audits such a directory.
pub(super) fn audit_sample(dir: &Path) -> Result<Vec<JobAudit>, StoreError> {
    let plan = Plan::from_choices(size(6), Method::Search, &choices()).expect("as many as parts");
    audit_against(dir, &|_, _| Some(plan.clone()))
}

/// A page of garbage anywhere causes an error, not a panic and not a wrong number.
#[test]
fn damaged_pages_are_found() {
    const PAGE: usize = 4096;
    let sample = sample();
    let good = fs::read(sample.path().join(DATABASE)).expect("readable");
    assert!(good.len() / PAGE > 5);
    audit_sample(sample.path()).expect("nothing contradicts");
    for page in 0..good.len() / PAGE {
        for garbage in [0x00, 0x05, 0xff] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let mut bad = good.clone();
            bad[page * PAGE..][..PAGE].fill(garbage);
            fs::write(dir.path().join(DATABASE), bad).expect("writes");
            let audited = audit_sample(dir.path());
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

/// Counts Q(8) as job 3 into a store, except for the first `n_left` parts.
pub(super) fn count_eight(dir: &Path, n_left: usize) {
    count_eight_by(Method::Search, dir, n_left);
}

fn count_eight_by(method: Method, dir: &Path, n_left: usize) {
    let never = AtomicBool::new(false);
    let plan = Plan::new(size(8), method, NonZeroUsize::MIN, &never).expect("nobody stops it");
    let choices = plan.parts().iter().map(|planned| *planned.choice()).collect();
    let row =
        JobEntry { phase: Phase::Active, ..JobEntry::new(JobId(3), size(8), method, 1_800_000_000_000) };
    let mut writes = vec![Write::Job(row), Write::Plan { job: JobId(3), choices }];
    for (number, planned) in (0_u32..).zip(&plan.parts()[n_left..]) {
        let n_subproblems = planned.choice().n_subproblems;
        let count = planned.subproblems().count(0..n_subproblems, Kernel::best(), &never);
        let count = count.expect("nobody stops it");
        let number = number + u32::try_from(n_left).expect("small");
        writes.push(record(3, (number, 0, n_subproblems), count));
        writes.push(coverage(3, number, &format!("0..{n_subproblems}"), count));
    }
    SqliteStore::open(dir).expect("opens").commit(&writes).expect("commits");
}

/// Returns the audit of such a store.
fn audited_eight(method: Method, n_left: usize) -> JobAudit {
    let dir = tempfile::tempdir().expect("a temporary directory");
    count_eight_by(method, dir.path(), n_left);
    audit(dir.path()).expect("all agrees").remove(0)
}

#[test]
fn an_audit_proves_the_number_of_placements() {
    for method in Method::ALL {
        let whole = audited_eight(method, 0);
        assert_eq!((whole.total, whole.is_complete()), (92, true));
        assert!(method == Method::Halves || whole.n_recorded == u128::from(whole.n_records));
        let part = audited_eight(method, 1);
        assert_eq!((part.n_records, part.is_complete()), (whole.n_records - 1, false));
        assert_eq!(part.n_subproblems, whole.n_subproblems);
    }
}

/// Returns the name and content of each file below a directory, except SQLite's index of the log, which is no data.
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
    /// Expects that `path`, below a directory that `prepare` fills, is refused for the reason `expected`.
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
    let newer = "by another version: it has schema version 2, this program knows those up to 1";
    check("", run("PRAGMA user_version = 2"), newer);
    check("", run("PRAGMA user_version = 0"), "is damaged: it has schema version 0");
    check("", |dir| fs::create_dir(dir.join("lock")).expect("made"), "lock");
    check("queens.db", |_| (), "queens.db': Not a directory");
    check("queens.db/below", |_| (), "queens.db/below': Not a directory");
    check(
        "",
        |dir| {
            fs::rename(dir.join(DATABASE), dir.join("x"))
                .and_then(|()| fs::create_dir(dir.join(DATABASE)))
                .expect("renames");
        },
        "'queens.db': it is a directory",
    );

    // A newer program changed the schema and died: the file's header has the old version.
    let only_in_the_log = |dir: &Path| {
        let connection = Connection::open(dir.join(DATABASE)).expect("opens");
        connection
            .set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .expect("sets");
        connection.execute_batch("PRAGMA user_version = 2").expect("writes");
        drop(connection);
        assert!(dir.join("queens.db-wal").exists());
        fs::write(dir.join("lock"), "").expect("writes");
    };
    check("", only_in_the_log, newer);
}

/// Migrates to tables that a next release might have. Keeps the files that a power failure during it would leave.
fn to_the_next_release(connection: &Connection) -> Result<(), Fault> {
    connection.execute_batch(
        "ALTER TABLE job ADD COLUMN note TEXT NOT NULL DEFAULT '';
         CREATE TABLE note (text);
         WITH RECURSIVE i (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < 100)
         INSERT INTO note SELECT hex(randomblob(2000)) FROM i",
    )?;
    let dir = Path::new(connection.path().expect("it is in a file")).parent().expect("it is in a directory");
    for file in [DATABASE, "queens.db-wal"] {
        fs::copy(dir.join(file), dir.join("crashed").join(file)).expect("copies");
    }
    Ok(())
}

#[test]
fn a_migration_to_the_next_release_is_carried_out_or_nothing_of_it() {
    let dir = sample();
    let sound = audit_sample(dir.path()).expect("nothing contradicts");
    let crashed = dir.path().join("crashed");
    fs::create_dir(&crashed).expect("makes");
    let mut connection = open_file(&dir.path().join(DATABASE)).expect("opens");
    connection.pragma_update(None, "journal_mode", "WAL").expect("sets");
    // Pages of the migration go into the log before its commit.
    connection.pragma_update(None, "cache_size", 10).expect("sets");
    schema::migrate(&mut connection, &[to_the_next_release]).expect("migrates");
    let n_notes = connection.query_row("SELECT count(*) FROM note", [], |row| row.get(0));
    assert_eq!((schema::version(&connection).expect("readable"), n_notes), (schema::VERSION + 1, Ok(100)));
    drop(connection);

    let log = fs::metadata(crashed.join("queens.db-wal")).expect("is there");
    assert!(log.len() > 100_000, "{} bytes of the migration were written", log.len());
    assert_eq!(audit_sample(&crashed).expect("nothing contradicts"), sound);

    let before = files(dir.path());
    let message = SqliteStore::open(dir.path()).expect_err("the next release's").to_string();
    let expected = "by another version: it has schema version 2, this program knows those up to 1";
    assert!(message.contains(expected), "{message}");
    assert!(files(dir.path()) == before);
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
    // Left by a process that died while it created the database.
    fs::write(inner.join("queens.db.new"), "half").expect("writes");
    for path in [inner.clone(), dir.path().join("c/d")] {
        drop(SqliteStore::open(&path).expect("opens"));
        let mut names: Vec<_> = files(&path).into_iter().map(|(path, _)| path).collect();
        names.retain(|name| !name.ends_with("notes.txt"));
        assert_eq!(names, [path.join("lock"), path.join(DATABASE)]);
    }
    assert_eq!(fs::read(inner.join("notes.txt")).expect("readable"), b"mine");
}
