//! A database server whose disk is full: nothing is acknowledged that it has not written, and all goes on when there is
//! room.

use std::path::Path;

use queens_tests::cluster::{Coordinator, fast_worker};
use queens_tests::postgres::{Postgres, proved};
use queens_tests::process::{Running, wait_until};
use queens_tests::{TempDir, http, skipped_without_root};
use serde_json::Value;

use super::with_store;

/// What is published of n = 16 and of n = 17.
const SOLUTIONS: [&str; 2] = ["14772512", "95815104"];

/// A coordinator, a job that is being counted, and where both are kept.
struct Scene {
    coordinator: Coordinator,
    address: String,
    job: String,
    _worker: Running,
}

impl Scene {
    fn start(scratch: &Path, postgres: &Postgres, address: String) -> Self {
        let data_dir = scratch.join("data");
        let mut command = with_store("127.0.0.1:0", &data_dir, &address);
        command.args(["--http", "127.0.0.1:0"]);
        let coordinator = Coordinator::start_command(command, &data_dir);
        let worker = coordinator.worker("anna");
        let job = coordinator.submit(16);
        wait_until("records", || (recorded(postgres, &job) > 0).then_some(()));
        Self { coordinator, address, job, _worker: worker }
    }

    /// What the coordinator says of the job. It may stand by for a moment.
    fn status(&self) -> Value {
        wait_until("a status", || {
            let asked = self.coordinator.queens(["status", &self.job, "--output", "json"]);
            asked.status.success().then(|| asked.answer())
        })
    }

    /// How many subproblems the coordinator says are recorded.
    fn told(&self) -> u64 {
        recorded_as_of(&self.status())
    }

    fn wait_for_log(&self, text: &str) {
        wait_until(text, || self.coordinator.log().contains(text).then_some(()));
    }

    /// All is counted, what was submitted meanwhile too.
    #[track_caller]
    fn finish(self, postgres: &Postgres) {
        let _fast = fast_worker(&self.coordinator.url());
        wait_until("all jobs", || {
            let jobs = postgres.sql("filled", "SELECT string_agg(phase, ' ') FROM queens.job").ok()?;
            jobs.split(' ').all(|phase| phase == "done").then_some(())
        });
        let n_jobs: usize = postgres
            .sql("filled", "SELECT count(*) FROM queens.job")
            .expect("answers")
            .parse()
            .expect("a number");
        self.coordinator.stop();
        let proof = proved(&self.address);
        assert_eq!(proof.lines().count(), n_jobs, "{proof}");
        for (line, solutions) in proof.lines().zip(SOLUTIONS) {
            assert!(line.contains(&format!("subproblems once: {solutions} solutions")), "{proof}");
        }
    }
}

/// How many subproblems a status says are recorded.
fn recorded_as_of(status: &Value) -> u64 {
    status["recorded"].as_str().and_then(|told| told.parse().ok()).expect("a number")
}

/// How many subproblems of a job are recorded in the database.
fn recorded(postgres: &Postgres, job: &str) -> u64 {
    let sql = format!("SELECT coalesce(sum(until - first), 0) FROM queens.record WHERE job = {job}");
    postgres.sql("filled", &sql).expect("answers").parse().expect("a number")
}

/// Tables can't grow any more, and the server goes on: it fails each transaction that needs room.
#[test]
fn a_full_disk_of_tables_stops_acknowledgements_and_loses_nothing() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    let Some((disk, small)) = postgres.small_disk(64 << 10) else {
        return skipped_without_root("a full disk of tables, as it takes root to mount a small one");
    };
    let tables = format!("CREATE TABLESPACE small LOCATION '{}'", small.display());
    postgres.sql("postgres", &tables).expect("makes a tablespace");
    postgres.sql("postgres", "CREATE DATABASE filled TABLESPACE small").expect("makes a database");
    let scratch = TempDir::new().expect("a temporary directory");
    let scene = Scene::start(scratch.path(), &postgres, postgres.address_of("filled"));
    disk.fill();
    // Its plan takes more room than there is in pages that are there.
    let submitted = scene.coordinator.queens(["submit", "17", "--yes"]);
    scene.wait_for_log("nothing is acknowledged until the store can be written again");
    scene.wait_for_log("No space left on device");
    let full = scene.status();
    assert!(full["store_error"].as_str().is_some_and(|error| error.contains("No space left")), "{full}");
    assert_eq!(scene.told(), recorded(&postgres, &scene.job), "what is told is there, and nothing else");
    let ready = http::get(&scene.coordinator.http(), "/readyz");
    assert!(ready.status == 503 && ready.body.contains("No space left"), "{ready:?}");
    if submitted.status.success() {
        assert_eq!(postgres.sql("filled", "SELECT count(*) FROM queens.job").as_deref(), Ok("2"));
    }
    let told = scene.told();
    disk.make_room();
    scene.wait_for_log("the store can be written again seconds");
    assert!(scene.told() >= told);
    scene.finish(&postgres);
    drop(disk);
}

/// The server can't write its log, and ends. When there is room, somebody starts it again.
#[test]
fn a_full_disk_of_the_log_ends_the_server_and_loses_nothing() {
    let Some(mut postgres) = Postgres::start("fsync = off") else { return };
    let Some((disk, small)) = postgres.small_disk(96 << 10) else {
        return skipped_without_root(
            "a full disk of the server's log, as it takes root to mount a small one",
        );
    };
    postgres.move_log(&small);
    let address = postgres.database("filled");
    let scratch = TempDir::new().expect("a temporary directory");
    let scene = Scene::start(scratch.path(), &postgres, address);
    disk.fill();
    let told = scene.told();
    // The present piece of it is closed; there is no room for another.
    _ = postgres.sql("postgres", "SELECT pg_switch_wal()");
    postgres.wait_for_end();
    scene.wait_for_log("nothing is acknowledged until the store can be written again");
    // A while after that it leads no more.
    let asked = scene.coordinator.queens(["status", &scene.job, "--output", "json"]);
    let told = if asked.status.success() { recorded_as_of(&asked.answer()) } else { told };
    assert!(
        !scene.coordinator.queens(["submit", "17", "--yes"]).status.success(),
        "nobody can write it down"
    );
    disk.make_room();
    postgres.run();
    assert!(recorded(&postgres, &scene.job) >= told, "what was acknowledged is there");
    scene.finish(&postgres);
    drop(disk);
}
