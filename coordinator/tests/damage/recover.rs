//! Tests that the valid rows of a damaged directory are recovered, and nothing else.

use std::fs;
use std::path::Path;
use std::process::Command;

use queens_ledger::store::{Block, Phase, Store, StoreError, Stored, Write};
use queens_model::{JobId, Name, Party};
use queens_solver::{Method, published};
use queens_store::sqlite::{RecoverError, Recovered, RecoveredJob, SqliteStore, audit, recover};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::counting::{Board, Files, directory, files};
use crate::fuzz::Base;
use crate::kinds::closed;

const DATABASE: &str = "queens.db";
const PAGE: usize = 4096;

fn new_dir() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn load(dir: &Path) -> Stored {
    SqliteStore::open(dir).expect("opens").load().expect("loads")
}

/// Returns all files of a directory, to check that they do not change.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut contents: Vec<_> =
        entries.map(|path| (path.display().to_string(), fs::read(&path).expect("readable"))).collect();
    contents.sort();
    contents
}

/// Recovers a directory from files. Checks that these do not change, and that the result passes the audit.
#[track_caller]
fn recovered(damaged: &Files) -> (Recovered, TempDir) {
    let (dir, new) = (directory(damaged), new_dir());
    let before = contents(dir.path());
    let recovered = recover(dir.path(), new.path()).expect("something proves itself");
    assert_eq!(contents(dir.path()), before, "the damaged directory is touched");
    let audits = audit(new.path()).expect("nothing contradicts");
    for (audit, RecoveredJob { job, n_records, n_recorded, .. }) in audits.iter().zip(&recovered.jobs) {
        assert_eq!((&audit.job, audit.n_records, audit.n_recorded), (job, *n_records, *n_recorded));
    }
    (recovered, new)
}

/// Continues a recovered directory to the end.
#[track_caller]
fn finish(board: &Board, dir: &Path) {
    let done = board.count_on(dir, 1.0, &mut |_| ()).expect("nothing is wrong");
    let solutions = published(board.n).map(|published| published.solutions);
    assert_eq!(Some(done.progress.solutions), solutions);
    audit(dir).expect("nothing contradicts");
}

#[test]
fn all_of_a_sound_directory_is_kept() {
    let bases = Method::ALL.map(|method| Base::new(12, method));
    for (base, (share, sound)) in
        bases.iter().flat_map(|base| base.stages.iter().rev().step_by(3).map(move |it| (base, it)))
    {
        let original = directory(sound);
        let before = load(original.path());
        let (recovered, new) = recovered(sound);
        let after = load(new.path());
        assert_eq!(after.jobs, before.jobs, "at {share}");
        assert_eq!(after.blocked, before.blocked);
        assert!(!recovered.jobs[0].was_lost);
        finish(&base.board, new.path());
    }
}

/// What SQLite can't read is named, and counted again. The pages that lead to others cost those, too.
#[test]
fn a_damaged_page_costs_what_only_it_leads_to() {
    let base = Base::new(12, Method::Search);
    let (_, done) = base.stages.last().expect("stages");
    let done = closed(done);
    let original = load(directory(&done).path());
    let n_pages = done[DATABASE].len() / PAGE;
    let all: u64 = recovered(&done).0.jobs[0].n_records;
    let (mut n_lost, mut n_lost_jobs, mut kept) = (0, 0, 0);
    for page in 0..n_pages {
        let mut damaged = done.clone();
        let bytes = damaged.get_mut(DATABASE).expect("a database");
        bytes[page * PAGE..][..PAGE].fill(0xff);
        let (dir, new) = (directory(&damaged), new_dir());
        if let Err(error) = recover(dir.path(), new.path()) {
            assert!(matches!(error, RecoverError::Nothing(_)), "page {page}: {error}");
            n_lost += 1;
            continue;
        }
        let (recovered, new) = recovered(&damaged);
        let [job] = &recovered.jobs[..] else { panic!("page {page}: {recovered:?}") };
        assert_eq!((job.job.id, job.job.n), (original.jobs[0].entry.id, base.board.n));
        if job.was_lost {
            n_lost_jobs += 1;
        } else {
            let phase = if job.n_records == all { Phase::Done } else { Phase::Active };
            assert_eq!((job.job.phase, job.job.created_ms), (phase, original.jobs[0].entry.created_ms));
        }
        assert_eq!(
            job.n_records < all,
            recovered.missing.contains_key("record"),
            "page {page}: {recovered:?}"
        );
        assert_eq!(job.was_lost, recovered.missing.contains_key("job"), "page {page}: {recovered:?}");
        kept += job.n_records;
        finish(&base.board, new.path());
    }
    assert_eq!((n_lost, n_lost_jobs), (4, 1), "four pages describe the tables, and the job's row is on one");
    // On average, a page of records costs its share, and the root of that table all.
    let n_pages = n_pages as u64;
    assert!(kept >= (n_pages - 6) * all, "{kept} of {}", n_pages * all);
}

/// If a job's row is lost, its other rows determine the method.
#[test]
fn a_lost_job_is_known_by_its_parts() {
    for method in Method::ALL {
        let base = Base::new(12, method);
        let (_, done) = base.stages.last().expect("stages");
        let dir = directory(&closed(done));
        let database = Connection::open(dir.path().join(DATABASE)).expect("opens");
        database.execute_batch("UPDATE job SET digest = digest + 1").expect("SQL");
        drop(database);
        let (recovered, new) = recovered(&files(dir.path()));
        let [RecoveredJob { job, was_lost: true, .. }] = &recovered.jobs[..] else { panic!("{recovered:?}") };
        assert_eq!((job.n, job.method, job.decomposition), (base.board.n, method, method.decomposition()));
        finish(&base.board, new.path());
    }
}

#[test]
fn what_is_only_in_the_log_is_kept() {
    let base = Base::new(12, Method::Search);
    let (_, live) = &base.stages[base.stages.len() - 2];
    let before = load(directory(live).path());
    assert!(live["queens.db-wal"].len() > PAGE);
    let mut damaged = live.clone();
    // The first page holds the roots of all tables: no pointer leads to their rows any more.
    damaged.get_mut(DATABASE).expect("a database")[..PAGE].fill(0);
    let (_, new) = recovered(&damaged);
    assert_eq!(load(new.path()).jobs[0].coverage, before.jobs[0].coverage);
    finish(&base.board, new.path());
}

#[test]
fn decisions_are_kept_and_what_was_changed_is_not() {
    let base = Base::new(12, Method::Search);
    let (_, done) = base.stages.last().expect("stages");
    let dir = directory(&closed(done));
    let mut store = SqliteStore::open(dir.path()).expect("opens");
    let row = store.load().expect("loads").jobs.remove(0).entry;
    let other = |id, phase| {
        Write::Job(queens_ledger::store::JobEntry { id: JobId(id), phase, paused: true, ..row.clone() })
    };
    let blocked = |name, blocked| Write::Blocked {
        block: Block { name: Name::of_any(name), party: Some(Party::of_name(&Name::of_any(name))) },
        blocked,
        reason: "it lied".to_owned(),
    };
    let writes =
        [other(2, Phase::Planning), other(3, Phase::Cancelled), blocked("bert", true), blocked("anna", true)];
    store.commit(&writes).expect("commits");
    store.commit(&[blocked("anna", false)]).expect("commits");
    drop(store);
    let database = Connection::open(dir.path().join(DATABASE)).expect("opens");
    let changes = "PRAGMA foreign_keys = OFF;
                   UPDATE record SET solutions = solutions + 1 WHERE part = 7;
                   UPDATE record SET until = 2 WHERE part = 8;
                   DELETE FROM record WHERE part = 9;
                   UPDATE plan_part SET n_subproblems = 0 WHERE number = 10;
                   DELETE FROM coverage WHERE part = 11;
                   DELETE FROM source";
    database.execute_batch(changes).expect("SQL");
    drop(database);
    assert!(matches!(audit(dir.path()), Err(StoreError::Damaged { .. })));
    let (recovered, new) = recovered(&files(dir.path()));
    let found: Vec<_> = recovered.jobs.iter().map(|job| (job.job.phase, job.job.paused)).collect();
    assert_eq!(found, [(Phase::Active, false), (Phase::Planning, true), (Phase::Cancelled, true)]);
    let job = &recovered.jobs[0];
    assert_eq!(job.n_subproblems, Some(job.n_recorded + 3), "three records are not what was written");
    assert_eq!(
        recovered.blocked.iter().map(|(block, reason)| (&block.name, reason)).collect::<Vec<_>>(),
        [(&Name::of_any("bert"), &"it lied".to_owned())]
    );
    let stored = load(new.path());
    assert_eq!(stored.blocked, recovered.blocked);
    assert_eq!(stored.jobs[1].entry.phase, Phase::Planning);
}

/// Even with forged digests, a wrong plan must not make records valid that contradict the right one.
#[test]
fn the_plan_is_that_of_the_board_whatever_is_stored() {
    let base = Base::new(12, Method::Search);
    let (_, done) = base.stages.last().expect("stages");
    let dir = directory(&closed(done));
    Connection::open(dir.path().join(DATABASE))
        .expect("opens")
        .execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM plan_part")
        .expect("SQL");
    let (recovered, new) = recovered(&files(dir.path()));
    assert_eq!(recovered.jobs[0].n_subproblems, Some(recovered.jobs[0].n_recorded));
    finish(&base.board, new.path());
}

#[test]
fn recovering_overwrites_nothing_and_needs_something() {
    #[track_caller]
    fn check(damaged: &Path, new: &Path, expected: &str) {
        let error = recover(damaged, new).expect_err("is refused").to_string();
        assert!(error.contains(expected), "{expected} expected, not {error}");
    }
    let base = Base::new(12, Method::Search);
    let sound = directory(&base.stages[0].1);
    let new = new_dir();
    fs::write(new.path().join("precious"), "mine").expect("writes");
    check(sound.path(), new.path(), "is not empty");
    assert_eq!(contents(new.path()).len(), 1);
    check(&sound.path().join("missing"), &new_dir().path().join("new"), "No such file");
    check(new.path(), &new_dir().path().join("new"), "No such file");
    let inside = contents(sound.path());
    for name in ["new", "new/new", "new/../new"] {
        check(sound.path(), &sound.path().join(name), "is in the damaged directory");
    }
    assert_eq!(contents(sound.path()), inside);
    let garbage = new_dir();
    for bytes in [&b""[..], b"garbage", &[0xff; 3 * PAGE]] {
        fs::write(garbage.path().join(DATABASE), bytes).expect("writes");
        let new = new_dir();
        check(garbage.path(), new.path(), "only a backup helps");
        assert_eq!(contents(new.path()), []);
    }
    // The directory is in use by a coordinator.
    let store = SqliteStore::open(sound.path()).expect("opens");
    let new = new_dir();
    assert!(matches!(recover(sound.path(), new.path()), Err(RecoverError::Store(StoreError::InUse(_)))));
    assert_eq!(contents(new.path()), []);
    drop(store);
    // A file is a valid source, and a directory that does not exist is a valid destination.
    let new = new.path().join("a/b");
    recover(&sound.path().join(DATABASE), &new).expect("something proves itself");
    load(&new);
}

/// The command prints the recovered jobs and the next step.
#[test]
fn the_command_tells_what_it_kept() {
    let base = Base::new(12, Method::Search);
    let (_, done) = base.stages.last().expect("stages");
    let dir = directory(&closed(done));
    let database = Connection::open(dir.path().join(DATABASE)).expect("opens");
    database.execute_batch("UPDATE record SET work = work + 1 WHERE part IN (3, 4)").expect("SQL");
    drop(database);
    let new = new_dir();
    let mut command = Command::new(env!("CARGO_BIN_EXE_queens-coordinator"));
    let output = command.arg("recover").arg(dir.path()).arg(new.path()).output().expect("runs");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("job 1  n = 12  active"), "{said}");
    assert!(said.contains(": 2 have to be counted again or for the first time"), "{said}");
    assert!(
        said.contains(&format!("go on with: queens-coordinator --data-dir '{}'", new.path().display())),
        "{said}"
    );
    finish(&base.board, new.path());
}
