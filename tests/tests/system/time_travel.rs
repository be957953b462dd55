//! Stores restored to an earlier state while workers hold leases: a later job gets the number of a lost one.

mod lagging_standby;
mod point_in_time;

use std::path::Path;

use queens_tests::data_dir::snapshot;
use queens_tests::postgres::proved;
use queens_tests::prelude::*;

/// The published solutions of n = 15.
const SOLUTIONS_15: &str = "2279184";

fn wait_for_state(coordinator: &Coordinator, job: &str, state: &str) {
    wait_for(state, || {
        // A coordinator that reloads its database does not lead meanwhile.
        let status = coordinator.queens(["status", job, "--output", "json"]);
        status.status.success() && status.answer()["state"] == state
    });
}

/// A directory is copied while it is in use. Then a job is submitted and leased; the directory is lost, and the copy
/// assigns its number again.
#[test]
fn a_copy_of_a_running_directory_takes_nothing_of_jobs_that_it_never_had() {
    let Scenario { scratch, data_dir, coordinator: first } = Scenario::start();
    let _worker = first.worker("only");
    let before = first.submit(8);
    wait_for_state(&first, &before, "done");
    let copy = scratch.join("copy");
    snapshot(&data_dir, &copy);
    let lost = first.submit(17);
    wait_for_state(&first, &lost, "running");
    let second = {
        // Its second job is of a smaller board, and planned before the worker connects.
        let second = Coordinator::start(&copy);
        assert_eq!(second.submit(15), lost);
        wait_for_state(&second, &lost, "queued");
        second.stop();
        first.kill_and_restart_on(&copy)
    };
    wait_for_state(&second, &lost, "done");
    let status = second.status(&lost);
    assert_eq!(
        (&status["solutions"], &status["agrees"]),
        (&SOLUTIONS_15.into(), &Value::from(true)),
        "{status}"
    );
}

/// Starts a coordinator of a database.
fn of_database(listen: &str, data_dir: &Path, address: &str) -> Coordinator {
    Coordinator::start_command(with_store(listen, data_dir, address), data_dir)
}

#[track_caller]
fn check_15(coordinator: &Coordinator, job: &str) {
    wait_for_state(coordinator, job, "done");
    let status = coordinator.status(job);
    assert_eq!(status["solutions"], SOLUTIONS_15, "{status}");
}

/// The same with a database and its dump.
#[test]
fn a_restored_dump_takes_nothing_of_jobs_that_it_never_had() {
    let Some((postgres, address)) = Postgres::with_database("fsync = off", "dumped") else { return };
    let Scenario { scratch: _scratch, data_dir, coordinator: first } = Scenario::with(["--store", &address]);
    let _worker = first.worker("only");
    let before = first.submit(8);
    wait_for_state(&first, &before, "done");
    let dump = postgres.dump("dumped");
    let lost = first.submit(17);
    wait_for_state(&first, &lost, "running");
    let listen = first.address().to_owned();
    first.kill();
    postgres.put_back("dumped", &dump);
    {
        // Its second job is of a smaller board, and planned before the worker connects.
        let second = of_database("127.0.0.1:0", &data_dir, &address);
        assert_eq!(second.submit(15), lost);
        wait_for_state(&second, &lost, "queued");
        second.stop();
    }
    let second = of_database(&listen, &data_dir, &address);
    check_15(&second, &lost);
    second.stop();
    assert!(proved(&address).contains(&format!("{SOLUTIONS_15} solutions")));
}

/// A leader notices at its next transaction that its database was restored, and continues from that state.
#[test]
fn a_leader_whose_database_goes_back_reads_it_anew() {
    let Some((postgres, address)) = Postgres::with_database("fsync = off", "back") else { return };
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with(["--store", &address]);
    let _worker = coordinator.worker("only");
    let job = coordinator.submit(15);
    wait_for_state(&coordinator, &job, "running");
    let records = || postgres.sql("back", "SELECT count(*) FROM queens.record").ok()?.parse::<u64>().ok();
    wait_until("records", || records().filter(|n| *n > 0));
    let dump = postgres.dump("back");
    let before = records().expect("it answers");
    wait_until("more records", || records().filter(|n| *n > before));
    postgres.put_back("back", &dump);
    coordinator.wait_for_log("an earlier state was put back");
    check_15(&coordinator, &job);
    coordinator.stop();
    assert!(proved(&address).contains(&format!("{SOLUTIONS_15} solutions")));
}
