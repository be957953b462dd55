//! Stores that are put back to an earlier state while workers hold leases: a job's number is given out again, and is
//! another job's then.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use queens_tests::TempDir;
use queens_tests::cluster::Coordinator;
use queens_tests::process::wait_at_most;
use serde_json::Value;

/// What is published of n = 16.
const SOLUTIONS_16: &str = "14772512";

fn wait_for_state(coordinator: &Coordinator, job: &str, state: &str) {
    wait_at_most(Duration::from_secs(300), state, || {
        (coordinator.status(job)["state"] == state).then_some(())
    });
}

/// As a snapshot of the file system is.
fn copy_of(dir: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([dir, to]).status().expect("there is cp");
    assert!(copied.success());
}

/// A directory is copied while it is in use. A job is submitted and leased; the directory is lost, and the copy gives its
/// number out again.
#[test]
fn a_copy_of_a_running_directory_takes_nothing_of_jobs_that_it_never_had() {
    let scratch = TempDir::new().expect("a temporary directory");
    let data_dir = scratch.path().join("data");
    let first = Coordinator::start(&data_dir);
    let _worker = first.worker("only");
    let before = first.submit(8);
    wait_for_state(&first, &before, "done");
    let copy = scratch.path().join("copy");
    copy_of(&data_dir, &copy);
    let lost = first.submit(18);
    wait_for_state(&first, &lost, "running");
    let second = {
        // Its second job is of a smaller board, and planned before the worker comes.
        let second = Coordinator::start(&copy);
        assert_eq!(second.submit(16), lost);
        wait_for_state(&second, &lost, "queued");
        second.stop();
        first.kill_and_restart_on(&copy)
    };
    wait_for_state(&second, &lost, "done");
    let status = second.status(&lost);
    assert_eq!(
        (&status["solutions"], &status["agrees"]),
        (&SOLUTIONS_16.into(), &Value::from(true)),
        "{status}"
    );
}
