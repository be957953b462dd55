//! A database server with a full disk: no unwritten record is acknowledged, and everything continues later.

use queens_tests::postgres::proved;
use queens_tests::prelude::*;

/// The published solutions of n = 15 and n = 17.
const SOLUTIONS: [&str; 2] = ["2279184", "95815104"];

/// A coordinator with a running job, and the directory of both.
struct Scene {
    coordinator: Coordinator,
    address: String,
    job: String,
    _worker: Running,
    _scratch: TempDir,
}

impl Scene {
    fn start(postgres: &Postgres, address: String) -> Self {
        let Scenario { scratch, coordinator, .. } =
            Scenario::with(["--store", &address, "--http", "127.0.0.1:0"]);
        let worker = coordinator.worker("anna");
        let job = coordinator.submit(15);
        wait_for("records", || recorded(postgres, &job) > 0);
        Self { coordinator, address, job, _worker: worker, _scratch: scratch }
    }

    /// Returns the coordinator's status of the job. It may be a standby for a moment.
    fn status(&self) -> Value {
        wait_until("a status", || {
            let asked = self.coordinator.queens(["status", &self.job, "--output", "json"]);
            asked.status.success().then(|| asked.answer())
        })
    }

    /// Returns the recorded subproblems that the coordinator reports.
    fn told(&self) -> u128 {
        number(&self.status()["recorded"])
    }

    /// Waits until everything is counted, including jobs submitted meanwhile.
    #[track_caller]
    fn finish(self, postgres: &Postgres) {
        let _fast = fast_worker(&self.coordinator.url());
        wait_until("all jobs", || {
            let jobs = postgres.sql("filled", "SELECT string_agg(phase, ' ') FROM queens.job").ok()?;
            jobs.split(' ').all(|phase| phase == "done").then_some(())
        });
        let n_jobs = postgres.number("filled", "SELECT count(*) FROM queens.job");
        self.coordinator.stop();
        let proof = proved(&self.address);
        assert_eq!(proof.lines().count() as u64, n_jobs, "{proof}");
        for (line, solutions) in proof.lines().zip(SOLUTIONS) {
            assert!(line.contains(&format!("subproblems once: {solutions} solutions")), "{proof}");
        }
    }
}

/// Returns the recorded subproblems of a job in the database.
fn recorded(postgres: &Postgres, job: &str) -> u128 {
    let sql = format!("SELECT coalesce(sum(until - first), 0) FROM queens.record WHERE job = {job}");
    postgres.number("filled", &sql).into()
}

/// Tables can't grow any more, and the server continues: each transaction that needs room fails.
#[test]
fn a_full_disk_of_tables_stops_acknowledgements_and_loses_nothing() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    let Some((disk, small)) = postgres.small_disk(64 << 10) else {
        return skipped_without_root("a full disk of tables, as it takes root to mount a small one");
    };
    let tables = format!("CREATE TABLESPACE small LOCATION '{}'", small.display());
    postgres.sql("postgres", &tables).expect("makes a tablespace");
    postgres.sql("postgres", "CREATE DATABASE filled TABLESPACE small").expect("makes a database");
    let scene = Scene::start(&postgres, postgres.address_of("filled"));
    disk.fill();
    // Its plan needs more room than the allocated pages have.
    let submitted = scene.coordinator.queens(["submit", "17", "--yes"]);
    scene.coordinator.wait_for_log("nothing is acknowledged until the store can be written again");
    scene.coordinator.wait_for_log("No space left on device");
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
    scene.coordinator.wait_for_log("the store can be written again seconds");
    assert!(scene.told() >= told);
    scene.finish(&postgres);
    drop(disk);
}

/// The server can't write its log, and ends. When there is room, an operator restarts it.
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
    let scene = Scene::start(&postgres, address);
    disk.fill();
    let told = scene.told();
    // This closes the current log segment; there is no room for another.
    _ = postgres.sql("postgres", "SELECT pg_switch_wal()");
    postgres.wait_for_end();
    scene.coordinator.wait_for_log("nothing is acknowledged until the store can be written again");
    // A while later, it is no longer the leader.
    let asked = scene.coordinator.queens(["status", &scene.job, "--output", "json"]);
    let told = if asked.status.success() { number(&asked.answer()["recorded"]) } else { told };
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
