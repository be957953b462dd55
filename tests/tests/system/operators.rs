//! Actions of operators on a running cluster: jobs paused and prioritised, workers drained and blocked, backups.

use std::fs;
use std::path::Path;
use std::time::Duration;

use queens_proto::pb::worker_message::Message;
use queens_proto::pb::{self, coordinator_message};
use queens_store::sqlite::{audit, audit_file};
use queens_tests::prelude::*;
use queens_tests::session::{begin, hello, said};

/// Waits until this many subproblems of a job are recorded.
#[track_caller]
fn wait_for_records(coordinator: &Coordinator, job: &str, n_recorded: u128) {
    wait_for("records", || coordinator.n_recorded(job) >= n_recorded);
}

/// Starts a fast worker to count the rest of a job, and waits for its end.
#[track_caller]
fn finish(coordinator: &Coordinator, job: &str, n: u8) {
    let _fast = fast_worker(&coordinator.url());
    check_done(coordinator, job, n);
}

#[track_caller]
fn check_done(coordinator: &Coordinator, job: &str, n: u8) {
    let status = coordinator.done(job);
    assert_eq!(status["solutions"], solutions(n).as_str());
    assert_eq!((&status["agrees"], &status["disputed"]), (&Value::from(true), &Value::from(0)), "{status}");
}

/// Returns the worker with this name.
fn worker(coordinator: &Coordinator, name: &str) -> Option<Value> {
    coordinator.workers().into_iter().find(|worker| worker["name"] == name)
}

/// Whether a worker has records.
fn counts(coordinator: &Coordinator, name: &str) -> bool {
    worker(coordinator, name).is_some_and(|worker| worker["recorded"] != 0)
}

/// Checks for success, or for the one line with the reason of a failure.
#[track_caller]
fn check_says(outcome: &Ended, expected: &str) {
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains(expected), "'{expected}' is not in {outcome:?}");
}

#[test]
fn a_paused_job_stands_still_through_a_restart_and_loses_nothing() {
    let Scenario { scratch: _scratch, data_dir, mut coordinator } = Scenario::start();
    let _workers = [coordinator.worker("first"), coordinator.worker("second")];
    let job = coordinator.submit(16);
    wait_for_records(&coordinator, &job, 20);
    check_says(&coordinator.queens(["pause", &job]), "job 1 is paused");
    check_says(&coordinator.queens(["pause", &job]), "job 1 is paused");
    wait_for("chunks in hand to be reported", || coordinator.status(&job)["workers"] == 0);
    let before = coordinator.status(&job);
    assert!(before["fraction"].as_f64().expect("a number") < 1.0, "{before}");
    coordinator = coordinator.kill_and_restart();
    coordinator.wait_for_workers(2);
    // Other jobs continue, and that one doesn't.
    let other = coordinator.json(["count", "12"]);
    assert_eq!(other["solutions"], solutions(12).as_str());
    let after = coordinator.status(&job);
    for what in ["state", "recorded", "work", "seconds", "workers"] {
        assert_eq!(after[what], before[what], "{after}");
    }
    check_says(&coordinator.queens(["resume", &job]), "job 1 is");
    check_done(&coordinator, &job, 16);
    assert_eq!(coordinator.status(&job)["verified"], 0, "nothing is counted twice");
    for change in [&["pause", &job][..], &["resume", &job], &["priority", &job, "3"]] {
        let outcome = coordinator.queens(change);
        assert!(outcome.complaint(1).contains("job 1 is done and stays so"), "{outcome:?}");
    }
    let outcome = coordinator.queens(["cancel", &job]);
    assert!(outcome.complaint(1).contains("job 1 is done and stays so"), "{outcome:?}");
    coordinator.stop();
    assert!(audit(&data_dir).expect("consistent records").iter().all(|job| job.is_complete()));
}

#[test]
fn a_drained_worker_gives_back_what_it_has_not_begun_and_ends_well() {
    let Scenario { scratch, coordinator, .. } = Scenario::start();
    let mut drained = logging_worker(&coordinator.url(), "drained", scratch.path());
    let job = coordinator.submit(16);
    wait_for_records(&coordinator, &job, 10);
    check_says(&coordinator.queens(["workers", "drain", "drained"]), "1 worker named 'drained': draining");
    assert!(drained.wait().success());
    let log = drained.log();
    let told = "the coordinator says: the operator has drained this worker: it reports its counts and ends";
    assert!(log.contains(told) && log.contains("drained by the coordinator"), "{log}");
    assert_eq!(log.matches("WARN").count(), 1, "{log}");
    wait_for("its goodbye", || worker(&coordinator, "drained").is_none());
    let status = coordinator.status(&job);
    assert_eq!((&status["state"], &status["workers"]), (&Value::from("queued"), &Value::from(0)), "{status}");
    // The next of the name is another worker.
    let _next = coordinator.worker("drained");
    wait_for("the next to count", || counts(&coordinator, "drained"));
    check_done(&coordinator, &job, 16);
    assert_eq!(coordinator.status(&job)["verified"], 0, "nothing is counted twice");
    let outcome = coordinator.queens(["workers", "drain", "nobody"]);
    assert!(outcome.complaint(1).contains("there is no worker named 'nobody'"), "{outcome:?}");
}

#[test]
fn a_blocked_worker_gets_nothing_says_why_and_goes_on_when_it_is_unblocked() {
    let Scenario { scratch, mut coordinator, .. } = Scenario::start();
    let blocked = logging_worker(&coordinator.url(), "bad", scratch.path());
    let job = coordinator.submit(16);
    wait_for_records(&coordinator, &job, 10);
    check_says(&coordinator.queens(["workers", "block", "bad"]), "1 worker named 'bad': blocked");
    wait_for("its chunk", || coordinator.status(&job)["workers"] == 0);
    coordinator = coordinator.kill_and_restart();
    let again =
        wait_until("it to come back", || worker(&coordinator, "bad").filter(|w| w["connected"] == true));
    assert_eq!((&again["state"], &again["leases"]), (&Value::from("blocked"), &Value::from(0)), "{again}");
    let n_recorded = coordinator.n_recorded(&job);
    // No other worker is there: with a lease, it would count.
    let other = coordinator.worker("good");
    wait_for_records(&coordinator, &job, n_recorded + 5);
    assert_eq!(worker(&coordinator, "bad").expect("is there")["recorded"], 0);
    blocked.kill();
    wait_for("it to be given up", || {
        worker(&coordinator, "bad").expect("still listed")["connected"] == false
    });
    let table = wait_until("the block alone to be listed", || {
        let table = coordinator.queens(["workers"]).stdout;
        table.lines().any(|line| line.starts_with("bad") && line.contains("not connected")).then_some(table)
    });
    assert!(table.contains("good"), "{table}");
    other.kill();
    let again = logging_worker(&coordinator.url(), "bad", scratch.path());
    again.wait_for_log("workers named 'bad' are blocked");
    check_says(&coordinator.queens(["workers", "unblock", "bad"]), "1 worker named 'bad': not blocked");
    wait_for("it to count", || counts(&coordinator, "bad"));
    finish(&coordinator, &job, 16);
    for (what, done) in [("block", "blocked"), ("unblock", "not blocked")] {
        let outcome = coordinator.queens(["workers", what, "nobody"]);
        check_says(&outcome, &format!("workers named 'nobody': {done}; there is none at present"));
    }
    let outcome = coordinator.queens(["workers", "unblock", "nobody"]);
    assert!(outcome.complaint(1).contains("there is no worker named 'nobody'"), "{outcome:?}");
}

/// Runs a worker with the real protocol and a kernel that always fails.
async fn failing_worker(url: String, id: u64) {
    let (sender, mut answers) = begin(url, hello(id, &format!("broken {id}"))).await;
    let notice = pb::WorkerNotice { text: "the card cuda:0\nis hot".to_owned() };
    sender.send(said(Message::Notice(notice))).await.expect("open");
    let sensors = pb::CardSensors { celsius: Some(46), watts: None, megahertz: Some(u32::MAX) };
    sender.send(said(Message::Sensors(sensors))).await.expect("open");
    let mut sequence = 0;
    loop {
        let answer = tokio::time::timeout(Duration::from_secs(2), answers.message()).await;
        sequence += 1;
        let mut finished = vec![];
        if let Ok(answer) = answer {
            let Ok(Some(pb::CoordinatorMessage { message: Some(message) })) = answer else { return };
            let coordinator_message::Message::Lease(lease) = message else { continue };
            let span = lease.spans[0].span;
            let (job, reason) = (lease.job, "the kernel\nhas panicked".to_owned());
            let failure = pb::Failure { job, lease: lease.lease, span, reason };
            sender.send(said(Message::Failure(failure))).await.expect("open");
            finished.push(lease.lease);
        }
        let report = pb::Report { sequence, deltas: vec![], finished };
        sender.send(said(Message::Report(report))).await.expect("open");
    }
}

#[test]
fn a_job_whose_spans_fail_on_all_that_are_there_says_so_and_is_counted_by_another() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let runtime = runtime();
    let job = coordinator.submit(14);
    let broken: Vec<_> = (1..=3).map(|id| runtime.spawn(failing_worker(coordinator.url(), id))).collect();
    coordinator.wait_for_state(&job, "failed");
    let watched = coordinator.queens(["watch", &job]);
    assert_eq!(watched.status.code(), Some(1), "{watched:?}");
    // The list of workers may be a second older than the jobs.
    let failing = wait_until("the worker that fails", || {
        worker(&coordinator, "broken 1").filter(|worker| worker["state"] == "failing")
    });
    assert_eq!(
        (&failing["state"], &failing["failure"]),
        (&Value::from("failing"), &Value::from("the kernel has panicked"))
    );
    assert_eq!(failing["sensors"], json!({ "celsius": 46, "watts": null, "megahertz": null }));
    assert!(coordinator.queens(["workers"]).stdout.contains("  46 °C  "), "the list has it");
    // Operators can read what workers tell them.
    let events =
        http::get(&coordinator.http(), "/api/v1/events?worker=broken%201").json()["events"].to_string();
    assert!(events.contains("broken 1: the card cuda:0 is hot"), "{events}");
    let status = coordinator.status(&job);
    let n_failed = status["failed"].as_u64().expect("a number");
    assert!(n_failed > 0 && number(&status["recorded"]) < number(&status["subproblems"]), "{status}");
    let text = coordinator.queens(["status", &job]).stdout;
    assert!(
        text.contains("on all that are here to try") && text.contains("the kernel has panicked"),
        "{text}"
    );
    // Three have failed, so another worker gets the work.
    let _honest = coordinator.worker("honest");
    check_done(&coordinator, &job, 14);
    assert_eq!(coordinator.status(&job)["failed"], 0);
    broken.iter().for_each(tokio::task::JoinHandle::abort);
}

fn maintain(args: &[&str], data_dir: &Path) -> Ended {
    queens_coordinator(&[args, &["--data-dir", utf8(data_dir)]].concat())
}

#[test]
fn a_backup_of_a_running_coordinator_can_be_gone_on_with() {
    let Scenario { scratch, data_dir, coordinator } = Scenario::start();
    let worker = coordinator.worker("only");
    let job = coordinator.submit(16);
    wait_for_records(&coordinator, &job, 20);
    let file = scratch.join("backup.db");
    let path = utf8(&file);
    check_says(&maintain(&["backup", path], &data_dir), path);
    let at_backup = coordinator.n_recorded(&job);
    assert!(maintain(&["backup", path], &data_dir).complaint(1).contains("is there already"));
    assert!(maintain(&["check"], &data_dir).complaint(1).contains("in use by another process"));
    check_says(&maintain(&["check", path], &data_dir), "job 1  n = 16  active");
    let in_backup = audit_file(&file).expect("consistent records")[0].n_recorded;
    assert!((20..=at_backup).contains(&in_backup), "{in_backup} of {at_backup}");
    wait_for_records(&coordinator, &job, at_backup + 1);
    coordinator.stop();
    worker.kill();

    let restored = scratch.join("restored");
    fs::create_dir(&restored).expect("created");
    fs::copy(&file, restored.join("queens.db")).expect("copied");
    let coordinator = Coordinator::start(&restored);
    assert_eq!(coordinator.n_recorded(&job), in_backup);
    let _worker = coordinator.worker("only");
    finish(&coordinator, &job, 16);
    coordinator.stop();
    check_says(&maintain(&["check"], &restored), &format!("{} solutions", solutions(16)));
    // A directory may be given in place of a backup.
    let checked = maintain(&["check", utf8(&restored)], Path::new("nowhere"));
    check_says(&checked, &format!("{} solutions", solutions(16)));
    tamper(&restored, "UPDATE record SET solutions = solutions + 1 WHERE part = 7");
    assert!(maintain(&["check"], &restored).complaint(1).contains("part 7"));
}

#[test]
fn a_coordinator_listens_on_names_and_says_what_it_expects() {
    let scratch = TempDir::new();
    let listen = |address: &str| run(coordinator_command(address, &scratch.join("data")));
    assert!(listen("localhost").complaint(2).contains("such as 127.0.0.1:8000"));
    assert!(listen("localhost:http").complaint(2).contains("such as 127.0.0.1:8000"));
    assert!(listen("host.invalid:1").complaint(1).contains("failed to listen on host.invalid:1"));
    Coordinator::start_listening("localhost:0", &scratch.join("data")).stop();
}

#[test]
fn a_server_that_is_no_coordinator_is_named_as_such() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            _ = std::io::Write::write_all(&mut &stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let complaint = |args: &[&str], url: &str| {
        let outcome = run(queens(args).args(["--coordinator", url]));
        assert!(outcome.complaint(1).contains(url), "{outcome:?}");
        outcome.complaint(1).to_owned()
    };
    for args in [&["jobs"][..], &["count", "8"], &["pause", "1"]] {
        assert!(complaint(args, &url).contains("no coordinator"));
    }
    // The likeliest mistake: the other port.
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let pages = format!("http://{}", coordinator.http());
    for args in [&["jobs"][..], &["watch", "1"], &["pause", "1"]] {
        assert!(complaint(args, &pages).contains("the address of its --http"));
    }
    coordinator.stop();
}

#[test]
fn a_job_that_waits_for_its_plan_says_for_how_many_others() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let [first, second] = [coordinator.submit(32), coordinator.submit(31)];
    assert_eq!(coordinator.status(&first)["plans_before"], Value::Null);
    assert_eq!(coordinator.status(&second)["plans_before"], 1);
    let status = coordinator.queens(["status", &second]).stdout;
    assert!(status.contains("waiting to be planned (1 other plan before it)"), "{status}");
    let jobs = coordinator.queens(["jobs"]).stdout;
    assert!(jobs.contains("planning, 1 before it"), "{jobs}");
    check_says(&coordinator.queens(["cancel", &first]), "job 1 is cancelled, priority 0");
    wait_for("its turn", || coordinator.status(&second)["plans_before"].is_null());
    check_says(&coordinator.queens(["cancel", &second]), "job 2 is cancelled, priority 0");
    coordinator.stop();
}

#[test]
fn boards_of_a_range_are_submitted_one_by_one_until_one_is_refused() {
    let behind = Behind::new(&["--max-submissions", "5"]);
    let token = behind.token("operator");
    let queens = |args: &str| behind.queens(&token, args.split(' '));
    check_says(&queens("submit 8-10 --priority 3"), "1\n2\n3\n");
    let jobs = queens("jobs --output json").answer();
    let jobs = jobs.as_array().expect("a list");
    let told: Vec<_> = jobs.iter().map(|job| (job["n"].as_u64(), job["priority"].as_i64())).collect();
    assert_eq!(told, [8, 9, 10].map(|n| (Some(n), Some(3))));
    let refused = queens("submit 11-14 --output json");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(refused.stdout, "{\"job\":\"4\"}\n{\"job\":\"5\"}\n");
    for part in ["error: n = 13: ", "5 jobs were submitted", "before it: n = 11 as job 4, n = 12 as job 5"] {
        assert!(refused.stderr.contains(part), "{refused:?}");
    }
    let refused = queens("submit 13-14");
    assert!(!refused.complaint(1).contains("before it"), "nothing was: {refused:?}");
    assert_eq!(queens("jobs --output json").answer().as_array().map(Vec::len), Some(5));
}

#[test]
fn jobs_are_listed_by_their_states() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let jobs = |state: &str| coordinator.json(["jobs", "--state", state]);
    check_says(&coordinator.queens(["jobs", "--state", "running"]), "no jobs; 'queens submit N' makes one");
    let ids = [coordinator.submit(14), coordinator.submit(14), coordinator.submit(14)];
    assert_eq!(coordinator.queens(["cancel", &ids[0]]).status.code(), Some(0));
    assert_eq!(coordinator.queens(["pause", &ids[1]]).status.code(), Some(0));
    coordinator.wait_for_state(&ids[2], "queued");
    for (state, expected) in
        [("cancelled", &[1][..]), ("paused,cancelled", &[1, 2]), ("queued", &[3]), ("done", &[])]
    {
        let jobs = jobs(state);
        let found = jobs.as_array().expect("a list").iter().map(|job| job["job"].as_str().map(str::to_owned));
        let expected = expected.iter().map(|id: &u64| Some(id.to_string()));
        assert!(found.eq(expected), "{state}: {jobs}");
    }
    let twice = coordinator.queens(["jobs", "--state", "paused", "--state", "queued"]).stdout;
    assert_eq!(twice.lines().count(), 3, "{twice}");
    let none = coordinator.queens(["jobs", "--state", "done,failed"]);
    check_says(&none, "no job is done or failed; there are 3 others");
    coordinator.stop();
}
