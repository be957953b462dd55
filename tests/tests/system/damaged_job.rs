//! A job that contradicts itself, beside an intact one.

use std::path::Path;

use queens_tests::postgres::proved;
use queens_tests::prelude::*;

/// The published values of n = 10 and 11.
const SOLUTIONS_10: &str = "724";
const SOLUTIONS_11: &str = "2680";

/// Imitates a database that loses writes under its leader: a done job loses some of its records.
const LOSE_SOME: [&str; 3] = [
    "DELETE FROM coverage_range WHERE job = 1 AND part >= 3",
    "DELETE FROM coverage WHERE job = 1 AND part >= 3",
    "DELETE FROM record WHERE job = 1 AND part >= 3",
];

fn count(coordinator: &Coordinator, n: u8, solutions: &str) {
    let job = coordinator.submit(n);
    let _worker = coordinator.worker("only");
    assert_eq!(coordinator.done(&job)["solutions"], solutions);
}

#[track_caller]
fn check_told(coordinator: &Coordinator) {
    let status = coordinator.status("1");
    assert_eq!(
        (&status["state"], &status["failure"]),
        (&"damaged".into(), &"it is done, but not all of it is recorded".into())
    );
    let shown = coordinator.queens(["status", "1"]).stdout;
    assert!(
        shown.contains("its stored data are inconsistent") && shown.contains("queens-coordinator recover"),
        "{shown}"
    );
    assert!(coordinator.queens(["jobs"]).stdout.contains("damaged"));
    for args in [["cancel", "1"], ["resume", "1"], ["pause", "1"]] {
        assert!(coordinator.queens(args).complaint(1).contains("job 1 is damaged and set aside"), "{args:?}");
    }
    let refused = coordinator.queens(["export", "1", "/nowhere/q10.certificate"]);
    assert!(!refused.status.success(), "{refused:?}");
    let found = coordinator.queens(["doctor"]);
    assert!(format!("{}{}", found.stdout, found.stderr).contains("job 1 is damaged"), "{found:?}");
    assert!(coordinator.log().contains("it is set aside"), "{}", coordinator.log());
}

/// It does not block other jobs. All views of jobs report it, and a new count continues from its intact records.
#[test]
fn a_damaged_job_keeps_no_other_from_being_counted() {
    let Scenario { scratch, data_dir, coordinator: first } = Scenario::start();
    count(&first, 10, SOLUTIONS_10);
    first.stop();
    LOSE_SOME.into_iter().for_each(|sql| tamper(&data_dir, sql));
    let refused = queens_coordinator(&["check", utf8(&data_dir)]);
    assert!(refused.complaint(1).contains("job 1"), "{}", refused.stderr);
    let second = Coordinator::start_with_http(&data_dir);
    check_told(&second);
    let metrics = http::get(&second.http(), "/metrics");
    assert!(metrics.body.contains("queens_jobs{state=\"damaged\"} 1"), "{metrics:?}");
    let events = http::get(&second.http(), "/api/v1/events");
    assert!(events.body.contains("is damaged and set aside"), "{events:?}");
    count(&second, 11, SOLUTIONS_11);
    second.stop();
    // A backup contains it unchanged.
    let backup = scratch.join("backup.db");
    _ = queens_coordinator(&["backup", "--data-dir", utf8(&data_dir), utf8(&backup)]).good();
    let saved = scratch.join("saved");
    _ = queens_coordinator(&["recover", utf8(&data_dir), utf8(&saved)]).good();
    finish(&saved);
}

/// The same in a PostgreSQL database, from which the intact records are saved into a directory.
#[test]
fn a_damaged_job_of_a_database_is_saved_into_a_directory() {
    let Some((postgres, address)) = Postgres::with_database("fsync = off", "damaged") else { return };
    let Scenario { scratch, data_dir, coordinator: first } = Scenario::with(["--store", &address]);
    count(&first, 10, SOLUTIONS_10);
    first.stop();
    for sql in LOSE_SOME {
        postgres.sql("damaged", &sql.replace("FROM ", "FROM queens.")).expect("it is done");
    }
    let second = Coordinator::start_command(with_store("127.0.0.1:0", &data_dir, &address), &data_dir);
    check_told(&second);
    count(&second, 11, SOLUTIONS_11);
    second.stop();
    let there = postgres.database("moved");
    let moved = queens_coordinator(&["move", "--from", &address, "--to", &there]);
    assert!(moved.complaint(1).contains("job 1"), "{}", moved.stderr);
    let saved = scratch.join("saved");
    _ = queens_coordinator(&["recover", &address, utf8(&saved)]).good();
    finish(&saved);
    _ = queens_coordinator(&["move", "--from", utf8(&saved), "--to", &there]).good();
    assert!(proved(&there).contains(&format!("{SOLUTIONS_11} solutions")));
}

/// Counts the missing work again, and proves both jobs.
fn finish(saved: &Path) {
    let last = Coordinator::start(saved);
    let _worker = last.worker("only");
    assert_eq!(last.done("1")["solutions"], SOLUTIONS_10);
    assert_eq!(last.status("2")["solutions"], SOLUTIONS_11);
    last.stop();
    let proved = queens_coordinator(&["check", utf8(saved)]).stdout;
    assert!(
        proved.contains(&format!("{SOLUTIONS_10} solutions")) && proved.contains(SOLUTIONS_11),
        "{proved}"
    );
}
