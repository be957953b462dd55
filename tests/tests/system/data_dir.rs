//! `queens count --data-dir`: the stored state, and refused directories.
//!
//! With the environment variable `QUEENS_FAULTS` set to `full`, a disk is full for more than a minute.

mod coordinators;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use queens_ledger::store::StoreError;
use queens_store::sqlite::audit;
use queens_tests::data_dir::{PORTABLE, contents, count_command, counted};
use queens_tests::disk::SmallDisk;
use queens_tests::prelude::*;
use rusqlite::Connection;

/// Checks that `dir` is refused with one line that contains all of `expected`.
#[track_caller]
fn check_refusal(n: u8, dir: &Path, expected: &[&str]) {
    let outcome = run(count_command(n, dir, &[]));
    let complaint = outcome.complaint(1);
    let name = format!("'{}'", dir.display());
    for part in [&["error: ", &name], expected].concat() {
        assert!(complaint.contains(part), "'{part}' is not in: {complaint}");
    }
}

/// Checks that `dir` is refused and its contents stay unchanged, except for a lock and files with which SQLite detects
/// damage.
#[track_caller]
fn check_untouched(n: u8, dir: &Path, expected: &[&str]) {
    let before = contents(dir);
    check_refusal(n, dir, expected);
    let after = contents(dir);
    let changed = before.keys().find(|file| before.get(*file) != after.get(*file));
    assert_eq!(changed, None, "a refused directory is changed");
}

#[test]
fn a_directory_of_another_board_is_refused() {
    check_untouched(11, counted(10).path(), &["n = 10", "not 11", "another directory"]);
}

#[test]
fn a_read_only_file_system_is_refused() {
    let empty = TempDir::new();
    let Some(disk) = SmallDisk::over(empty.path(), 8 << 10) else {
        return skipped_without_root("a read-only file system, as it takes root to mount one");
    };
    for (file, bytes) in contents(counted(10).path()) {
        let name = file.file_name().expect("an entry of a directory has a name");
        fs::write(empty.path().join(name), bytes).expect("written");
    }
    disk.make_read_only();
    check_untouched(10, empty.path(), &["Read-only file system"]);
    check_refusal(10, &empty.path().join("below"), &["Read-only file system"]);
}

#[test]
fn a_directory_in_use_is_refused() {
    let dir = TempDir::new();
    let mut first = running(dir.path());
    check_refusal(20, dir.path(), &["in use by another process"]);
    assert!(matches!(audit(dir.path()), Err(StoreError::InUse(_))));
    let n_records = records(dir.path()).expect("readable").len();
    wait_until("more records", || {
        assert!(first.is_running(), "the first process is not disturbed");
        records(dir.path()).ok().filter(|records| records.len() > n_records)
    });
    // The process holds the directory, which is free as soon as the process has ended in any way.
    first.kill();
    audit(dir.path()).expect("not in use");
}

/// Starts a count that has recorded something.
fn running(dir: &Path) -> Running {
    running_of(20, dir)
}

/// Returns a directory with an unfinished count and a damaged page that is read only after something is recorded.
fn damaged_later(n: u8) -> TempDir {
    let dir = TempDir::new();
    running_of(n, dir.path()).kill();
    // Checkpoints the write-ahead log into the database.
    tamper(dir.path(), "PRAGMA wal_checkpoint(TRUNCATE)");
    let database = Connection::open(dir.join(DATABASE)).expect("there is a database");
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_source_1'";
    let page: usize = database
        .query_row(sql, [], |row| row.get(0))
        .map(|page: i32| usize::try_from(page).expect("a page"))
        .expect("a page");
    drop(database);
    let file = dir.join(DATABASE);
    let mut bytes = fs::read(&file).expect("readable");
    bytes[(page - 1) * 4096..][..4096].fill(0xff);
    fs::write(&file, bytes).expect("written");
    dir
}

fn running_of(n: u8, dir: &Path) -> Running {
    let running = Running::start(&mut count_command(n, dir, &PORTABLE));
    wait_until("the first record", || records(dir).ok().filter(|records| !records.is_empty()));
    running
}

/// Damage is permanent: it is reported at once with the remedy, and the intact records are kept.
#[test]
fn damage_ends_a_count_and_can_be_recovered_from() {
    let dir = damaged_later(18);
    let n_records = records(dir.path()).expect("readable").len();
    check_refusal(
        18,
        dir.path(),
        &["is damaged: record of job 1", "restore a backup", "queens-coordinator recover"],
    );
    let new = TempDir::new();
    let recover = |new: &Path| queens_coordinator(&["recover", utf8(dir.path()), utf8(new)]);
    let before = contents(dir.path());
    let recovered = recover(new.path()).good();
    assert!(recovered.stdout.contains(&format!("n = 18  active  {n_records} records kept")), "{recovered:?}");
    assert_eq!(contents(dir.path()), before, "nothing is written to what is damaged");
    assert!(recover(new.path()).complaint(1).contains("is not empty"));
    assert_eq!(run(count_command(18, new.path(), &[])).answer()["solutions"], Value::from("666090624"));
    assert!(audit(new.path()).expect("valid")[0].is_complete());
}

#[test]
fn damage_ends_a_coordinator() {
    let (parent, dir) = (TempDir::new(), damaged_later(18));
    let command = coordinator_command("127.0.0.1:0", dir.path());
    let mut coordinator = Service::start(command, &parent.join("log"));
    let _worker = fast_worker(&format!("http://{}", coordinator.logged("listening address=")));
    assert_eq!(coordinator.wait().code(), Some(1));
    let log = coordinator.log();
    let last = log.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: ") && last.contains("queens-coordinator recover"), "{log}");
}

/// On a full disk, a signal still ends a count, without the unwritten records.
#[test]
fn a_count_on_a_full_disk_can_be_interrupted() {
    let dir = TempDir::new();
    let Some(disk) = SmallDisk::over(dir.path(), 8 << 10) else {
        return skipped_without_root("a full disk, as it takes root to mount a small one");
    };
    let parent = TempDir::new();
    let log = parent.join("log");
    let mut full = Service::start(count_command(20, dir.path(), &PORTABLE), &log);
    // By then the worker's speed is measured, and it holds a lease of many seconds: a lease takes up to eight times as
    // long as was measured before, and some of the time went into the choice of the method and into the plan.
    let id = full.id();
    let has_counted = |least| processor_time(id) >= Duration::from_secs(least);
    wait_for("a long lease", || has_counted(4));
    wait_until("a record", || records(dir.path()).ok().filter(|records| !records.is_empty()));
    disk.fill();
    let n_records = records(dir.path()).expect("readable").len();
    _ = full.logged("until the store can be ");
    // The worker continues, and repeats reports that nobody accepts.
    let before = processor_time(id).as_secs();
    wait_for("a few reports", || has_counted(before + 3));
    let is_long = is_full("QUEENS_FAULTS");
    if is_long {
        // After a minute without an answer, the worker begins another session, which goes on when there is room.
        _ = full.logged("trying another connection");
        disk.make_room();
        wait_until("more records", || {
            records(dir.path()).ok().filter(|records| records.len() > n_records + 16)
        });
    }
    full.signal("TERM");
    assert_eq!(full.wait().signal(), Some(15), "{}", full.log());
    if !is_long {
        disk.make_room();
    }
    assert!(records(dir.path()).expect("readable").len() >= n_records);
    audit(dir.path()).expect("consistent records");
}

#[test]
fn a_done_directory_answers_at_once_and_counts_nothing() {
    let dir = TempDir::new();
    let first = run(count_command(16, dir.path(), &PORTABLE));
    _ = first.answer();
    let counted = records(dir.path()).expect("readable");
    let second = run(count_command(16, dir.path(), &PORTABLE));
    assert_eq!(records(dir.path()).expect("readable"), counted);
    assert!(second.elapsed * 3 < first.elapsed, "{:?}, then {:?}", first.elapsed, second.elapsed);

    let [first, second] = [first, second].map(|outcome| outcome.answer());
    // The result is the same, although the second run counted nothing.
    for field in
        ["solutions", "fundamental", "work", "kernel", "published", "agrees", "begun_at", "counted_by"]
    {
        assert_eq!(first[field], second[field], "{field}");
    }
    assert_eq!((&first["counted_now"], &first["threads"]), (&first["work"], &Value::from(1)));
    assert_eq!((&second["counted_now"], &second["threads"]), (&Value::from("0"), &Value::from(0)));
    let [seconds, seconds_again] =
        [&first, &second].map(|answer| answer["seconds"].as_f64().expect("a number"));
    assert_eq!(first["solutions"], Value::from("14772512"));
    // Stored in whole milliseconds.
    assert!((seconds - seconds_again).abs() <= 0.001, "{seconds} s, then {seconds_again} s");

    let audits = audit(dir.path()).expect("valid");
    let [audit] = &audits[..] else { panic!("one job: {audits:?}") };
    assert!(audit.is_complete());
    assert_eq!(Value::from(audit.total.to_string()), first["solutions"]);
    assert_eq!(Value::from(audit.work.to_string()), first["work"]);
}

#[test]
fn a_done_directory_is_told_by_its_records_not_by_todays_flags() {
    let dir = TempDir::new();
    _ = run(count_command(12, dir.path(), &PORTABLE)).answer();
    let outcome = run(queens(["count", "12", "--threads", "7", "--data-dir"]).arg(dir.path()));
    assert_eq!((outcome.status.code(), outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().skip(2).collect();
    let [counted, begun] = lines[..] else { panic!("{outcome:?}") };
    let audits = audit(dir.path()).expect("valid");
    let seconds = format!(
        "nodes, counted in {:.3} s by local (portable kernel, version ",
        audits[0].job.active.as_secs_f64()
    );
    assert!(counted.contains(&seconds), "'{seconds}' is not in: {counted}");
    // Other tests check the times in words.
    assert!(begun.starts_with("begun 2") && begun.ends_with(" UTC; nothing was counted now"), "{begun}");
    // JSON says the same, whatever kernel would count now.
    let answer = run(count_command(12, dir.path(), &[])).answer();
    assert_eq!((&answer["kernel"], &answer["counted_now"]), (&"portable".into(), &"0".into()), "{answer}");
    assert_eq!(answer["counted_by"][0]["worker"], "local", "{answer}");
    assert_eq!(answer["counted_by"][0]["work"], answer["work"], "{answer}");
}
