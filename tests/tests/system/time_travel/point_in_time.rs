//! Point-in-time recovery of a database server, under a stopped and a running coordinator.

use queens_tests::postgres::proved;
use queens_tests::prelude::*;
use queens_tests::workers::worker;

use super::wait_for_state;

/// A coordinator with a store in a database, and workers with two URLs of it, so that they retry every second or two.
pub(super) struct Counting {
    // Dropped, and so killed, before its directory.
    coordinator: Option<Coordinator>,
    port: Port,
    scratch: TempDir,
    /// The store's address.
    address: String,
    workers: Vec<Running>,
}

impl Counting {
    pub(super) fn start(address: String) -> Self {
        let (port, scratch) = (Port::draw(), TempDir::new());
        let mut counting = Self { coordinator: None, port, scratch, address, workers: vec![] };
        counting.start_coordinator();
        counting
    }

    fn start_coordinator(&mut self) {
        let data_dir = self.scratch.join("data");
        let command = with_store(&self.port.address(), &data_dir, &self.address);
        self.coordinator = Some(Coordinator::start_command(command, &data_dir));
    }

    pub(super) fn coordinator(&self) -> &Coordinator {
        self.coordinator.as_ref().expect("it runs")
    }

    /// Submits a job that precedes earlier ones, and starts a worker for it. Waits until the worker has reported
    /// something, so that it holds a lease.
    pub(super) fn lease(&mut self, n: u8, name: &str, recorded: impl Fn(&str) -> bool) -> String {
        let job = self.submit(n);
        let url = self.coordinator().url();
        self.workers.push(worker(&format!("{url},{}", url.replace("127.0.0.1", "localhost")), name));
        wait_for("records", || recorded(&job));
        job
    }

    fn submit(&self, n: u8) -> String {
        let priority = (self.workers.len() * 10).to_string();
        self.coordinator().submit_with(&[&n.to_string(), "--yes", "--priority", &priority])
    }

    /// Stops all workers, or continues them.
    pub(super) fn signal(&mut self, name: &str) {
        self.workers.iter_mut().for_each(|worker| worker.signal(name));
    }

    /// Acts on a job until the coordinator has noticed the database's earlier state, and leads again from there. It
    /// notices at a transaction, or earlier if the server was away for longer than a leader's term.
    pub(super) fn wait_for_another_state(&self, kept: &str) {
        wait_for("another lead", || {
            _ = self.coordinator().queens(["priority", kept, "-1"]);
            let log = self.coordinator().log();
            let is_noticed =
                ["an earlier state was put back", "leads no more"].iter().any(|said| log.contains(said));
            is_noticed && log.matches("listening address=").count() == 2
        });
        wait_for_state(self.coordinator(), kept, "queued");
    }

    /// Assigns the numbers of lost jobs again, for smaller boards; reconnects the workers with leases of the lost jobs,
    /// and counts everything.
    #[track_caller]
    pub(super) fn finish(mut self, kept: &str, lost: &[String]) {
        // Their plans exist before the workers connect.
        let boards = [(15, "2279184"), (14, "365596")];
        let again: Vec<String> = boards.iter().take(lost.len()).map(|(n, _)| self.submit(*n)).collect();
        assert_eq!(again, lost);
        again.iter().for_each(|job| wait_for_state(self.coordinator(), job, "queued"));
        // Workers unknown to a starting coordinator may hold leases of the existing jobs.
        self.coordinator.take().expect("it runs").stop();
        self.start_coordinator();
        self.signal("CONT");
        self.coordinator().wait_for_workers(self.workers.len());
        let _fast = fast_worker(&self.coordinator().url());
        let jobs = [kept].into_iter().chain(again.iter().map(String::as_str));
        for (job, (n, solutions)) in jobs.clone().zip([(15, "2279184")].into_iter().chain(boards)) {
            wait_for_state(self.coordinator(), job, "done");
            let status = self.coordinator().status(job);
            assert_eq!((&status["n"], &status["solutions"]), (&n.into(), &solutions.into()), "{status}");
        }
        self.coordinator.take().expect("it runs").stop();
        let proof = proved(&self.address);
        assert_eq!(proof.matches("subproblems once").count(), jobs.count(), "{proof}");
    }
}

fn has_records(postgres: &Postgres, job: &str) -> bool {
    let sql = format!("SELECT count(*) FROM queens.record WHERE job = {job}");
    postgres.number("back", &sql) > 0
}

fn goes_back(is_stopped: bool) {
    let Some(mut postgres) = Postgres::start_archiving() else { return };
    let address = postgres.database("back");
    let mut counting = Counting::start(address);
    postgres.back_up();
    let kept = counting.lease(15, "anna", |job| has_records(&postgres, job));
    postgres.mark("here");
    let lost = [(17, "bert"), (16, "carl")]
        .map(|(n, name)| counting.lease(n, name, |job| has_records(&postgres, job)));
    if is_stopped {
        counting.coordinator.take().expect("it runs").stop();
    }
    counting.signal("STOP");
    postgres.go_back("here");
    if is_stopped {
        counting.start_coordinator();
        wait_for_state(counting.coordinator(), &kept, "queued");
    } else {
        counting.wait_for_another_state(&kept);
    }
    assert!(has_records(&postgres, &kept), "what was recorded before that moment is there");
    counting.finish(&kept, &lost);
}

#[test]
fn a_coordinator_is_started_again_on_a_server_that_was_recovered_to_a_point() {
    goes_back(true);
}

#[test]
fn a_coordinator_goes_on_with_a_server_that_was_recovered_to_a_point() {
    goes_back(false);
}
