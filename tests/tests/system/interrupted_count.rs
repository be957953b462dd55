//! `queens count` stops on a signal, says how to continue, and continues.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use queens_store::sqlite::audit;
use queens_tests::data_dir::{Record, share};
use queens_tests::prelude::*;
use rusqlite::Connection;

/// The longest time a person may have to wait.
const PATIENCE: u64 = 2;

const N: u8 = 17;

fn count(n: u8, dir: Option<&Path>) -> Command {
    // The slowest kernel leaves time for an interruption.
    let portable = ["--kernel", "portable", "--threads", "1", "--progress", "none", "--yes"];
    let mut command = queens(["count", &n.to_string(), "--output", "json"].iter().chain(&portable));
    if let Some(dir) = dir {
        command.arg("--data-dir").arg(dir);
    }
    command
}

/// Starts a count and waits until it has added a few percent to the records but is not done. Returns it with the
/// records of that moment.
#[track_caller]
fn start_counting(dir: &Path) -> (Running, Vec<Record>) {
    let n_subproblems = |records: &[Record]| records.iter().map(Record::n_subproblems).sum::<i64>();
    let enough = records(dir).map_or(0, |records| n_subproblems(&records)) + 100;
    let mut running = Running::start(&mut count(N, Some(dir)));
    let seen = wait_until("records", || {
        assert!(running.is_running(), "it ended before it recorded anything");
        records(dir).ok().filter(|records| n_subproblems(records) > enough)
    });
    let database = Connection::open(dir.join(DATABASE)).expect("there is a database");
    let is_done = database.query_row("SELECT phase = 'done' FROM job", [], |row| row.get(0));
    assert_eq!(is_done, Ok(false), "it is to be interrupted before it is done");
    (running, seen)
}

/// Sends a signal; the process must end in time.
#[track_caller]
fn interrupt(mut running: Running, signal: &str) -> Ended {
    let sent = Instant::now();
    running.signal(signal);
    let outcome = running.wait();
    assert!(sent.elapsed() < promised(PATIENCE), "it takes {:?} to stop", sent.elapsed());
    outcome
}

/// Checks for one line with the count's progress in percent, and `hint`.
#[track_caller]
fn check_message(outcome: &Ended, code: i32, hint: &str) -> f64 {
    let line = outcome.complaint(code);
    let share = line.strip_prefix("interrupted at ").and_then(|rest| rest.split_once(" % of the work: "));
    let (share, rest) = share.expect(line);
    assert_eq!(rest, hint);
    share.parse().expect(line)
}

/// Checks for one line with the plan's progress, and `hint`.
#[track_caller]
fn check_planning(outcome: &Ended, code: i32, hint: &str) {
    let line = outcome.complaint(code);
    let share = line.strip_prefix("interrupted at ").and_then(|rest| rest.split_once(" % of the plan: "));
    let (share, rest) = share.expect(line);
    assert!(share.trim_start_matches('<').parse().is_ok_and(|share: f64| share < 100.0), "{line}");
    assert_eq!(rest, hint);
}

/// Checks that another run of the same command continues from the records to the end.
#[track_caller]
fn check_goes_on(dir: &Path) {
    let before = records(dir).expect("readable");
    let answer = run(count(N, Some(dir))).answer();
    assert_eq!((&answer["solutions"], &answer["agrees"]), (&json!("95815104"), &json!(true)), "{answer}");
    let after = records(dir).expect("readable");
    let lost = before.iter().find(|record| !after.contains(record));
    assert_eq!(lost, None, "what was recorded before is counted again");
    assert!(after.len() > before.len());
    let audits = audit(dir).expect("valid");
    let [audit] = &audits[..] else { panic!("one job: {audits:?}") };
    assert!(audit.is_complete());
    assert_eq!(Value::from(audit.total.to_string()), answer["solutions"]);
    assert_eq!(Value::from(audit.work.to_string()), answer["work"]);
}

#[test]
fn signals_are_said_and_gone_on_from() {
    let dir = TempDir::new();
    let dir = dir.path();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("INT", 130)] {
        let (running, seen) = start_counting(dir);
        let outcome = interrupt(running, signal);
        let percent = check_message(&outcome, code, "run the same command again to go on");
        let recorded = share(dir).expect("readable") * 100.0;
        assert!((percent - recorded).abs() < 0.1, "it says {percent} %, but {recorded} % are recorded");
        let kept = records(dir).expect("readable");
        assert_eq!(seen.iter().find(|record| !kept.contains(record)), None, "the signal loses records");
    }
    check_goes_on(dir);
}

#[test]
fn without_a_data_directory_nothing_is_kept_and_that_is_said() {
    // The plan for 32 takes core-minutes, and that for 17 an instant.
    for n in [N, 32] {
        let mut running = Running::start(&mut count(n, None));
        running.wait_for_signal_handlers();
        let outcome = interrupt(running, "INT");
        if n == N && !outcome.stderr.contains("of the plan") {
            check_message(&outcome, 130, "nothing is kept; with --data-dir DIR it could go on");
        } else {
            check_planning(&outcome, 130, "nothing is kept");
        }
    }
}

#[test]
fn a_plan_in_the_works_does_not_delay_the_end() {
    let dir = TempDir::new();
    let mut running = Running::start(&mut count(32, Some(dir.path())));
    running.wait_for_signal_handlers();
    let outcome = interrupt(running, "TERM");
    check_planning(&outcome, 143, "nothing of it is kept, and the same command begins it again");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let dir = TempDir::new();
    let dir = dir.path();
    let (mut running, _) = start_counting(dir);
    // While another connection writes to the database, no record can be written. So the program waits after the first
    // signal.
    let other = Connection::open(dir.join(DATABASE)).expect("there is a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("it lets others write");
    let seen = records(dir).expect("readable");
    // Signals that arrive together count as one.
    ["STOP", "INT", "TERM", "CONT"].into_iter().for_each(|name| running.signal(name));
    std::thread::sleep(Duration::from_millis(500));
    if !running.is_running() {
        panic!("it does not wait to record what it has: {:?}", running.wait());
    }
    let outcome = interrupt(running, "TERM");
    assert_eq!(outcome.complaint(143), "error: stopped at once by a second signal");
    other.execute_batch("ROLLBACK").expect("it was begun");
    drop(other);
    assert_eq!(records(dir).expect("readable"), seen);
    audit(dir).expect("valid");
}

/// A shell goes on after a command that ends by itself, whatever its exit status is.
#[test]
fn ctrl_c_ends_a_loop_over_any_command() {
    if !is_installed("bash") {
        return skipped("loops of a shell, as there is no bash");
    }
    let dir = TempDir::new();
    let (queens, data_dir) = (binary("queens"), dir.join("data"));
    let (queens, shown) = (queens.display(), data_dir.display());
    let line = format!(
        "for n in 1 2; do echo round; '{queens}' count {N} --kernel portable --threads 1 --data-dir '{shown}'; done"
    );
    let running = Running::start(clean(Command::new("bash")).args(["-c", &line]));
    wait_for("records", || records(&data_dir).is_ok_and(|records| !records.is_empty()));
    // A terminal signals the whole group.
    let group = format!("-{}", running.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().expect("it can be run").success());
    let outcome = running.wait();
    assert!(outcome.stderr.contains("interrupted at "), "{outcome:?}");
    assert_eq!((outcome.code(), outcome.stdout.as_str()), (Some(130), "round\n"), "{outcome:?}");
}
