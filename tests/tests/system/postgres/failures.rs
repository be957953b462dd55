//! Errors of the PostgreSQL store: cancelled statements, warnings, impossible writes, and a leader with a wrong clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use queens_ledger::store::{Store, StoreError, Write};
use queens_model::JobId;
use queens_store::postgres::PostgresStore;
use queens_tests::prelude::*;
use queens_tests::proxy::Proxy;

use super::steps::{choices, job, record_of};
use super::try_open;

/// Returns a store with a job of this many parts.
fn with_job(address: &str, n_parts: usize) -> PostgresStore {
    let mut store = try_open(address, "http://first:1").expect("opens");
    let plan = Write::Plan { job: JobId(1), choices: choices(n_parts) };
    store.commit(&[Write::Job(job(1, 20)), plan]).expect("an empty store");
    store
}

/// Returns a record of each part of the job.
fn records(n_parts: u32) -> Vec<Write> {
    (0..n_parts).map(|part| record_of(1, (part, 0, 10), (7, 100), "anna")).collect()
}

fn n_records(postgres: &Postgres, database: &str) -> String {
    postgres.sql(database, "SELECT count(*) FROM queens.record").expect("is there")
}

/// A transaction too large for one statement sends nothing before the server has begun it and confirmed the lead.
/// Otherwise, its writes would take effect alone if one of these two were cancelled.
#[test]
fn nothing_is_sent_before_a_transaction_has_begun() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    _ = postgres.database("begun");
    let proxy = Proxy::start(&postgres.address());
    let through = proxy.url().replace("http://", "postgres://queens@") + "/begun";
    let mut store = with_job(&through, 3000);
    store.commit(&records(1)).expect("leads, with prepared statements");
    let postgres = Arc::new(postgres);
    let begun = "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE '%hold%'";
    thread::scope(|scope| {
        let asked = postgres.clone();
        proxy.hold_answers(move || asked.sql("begun", begun).is_ok_and(|found| !found.is_empty()));
        let committing = scope.spawn(|| store.commit(&records(3000)));
        wait_until("a transaction that has begun, and nothing else", || {
            postgres.sql("begun", begun).ok().filter(|found| !found.is_empty())
        });
        assert_eq!(n_records(&postgres, "begun"), "1");
        proxy.hold_answers(|| false);
        committing.join().expect("no panic").expect("commits");
    });
    assert_eq!(n_records(&postgres, "begun"), "3000");
}

/// A former leader writes nothing, in one statement or in many.
#[test]
fn no_late_record_is_written() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    for n_parts in [1, 3000] {
        let name = format!("late_{n_parts}");
        let mut store = with_job(&postgres.database(&name), 3000);
        postgres.sql(&name, "UPDATE queens.lease SET epoch = epoch + 1").expect("is there");
        let late = store.commit(&records(n_parts)).expect_err("it leads no more");
        assert!(matches!(&late, StoreError::Fenced(_)), "{late}");
        assert_eq!(n_records(&postgres, &name), "0");
    }
}

/// Commits whose statements are cancelled at random moments take effect completely or not at all: the store agrees with
/// the model, which has no partial commits.
#[test]
fn a_commit_that_is_given_up_has_no_effect() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    let mut store = with_job(&postgres.database("given_up"), 1500);
    let is_over = AtomicBool::new(false);
    let (mut n_done, mut n_given_up) = (0_u32, 0_u32);
    thread::scope(|scope| {
        scope.spawn(|| {
            let cancel = "DO $$ DECLARE pids INT[] := ARRAY(SELECT pid FROM pg_stat_activity \
                          WHERE application_name = 'queens-coordinator'); \
                          BEGIN FOR i IN 1..100 LOOP PERFORM pg_cancel_backend(pid) FROM unnest(pids) pid; \
                          PERFORM pg_sleep(0.0005); END LOOP; END $$";
            while !is_over.load(Ordering::Relaxed) {
                _ = postgres.sql("given_up", cancel);
            }
        });
        for tenth in 0..10 {
            let of = |part| record_of(1, (part, tenth * 10, tenth * 10 + 10), (7, 100), "anna");
            let next: Vec<Write> = (0..1500).map(of).collect();
            while let Err(error) = store.commit(&next) {
                assert!(error.may_heal(), "{error}");
                n_given_up += 1;
                let written = n_records(&postgres, "given_up");
                // Cancelled, or executed by a server that could not confirm it any more.
                let expected = [n_done, n_done + 1].map(|n| (n * 1500).to_string());
                assert!(expected.contains(&written), "{written} after {n_done}");
            }
            n_done += 1;
        }
        is_over.store(true, Ordering::Relaxed);
    });
    say(&format!("{n_done} commits; the server gave up {n_given_up} of them"));
    assert_eq!(n_records(&postgres, "given_up"), "15000");
}

/// A server's warning in a transaction, for example that it no longer waits for a standby, may mean lost durability.
#[test]
fn a_warning_is_no_success() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    let mut store = with_job(&postgres.database("warns"), 10);
    let warn = "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                RAISE WARNING 'nobody knows whether it lasts'; RETURN NEW; END $$; \
                CREATE TRIGGER warn BEFORE INSERT ON queens.record FOR EACH ROW EXECUTE FUNCTION warn()";
    postgres.sql("warns", warn).expect("is made");
    let warned = store.commit(&records(1)).expect_err("the server warns");
    assert!(warned.may_heal() && warned.to_string().contains("nobody knows whether it lasts"), "{warned}");
    postgres.sql("warns", "DROP TRIGGER warn ON queens.record").expect("is there");
    store.commit(&records(1)).expect("the same again");
    assert_eq!(n_records(&postgres, "warns"), "1");
}

/// A lead that ends later than possible comes from a clock that was fast, and blocks no candidate.
#[test]
fn a_clock_that_was_ahead_keeps_nobody_from_leading() {
    let Some((postgres, address)) = Postgres::with_database("fsync = off", "ahead") else { return };
    drop(try_open(&address, "http://first:1").expect("makes the tables"));
    let lead_for = |interval: &str| {
        let sql = format!("UPDATE queens.lease SET expires = clock_timestamp() + interval '{interval}'");
        postgres.sql("ahead", &sql).expect("is there");
        try_open(&address, "http://second:1")
    };
    let refused = lead_for("5 s").expect_err("the first leads");
    assert!(matches!(refused, StoreError::Led { .. }), "{refused}");
    drop(lead_for("1 hour").expect("too long for a real lead"));
    postgres.sql("ahead", "DELETE FROM queens.lease").expect("is there");
    let empty = try_open(&address, "http://third:1").expect_err("nobody can lead");
    assert!(empty.to_string().contains("its table 'lease' is empty"), "{empty}");
}

#[test]
fn a_database_that_has_not_all_characters_is_refused() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    let make = "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'";
    postgres.sql("postgres", make).expect("is made");
    let refused = try_open(&postgres.address_of("latin"), "http://first:1").expect_err("it is refused");
    let said = refused.to_string();
    assert!(!refused.may_heal() && said.contains("LATIN1") && said.contains("--encoding=UTF8"), "{said}");
}

/// An error that waiting can't solve ends the coordinator with that error, and not with another leader's name.
#[test]
fn what_can_not_be_written_is_said() {
    let Some((postgres, address)) = Postgres::with_database("", "broken") else { return };
    let Scenario { scratch: _scratch, mut coordinator, .. } = Scenario::with(["--store", &address]);
    let broken = "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                  RAISE EXCEPTION 'could not read block 7: invalid page' USING ERRCODE = 'XX001'; END $$; \
                  CREATE TRIGGER broken BEFORE INSERT ON queens.job FOR EACH ROW EXECUTE FUNCTION broken()";
    postgres.sql("broken", broken).expect("is made");
    _ = coordinator.queens(["submit", "16"]);
    assert!(!coordinator.wait().success());
    let log = coordinator.log();
    assert!(log.contains("invalid page") && !log.contains("leads no more"), "{log}");
}

/// Checks a refusal's advice, and that it contains no password.
#[track_caller]
fn check_refused(arguments: &[&str], expected: &str) {
    let refused = run(program("queens-coordinator").args(arguments));
    let said = refused.complaint(refused.status.code().unwrap_or_default());
    assert!(said.contains(expected) && !said.contains("SECRET"), "{arguments:?}: {said}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused =
        |store: &str, expected: &str| check_refused(&["--store", store, "--check-config"], expected);
    refused("postgress://q:SECRET@127.0.0.1/q", "'…@127.0.0.1/q' is not postgres://");
    refused("q:SECRET@127.0.0.1/q", "'…@127.0.0.1/q' is not postgres://");
    refused("postgres://q:a@SECRET@127.0.0.1/q", "write %40");
    refused("postgres://q@127.0.0.1/q?sslmode=verify-full", "sslmode=require looks at");
    check_refused(&["--store-password-file", "x", "--check-config"], "name it by --store or QUEENS_STORE");
    check_refused(&["backup", "x.db", "--store", "postgres://q@127.0.0.1/q"], "pg_dump");
    check_refused(&["export", "1", "x", "--store", "postgres://q@127.0.0.1/q"], "'queens export'");
}
