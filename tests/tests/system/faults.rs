//! Faults of real processes: killed, stopped, cut off, garbled, full or truncated. Each job ends with the right count,
//! and its records prove it.
//!
//! Each scenario has a fixed number of faults, at given shares of the job, none before it runs or after it is done.
//! With the environment variable `QUEENS_FAULTS` set to `full`, boards are larger and faults more numerous.

use std::fs::File;
use std::net::TcpStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use queens_store::sqlite::audit;
use queens_tests::data_dir::{Record, counting_time, share};
use queens_tests::disk::SmallDisk;
use queens_tests::files::limited;
use queens_tests::prelude::*;
use queens_tests::proxy::Proxy;
use queens_tests::workers::worker;

/// Longer than any timeout between workers and coordinators: both sides notice a cut of this length.
const LONG: Duration = Duration::from_secs(25);

fn full() -> bool {
    is_full("QUEENS_FAULTS")
}

/// Returns a board that takes long enough for the faults.
fn board() -> u8 {
    if full() { 18 } else { 16 }
}

/// A coordinator with an unfinished job.
struct Scene {
    // Dropped, and so killed, before its directory.
    coordinator: Option<Coordinator>,
    scratch: TempDir,
    n: u8,
    job: String,
    /// The share that the coordinator reported as recorded.
    told: f64,
    n_faults: usize,
}

impl Scene {
    fn new(n: u8) -> Self {
        Self::on(TempDir::new(), n)
    }

    fn on(scratch: TempDir, n: u8) -> Self {
        let coordinator = Coordinator::start_with_http(&scratch.join("data"));
        let job = coordinator.submit(n);
        Self { coordinator: Some(coordinator), scratch, n, job, told: 0.0, n_faults: 0 }
    }

    fn coordinator(&self) -> &Coordinator {
        self.coordinator.as_ref().expect("it runs")
    }

    fn data_dir(&self) -> PathBuf {
        self.scratch.join("data")
    }

    /// Returns the coordinator's status of the job, whose recorded share never decreases.
    #[track_caller]
    fn status(&mut self) -> Value {
        let status = self.coordinator().status(&self.job);
        let fraction = fraction(&status);
        assert!(fraction >= self.told, "{} was recorded before, now {status}", self.told);
        self.told = fraction;
        status
    }

    /// Waits until this share is recorded, and the job runs unfinished.
    #[track_caller]
    fn wait_for(&mut self, share: f64) {
        let status = wait_until("progress", || {
            let status = self.status();
            // After an earlier fault, no worker may be connected for the moment.
            let is_there = fraction(&status) >= share && status["state"] != "queued";
            is_there.then_some(status)
        });
        assert_eq!(status["state"], "running", "the fault has to strike before the job is done");
        self.n_faults += 1;
    }

    /// Checks that the job is not done yet.
    #[track_caller]
    fn check_unfinished(&mut self) {
        let status = self.status();
        assert!(fraction(&status) < 1.0, "too late for a fault: {status}");
    }

    fn kill_coordinator(&mut self) -> Vec<Port> {
        let coordinator = self.coordinator.take().expect("it runs");
        let ports = coordinator.ports();
        coordinator.kill();
        ports
    }

    #[track_caller]
    fn start_coordinator(&mut self, ports: Vec<Port>) {
        self.coordinator = Some(Coordinator::start_with_http_on(ports, &self.data_dir()));
    }

    /// Waits for the end of the job and checks its total, also against the records.
    #[track_caller]
    fn finish(mut self, what: &str) {
        let _fast = fast_worker(&self.coordinator().url());
        wait_for("the count", || self.status()["state"] == "done");
        assert_eq!(self.status()["solutions"], solutions(self.n).as_str());
        self.coordinator.take().expect("it runs").stop();
        let jobs = audit(&self.data_dir()).expect("consistent records");
        let [job] = &jobs[..] else { panic!("one job: {jobs:?}") };
        assert!(job.is_complete() && job.total.to_string() == solutions(self.n), "{job:?}");
        say(&format!("Q({}) = {}; faults: {}; {what}", self.n, job.total, self.n_faults));
    }
}

#[test]
fn everything_is_killed_at_once_and_only_the_unreported_seconds_are_lost() {
    let mut scene = Scene::new(board());
    let mut most_lost = Duration::ZERO;
    for (life, until) in [0.15, 0.4, 0.6, 0.8].into_iter().take(if full() { 4 } else { 2 }).enumerate() {
        let names = ["first", "second"].map(|name| format!("{name}-{life}"));
        let born = Instant::now();
        let workers = names.each_ref().map(|name| scene.coordinator().worker(name));
        scene.wait_for(until);
        let spent = workers.each_ref().map(|worker| processor_time(worker.id()));
        let lived = born.elapsed();
        let ports = scene.kill_coordinator();
        workers.into_iter().for_each(|worker| _ = worker.kill());

        let on_disk = share(&scene.data_dir()).expect("a database");
        // Fractions lose precision in print.
        assert!(on_disk + 1e-9 >= scene.told, "{} was told, {on_disk} is on disk", scene.told);
        for (name, spent) in names.iter().zip(spent) {
            // Chunks are timed by the wall clock, which is at least as fast as processor time.
            let recorded = counting_time(&scene.data_dir(), name).expect("a database");
            let lost = spent.as_secs_f64() - recorded.as_secs_f64();
            assert!(lost < 2.5, "{name} has counted for {spent:?}, {recorded:?} of it are recorded");
            most_lost = (lived.saturating_sub(recorded)).max(most_lost);
        }
        scene.start_coordinator(ports);
        scene.check_unfinished();
    }
    let _workers = [scene.coordinator().worker("last"), scene.coordinator().worker("least")];
    scene.finish(&format!(
        "all processes killed; at most {most_lost:.1?} of a worker's life are not on record"
    ));
}

#[test]
fn a_stopped_worker_holds_nobody_up_and_comes_back() {
    let mut scene = Scene::new(board());
    let mut stopped = scene.coordinator().worker("stopped");
    let other = scene.coordinator().worker("other");
    scene.wait_for(0.2);
    stopped.signal("STOP");
    scene.check_unfinished();
    wait_for("the count", || scene.status()["state"] == "done");
    // It learns that it was given up, and works again.
    stopped.signal("CONT");
    other.kill();
    let answer = scene.coordinator().json(["count", "14"]);
    assert_eq!(answer["solutions"], solutions(14).as_str());
    drop(stopped);
    let n = scene.n;
    scene.coordinator.take().expect("it runs").stop();
    let jobs = audit(&scene.data_dir()).expect("consistent records");
    assert_eq!(jobs[0].total.to_string(), solutions(n));
    assert!(jobs.iter().all(|job| job.is_complete()), "{jobs:?}");
    say(&format!("Q({n}) = {}; faults: 1; a worker stopped, and let go on when all was done", jobs[0].total));
}

#[test]
fn a_stopped_coordinator_goes_on() {
    let mut scene = Scene::new(board());
    let _workers = [scene.coordinator().worker("first"), scene.coordinator().worker("second")];
    // The first exceeds the timeout for silent workers, and is less than a worker's timeout for the coordinator.
    let pauses = [Duration::from_secs(17), LONG];
    for (at, pause) in [0.1, 0.3].into_iter().zip(pauses) {
        scene.wait_for(at);
        let coordinator = scene.coordinator.as_mut().expect("it runs");
        coordinator.signal("STOP");
        thread::sleep(pause);
        coordinator.signal("CONT");
        scene.check_unfinished();
        if pause < LONG {
            scene.coordinator().wait_for_log("this process was suspended");
            assert!(!scene.coordinator().log().contains("nothing was heard of the worker"));
        }
    }
    scene.finish("the coordinator stopped for 17 s and for 25 s");
}

#[test]
fn a_full_disk_stops_acknowledgements_and_loses_nothing() {
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    let Some(disk) = SmallDisk::over(&data_dir, 32 << 10) else {
        return skipped_without_root("a full disk, as it takes root to mount a small one");
    };
    let mut scene = Scene::on(scratch, board());
    let _workers = [scene.coordinator().worker("first"), scene.coordinator().worker("second")];
    for at in [0.05, 0.3].into_iter().take(if full() { 2 } else { 1 }) {
        scene.wait_for(at);
        disk.fill();
        let full = wait_until("the status to say so", || {
            let status = scene.status();
            status["store_error"].is_string().then_some(status)
        });
        assert_ne!(full["state"], "done", "too late for a fault: {full}");
        let told = scene.coordinator().queens(["status", &scene.job]).stderr;
        assert!(told.contains("records nothing at present") && told.contains("full"), "{told}");
        // Workers have sent more reports since, which are neither acknowledged nor lost.
        thread::sleep(Duration::from_secs(3));
        let still = scene.status();
        assert_eq!((&still["recorded"], &still["solutions"]), (&full["recorded"], &full["solutions"]));
        let on_disk: i64 = records(&data_dir).expect("readable").iter().map(Record::n_subproblems).sum();
        let told = i64::try_from(number(&full["recorded"])).expect("few");
        // The last transaction before the failing one may not be told yet.
        assert!(told <= on_disk, "{told} are told, and {on_disk} are on disk");
        let log = scene.coordinator().log();
        assert!(log.contains("nothing is acknowledged") && log.contains("full"), "{log}");
        // Pages do not wait for a failing write.
        let http = scene.coordinator().http();
        let ready = http::get(&http, "/readyz");
        assert!(ready.status == 503 && ready.body.contains("full"), "{ready:?}");
        let submitted = http::post(&http, "/api/v1/jobs", r#"{"n":8}"#);
        assert!(submitted.status == 503 && submitted.body.contains("nothing was changed"), "{submitted:?}");
        assert_eq!(http::get(&http, "/api/v1/jobs").json()["jobs"][0]["store_error"], full["store_error"]);
        disk.make_room();
        wait_for("the status to say so", || scene.status()["store_error"].is_null());
        assert_eq!(http::get(&http, "/readyz").status, 200);
        scene.coordinator().wait_for_log("the store can be written again");
    }
    // A coordinator that starts on a full disk also waits for room.
    scene.wait_for(0.4);
    disk.fill();
    let ports = scene.kill_coordinator();
    scene.start_coordinator(ports);
    wait_for("the status to say so", || scene.status()["store_error"].is_string());
    scene.check_unfinished();
    disk.make_room();
    scene.finish("the disk full, also for a coordinator that starts");
    drop(disk);
}

#[test]
fn a_log_that_was_cut_short_costs_work_and_no_count() {
    let mut scene = Scene::new(board());
    let _workers = [scene.coordinator().worker("first"), scene.coordinator().worker("second")];
    // The bytes that remain of each 1000.
    for (at, left) in [(0.1, 999), (0.2, 500), (0.3, 0)] {
        scene.wait_for(at);
        let ports = scene.kill_coordinator();
        let log = scene.data_dir().join(format!("{DATABASE}-wal"));
        let file = File::options().write(true).open(&log).expect("a killed coordinator leaves its log");
        let length = file.metadata().expect("a file").len();
        assert!(length > 0);
        file.set_len(length * left / 1000).expect("cut");
        drop(file);
        // The log's loss loses acknowledged records: this disk has lied.
        scene.told = 0.0;
        scene.start_coordinator(ports);
        scene.check_unfinished();
    }
    scene.finish("the write-ahead log cut short");
}

#[test]
fn connections_that_there_are_no_files_for_are_turned_away_without_effort() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::by(|command| limited(&command, 40));
    let connect = |_| TcpStream::connect(coordinator.address()).expect("connected");
    let connections: Vec<TcpStream> = (0..60).map(connect).collect();
    coordinator.wait_for_log("a connection was closed at once");
    let before = processor_time(coordinator.id());
    thread::sleep(Duration::from_secs(2));
    let used = processor_time(coordinator.id()) - before;
    assert!(used < Duration::from_millis(500), "{used:?} of 2 s to wait for files");
    drop(connections);
    let _worker = coordinator.worker("only");
    let answer = coordinator.json(["count", "10"]);
    assert_eq!(answer["solutions"], solutions(10).as_str());
}

/// Starts two workers whose connections go through a proxy.
fn behind(proxy: &Proxy) -> [Running; 2] {
    ["first", "second"].map(|name| worker(&proxy.url(), name))
}

#[test]
fn cut_and_slow_connections_cost_nothing() {
    let mut scene = Scene::new(board());
    let proxy = Proxy::start(scene.coordinator().address());
    let _workers = behind(&proxy);
    for (at, delay) in [(0.05, 0), (0.15, 100), (0.25, 400), (0.4, 0)] {
        scene.wait_for(at);
        proxy.delay(Duration::from_millis(delay));
        proxy.cut();
        scene.check_unfinished();
    }
    scene.finish("all connections cut, and slow for a while");
}

#[test]
fn garbled_bytes_cost_time_and_no_count() {
    // Time must pass for this many pieces of data.
    let mut scene = Scene::new(17);
    let proxy = Proxy::start(scene.coordinator().address());
    let _workers = behind(&proxy);
    let rounds = if full() { 12 } else { 4 };
    for round in 1..=rounds {
        scene.wait_for(0.05 * f64::from(round) / f64::from(rounds));
        let before = proxy.n_garbled();
        proxy.garble(3);
        wait_for("garbled bytes", || proxy.n_garbled() >= before + 3);
        scene.check_unfinished();
    }
    assert_eq!(proxy.n_garbled(), 3 * u64::try_from(rounds).expect("few"));
    scene.finish("each of them three garbled pieces of data");
}

#[test]
fn half_open_connections_are_noticed_and_made_again() {
    let mut scene = Scene::new(board());
    let proxy = Proxy::start(scene.coordinator().address());
    let _workers = behind(&proxy);
    scene.wait_for(0.2);
    proxy.swallow(true);
    thread::sleep(LONG);
    scene.check_unfinished();
    proxy.swallow(false);
    scene.finish("nothing arrived for 25 s, and nobody was told");
}

#[test]
fn a_full_disk_is_told_of_a_coordinator_without_jobs() {
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    let Some(disk) = SmallDisk::over(&data_dir, 32 << 10) else {
        return skipped_without_root("a full disk without jobs, as it takes root to mount a small one");
    };
    let coordinator = Coordinator::start_with_http(&data_dir);
    disk.fill();
    // Nobody notices before the next write.
    let submitted = coordinator.queens(["submit", "8"]);
    assert!(submitted.complaint(1).contains("it may be done all the same"), "{submitted:?}");
    let told = coordinator.queens(["jobs"]);
    assert!(told.stdout.starts_with("no jobs"), "{told:?}");
    assert!(told.stderr.contains("records nothing at present") && told.stderr.contains("full"), "{told:?}");
    let http = coordinator.http();
    let of_itself = http::get(&http, "/api/v1/coordinator").json();
    assert!(of_itself["store_error"].as_str().is_some_and(|error| error.contains("full")), "{of_itself}");
    assert!(of_itself["refuses"][0].as_str().is_some_and(|what| what.contains("reports")), "{of_itself}");
    disk.make_room();
    wait_for("it to be written", || !coordinator.queens(["jobs"]).stdout.starts_with("no jobs"));
    assert_eq!(coordinator.queens(["jobs"]).stderr, "");
    let of_itself = http::get(&http, "/api/v1/coordinator").json();
    assert_eq!((&of_itself["store"], &of_itself["store_error"]), (&"sqlite".into(), &Value::Null));
    assert_eq!(of_itself["refuses"].as_array().map(Vec::len), Some(0), "{of_itself}");
    coordinator.stop();
    drop(disk);
}
