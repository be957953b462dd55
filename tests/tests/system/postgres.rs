//! The PostgreSQL store: it behaves like the store in memory, and real coordinators count with it through kills.

mod clock_jumps;
mod failures;
mod full_disk;
#[path = "../../../coordinator/tests/store/steps.rs"]
mod steps;

use std::fs;
use std::path::Path;
use std::thread;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use queens_ledger::store::StoreError;
use queens_store::postgres::{Contact, LeaderCandidate, PostgresStore, Server};
use queens_tests::prelude::*;

use self::steps::{any_steps, assert_same_records, play};

fn try_open(address: &str, holder: &str) -> Result<PostgresStore, StoreError> {
    let server = Server::new(address, None, None).expect("an address");
    let contact = Contact { url: holder.to_owned(), pages: None };
    LeaderCandidate::new(server, contact, Path::new(".")).lead()
}

#[test]
fn behaves_like_the_store_in_memory() {
    let Some((postgres, address)) = Postgres::with_database("fsync = off", "steps") else { return };
    let config = ProptestConfig { failure_persistence: None, cases: 8, ..ProptestConfig::default() };
    let played = TestRunner::new(config).run(&any_steps(), |steps| {
        postgres.sql("steps", "DROP SCHEMA IF EXISTS queens CASCADE").expect("drops");
        let (store, mut model) = play(steps, || try_open(&address, "here").expect("opens"));
        assert_same_records(store, &mut model);
        Ok(())
    });
    played.expect("the same");
}

/// The kernel keeps a segment of shared memory until somebody removes it, and has room for some thousands.
#[test]
fn a_killed_server_leaves_no_shared_memory_behind() {
    let Some(mut postgres) = Postgres::start("") else { return };
    let lock = fs::read_to_string(postgres.path().join("data/postmaster.pid")).expect("the server's lock");
    let segment = lock.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)).expect("its segment");
    let is_there = || {
        let all = fs::read_to_string("/proc/sysvipc/shm").expect("the list of segments");
        all.lines().any(|line| line.split_whitespace().nth(1) == Some(segment))
    };
    assert!(is_there());
    let kind = postgres.sql("postgres", "SHOW dynamic_shared_memory_type");
    assert_eq!(kind.as_deref(), Ok("mmap"), "in its directory, and not in /dev/shm");
    postgres.kill();
    // It is removed, and goes with the last of the processes that use it.
    wait_for("the segment's end", || !is_there());
}

/// Returns a write with a recognisable name.
fn blocked(name: &str) -> queens_ledger::store::Write {
    let name = queens_model::Name::of_any(name);
    let block = queens_ledger::store::Block { name, party: None };
    queens_ledger::store::Write::Blocked { block, blocked: true, reason: String::new() }
}

/// Only the leader writes: another candidate can't take its lead, and a former leader can't write any more.
#[test]
fn only_who_leads_writes() {
    use queens_ledger::store::Store;

    let Some((postgres, address)) = Postgres::with_database("fsync = off", "lead") else { return };
    let mut first = try_open(&address, "http://first:1").expect("opens");
    first.commit(&[blocked("one")]).expect("leads");
    let refused = try_open(&address, "http://second:1").expect_err("another leads");
    assert!(matches!(&refused, StoreError::Led { leader, .. } if leader == "http://first:1"), "{refused}");
    // Imitates a term that ran out while the process was stopped.
    postgres.sql("lead", "UPDATE queens.lease SET expires = '-infinity'").expect("is there");
    let mut second = try_open(&address, "http://second:1").expect("opens");
    let late = first.commit(&[blocked("one")]).expect_err("it leads no more");
    assert!(matches!(&late, StoreError::Fenced(_)) && !late.may_heal(), "{late}");
    second.commit(&[blocked("two")]).expect("leads");
    // Dropping the former leader does not end its successor's lead.
    drop(first);
    second.commit(&[blocked("three")]).expect("leads");
    drop(second);
    // It gives up without waiting.
    let stored = try_open(&address, "http://third:1").expect("opens").load().expect("loads");
    assert_eq!(stored.blocked.len(), 3);
}

/// Returns a transaction that holds the lead until [`RELEASE`], or for minutes in a test that fails.
fn open_transaction(postgres: &Postgres, database: &str, epoch: &str) -> String {
    postgres.sql(database, "CREATE TABLE released ()").expect("made");
    format!(
        "BEGIN; SELECT queens.hold({epoch}, number, number) FROM queens.state; DO $$ BEGIN FOR i IN 1..9000 LOOP \
         EXIT WHEN EXISTS (SELECT FROM released); PERFORM pg_sleep(0.1); END LOOP; END $$; COMMIT"
    )
}
const RELEASE: &str = "INSERT INTO released DEFAULT VALUES";

#[track_caller]
fn wait_until_held(postgres: &Postgres, database: &str) {
    let holds = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    wait_until("the transaction to hold it", || {
        postgres.sql(database, holds).ok().filter(|found| !found.is_empty())
    });
}

/// No candidate takes the lead while the leader has an open transaction, even after a renewal, which never waits.
#[test]
fn a_takeover_waits_for_an_open_transaction_and_a_renewal_does_not() {
    let Some((postgres, address)) = Postgres::with_database("fsync = off", "open") else { return };
    drop(try_open(&address, "http://first:1").expect("makes the tables"));
    let epoch = postgres.sql("open", "SELECT epoch FROM queens.lease").expect("is there");
    thread::scope(|scope| {
        let postgres = &postgres;
        let sql = open_transaction(postgres, "open", &epoch);
        let open = scope.spawn(move || postgres.sql("open", &sql));
        wait_until_held(postgres, "open");
        let soon = |sql: &str| postgres.sql("open", &format!("SET lock_timeout TO '300ms'; {sql}"));
        soon("UPDATE queens.lease SET expires = clock_timestamp()").expect("no need to wait");
        let refused =
            soon("UPDATE queens.lease SET epoch = epoch + 1").expect_err("waits for the transaction");
        assert!(refused.contains("lock timeout"), "{refused}");
        postgres.sql("open", RELEASE).expect("is there");
        open.join().expect("no panic").expect("commits");
        soon("UPDATE queens.lease SET epoch = epoch + 1").expect("not locked");
        let late = postgres
            .sql("open", &format!("SELECT queens.hold({epoch}, number, number) FROM queens.state"))
            .expect_err("another leads");
        assert!(late.contains("http://first:1"), "{late}");
    });
}

/// A candidate that gave up waiting does not become the leader later. Otherwise nobody would notice, and there would be
/// no leader until its term ended.
#[test]
fn who_has_given_up_waiting_takes_nothing() {
    let Some((postgres, address)) = Postgres::with_database("fsync = off", "late") else { return };
    drop(try_open(&address, "http://first:1").expect("makes the tables"));
    let epoch = || postgres.sql("late", "SELECT epoch FROM queens.lease").expect("is there");
    let before = epoch();
    thread::scope(|scope| {
        let postgres = &postgres;
        let sql = open_transaction(postgres, "late", &before);
        let open = scope.spawn(move || postgres.sql("late", &sql));
        wait_until_held(postgres, "late");
        let waited = try_open(&address, "http://second:1").expect_err("the transaction is open");
        assert!(waited.may_heal(), "{waited}");
        postgres.sql("late", RELEASE).expect("is there");
        open.join().expect("no panic").expect("commits");
    });
    assert_eq!(epoch(), before);
}

/// Returns the output of `check` for a store.
#[track_caller]
fn checked(place: &str) -> String {
    let args: &[&str] = if place.contains("://") { &["check", "--store", place] } else { &["check", place] };
    queens_coordinator(args).good().stdout
}

/// A count survives kills of the coordinator and of the database: no acknowledged record is lost or added twice. The
/// records can be moved to a directory and back, and are proved in each place.
#[test]
fn counts_whatever_is_killed_and_moves() {
    let Some((mut postgres, address)) = Postgres::with_database("", "counts") else { return };
    let Scenario { scratch, data_dir, mut coordinator } = Scenario::with(["--store", &address]);
    let _worker = coordinator.worker("anna");
    let job = coordinator.submit(15);
    let records = |postgres: &Postgres| postgres.number("counts", "SELECT count(*) FROM queens.record");
    wait_for("records", || records(&postgres) > 0);
    let listen = coordinator.address().to_owned();
    coordinator.kill();
    let before = records(&postgres);
    coordinator = Coordinator::start_command(with_store(&listen, &data_dir, &address), &data_dir);
    assert!(coordinator.log().contains("waiting to lead"), "{}", coordinator.log());
    wait_for("more records", || records(&postgres) > before);
    postgres.kill();
    coordinator.wait_for_log("nothing is acknowledged until the store can be written again");
    postgres.run();
    let waited = coordinator.queens(["watch", &job]);
    assert!(waited.stdout.contains("2279184"), "{} {}", waited.stdout, waited.stderr);
    coordinator.stop();

    let proved = checked(&address);
    assert!(proved.contains(": 2279184 solutions"), "{proved}");
    let moved = scratch.join("moved");
    let to = utf8(&moved);
    _ = queens_coordinator(&["move", "--from", &address, "--to", to]).good();
    assert_eq!(checked(to), proved);
    let back = postgres.database("back");
    _ = queens_coordinator(&["move", "--from", to, "--to", &back]).good();
    assert_eq!(checked(&back), proved);
    let again = queens_coordinator(&["move", "--from", to, "--to", &back]);
    assert!(again.complaint(1).contains("there are jobs in the database 'back' on"), "{}", again.stderr);
    // Changed rows are not moved.
    postgres
        .sql("back", "UPDATE queens.record SET solutions = solutions + 1 WHERE first = 0")
        .expect("writes");
    let damaged = queens_coordinator(&["move", "--from", &back, "--to", &postgres.database("third")]);
    assert!(damaged.complaint(1).contains("its digest is not that of its content"), "{}", damaged.stderr);
    assert_eq!(checked(to), proved);
}

/// A coordinator waits for an unreachable server, and says so.
#[test]
fn waits_for_a_server_and_says_so() {
    let Some((mut postgres, address)) = Postgres::with_database("", "late") else { return };
    postgres.kill();
    let dir = TempDir::new();
    let data_dir = dir.join("data");
    let log = data_dir.with_extension("log");
    thread::scope(|scope| {
        let started = scope
            .spawn(|| Coordinator::start_command(with_store("127.0.0.1:0", &data_dir, &address), &data_dir));
        wait_for("word of it", || fs::read_to_string(&log).is_ok_and(|log| log.contains("waiting to lead")));
        postgres.run();
        let coordinator = started.join().expect("starts");
        assert!(coordinator.queens(["jobs"]).stdout.contains("no jobs"));
        coordinator.stop();
    });
    let wrong = queens_coordinator(&["--store", "postgres://queens@db.example/x", "--check-config"]);
    assert!(wrong.complaint(1).contains("would be reached without TLS"), "{}", wrong.stderr);
}
