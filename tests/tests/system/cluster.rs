//! Counting through a cluster: a coordinator and workers as separate processes.

use std::path::Path;

use queens_solver::{BoardSize, published};
use queens_store::sqlite::audit;
use queens_tests::data_dir::n_jobs;
use queens_tests::prelude::*;
use queens_tests::proxy::Proxy;

fn fundamental(n: u8) -> String {
    let n = BoardSize::new(n).expect("a board size");
    published(n).expect("published").fundamental.to_string()
}

/// Checks the records in a data directory: they are disjoint, and add up to this total.
#[track_caller]
fn check_records(data_dir: &Path, expected: &[u8]) {
    let jobs = audit(data_dir).expect("consistent records");
    let totals: Vec<String> = jobs.iter().map(|job| job.total.to_string()).collect();
    assert_eq!(totals, expected.iter().map(|&n| solutions(n)).collect::<Vec<_>>());
    assert!(jobs.iter().all(|job| job.is_complete()), "{jobs:?}");
}

#[test]
fn every_board_up_to_15_is_counted_through_a_cluster() {
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::start();
    let _workers = [coordinator.worker("first"), coordinator.worker("second")];
    for n in 0..=15 {
        let answer = coordinator.json(["count", &n.to_string()]);
        assert_eq!(answer["solutions"], solutions(n).as_str(), "{answer}");
        assert_eq!(answer["agrees"], true, "{answer}");
    }
    coordinator.stop();
    check_records(&data_dir, &(0..=15).collect::<Vec<_>>());
}

#[test]
fn jobs_of_different_boards_are_counted_side_by_side() {
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::start();
    let jobs = [(15, coordinator.submit(15)), (14, coordinator.submit(14)), (13, coordinator.submit(13))];
    assert_eq!(coordinator.status(&jobs[0].1)["state"], "queued");
    // In a container, the environment has an address that only containers know.
    let advice = run(queens(["workers"]).env("QUEENS_COORDINATOR", coordinator.url())).good().stdout;
    assert!(advice.contains("docker compose up") && !advice.contains(&coordinator.url()), "{advice}");
    assert!(coordinator.queens(["workers"]).stdout.contains(&coordinator.url()));
    let _workers = [coordinator.worker("first"), coordinator.worker("second")];
    for (n, job) in &jobs {
        let watched = coordinator.queens(["watch", job]).good();
        let status = coordinator.status(job);
        assert_eq!(status["state"], "done");
        assert_eq!(status["solutions"], solutions(*n).as_str());
        assert_eq!((fraction(&status), status["seconds_left"].as_f64()), (1.0, Some(0.0)));
        assert_eq!(status["fundamental"], fundamental(*n).as_str());
        assert!(watched.stdout.contains(&format!("fundamental: {}", fundamental(*n))), "{watched:?}");
    }
    coordinator.stop();
    check_records(&data_dir, &[15, 14, 13]);
    // Another coordinator computes the total again.
    let coordinator = Coordinator::start(&data_dir);
    for (n, job) in &jobs {
        wait_for("the fundamental number", || {
            coordinator.status(job)["fundamental"] == fundamental(*n).as_str()
        });
    }
}

#[test]
fn a_command_whose_coordinator_does_not_answer_fails_soon_and_says_what_it_tried() {
    let nobody = "http://127.0.0.1:9";
    for args in
        [&["jobs"][..], &["status", "1"], &["count", "8"], &["submit", "8"], &["watch", "1"], &["workers"]]
    {
        let outcome = run(queens(args).args(["--coordinator", nobody]));
        assert!(outcome.complaint(1).contains(nobody), "{outcome:?}");
        assert!(outcome.elapsed < promised(8), "{outcome:?}");
    }
}

/// A coordinator that is lost between a submission and its answer: on the first call of a connection, and on a later
/// one.
#[test]
fn a_submission_without_an_answer_may_be_a_job_and_that_is_said() {
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::start();
    for (number, method) in [(1, "search"), (2, "auto")] {
        let proxy = Proxy::start(coordinator.address());
        let dir = data_dir.clone();
        proxy.hold_answers(move || n_jobs(&dir) == number);
        let mut command = queens(["submit", "8", "--method", method, "--coordinator", &proxy.url()]);
        let submitting = Running::start(&mut command);
        wait_for("the job", || n_jobs(&data_dir) == number);
        proxy.cut();
        let outcome = submitting.wait();
        let complaint = outcome.complaint(1);
        assert!(complaint.contains("it may be done all the same"), "{outcome:?}");
        assert!(complaint.contains(&format!("'queens jobs --coordinator {}", proxy.url())), "{outcome:?}");
    }
    coordinator.stop();
}

/// A worker that leaves without a connection reports any lost work.
#[test]
fn a_worker_that_leaves_without_a_connection_says_what_it_takes_along() {
    let Scenario { scratch, coordinator, .. } = Scenario::start();
    let end = |mut worker: Service| {
        worker.logged("no connection to the coordinator");
        worker.signal("TERM");
        worker.wait();
        worker.log()
    };
    let log = end(logging_worker("http://127.0.0.1:9", "idle", scratch.path()));
    assert!(log.contains("everything it reported is recorded") && !log.contains("is lost"), "{log}");

    let job = coordinator.submit(LONG);
    let worker = logging_worker(&coordinator.url(), "busy", scratch.path());
    coordinator.wait_for_records(&job);
    coordinator.kill();
    let log = end(worker);
    assert!(log.contains("counts since the last acknowledged report are lost"), "{log}");
}

#[test]
fn a_job_can_be_cancelled_and_what_does_not_exist_is_said_so() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let _worker = coordinator.worker("only");
    let job = coordinator.submit(17);
    coordinator.wait_for_state(&job, "running");
    assert_eq!(coordinator.queens(["cancel", &job]).status.code(), Some(0));
    assert_eq!(coordinator.status(&job)["state"], "cancelled");
    let watched = coordinator.queens(["watch", &job]);
    assert_eq!(watched.status.code(), Some(1), "{watched:?}");
    // A watcher ends when nobody reads its output.
    let running = coordinator.submit(19);
    let mut unread = Running::start(&mut coordinator.queens_command(["watch", &running]));
    unread.close_stdout();
    let unread = unread.wait();
    assert_eq!((unread.status.code(), unread.stderr.as_str()), (Some(0), ""), "{unread:?}");
    assert_ne!(coordinator.status(&running)["state"], "done");
    assert_eq!(coordinator.queens(["cancel", &running]).status.code(), Some(0));
    // The worker is free for the next job at once.
    let answer = coordinator.json(["count", "10", "--priority", "5"]);
    assert_eq!((&answer["solutions"], &coordinator.status("3")["priority"]), (&json!("724"), &json!(5)));
    for args in [["status", "99"], ["cancel", "99"], ["watch", "99"]] {
        let outcome = coordinator.queens(args);
        assert!(outcome.complaint(1).contains("there is no job 99"), "{outcome:?}");
    }
}
