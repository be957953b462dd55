//! The contributions of workers to a job.

use std::process::Stdio;

use queens_tests::prelude::*;

fn work(of: &Value) -> u128 {
    of["work"].as_str().and_then(|work| work.parse().ok()).expect("a number of nodes")
}

#[test]
fn who_has_counted_a_job_or_a_cross_is_told_also_after_a_restart() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let job = coordinator.submit(15);
    let none = coordinator.queens(["contributions", &job]);
    assert_eq!(none.stdout, format!("nothing is recorded of job {job}\n"));
    {
        let _workers = [coordinator.worker("anna"), coordinator.worker("bert")];
        assert_eq!(coordinator.queens(["watch", &job]).status.code(), Some(0));
    }
    let status = coordinator.status(&job);
    let told = wait_until("what was kept before to be old", || {
        let told = coordinator.json(["contributions", &job]);
        let all: u128 = told.as_array().expect("an array").iter().map(work).sum();
        (all == work(&status)).then_some(told)
    });
    let told = told.as_array().expect("an array");
    let mut workers: Vec<&str> = told.iter().filter_map(|one| one["worker"].as_str()).collect();
    workers.sort_unstable();
    assert_eq!(workers, ["anna", "bert"]);
    assert!(
        told.iter().all(|one| one["spans"].as_u64() > Some(0) && one["core_seconds"].as_f64() > Some(0.0))
    );
    let shares: f64 = told.iter().filter_map(|one| one["share"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    let text = coordinator.queens(["contributions", &job]).stdout;
    assert!(text.starts_with("WORKER") && text.contains("CORE-HOURS") && text.contains("anna"), "{text}");

    let site = coordinator.http();
    let by_http = http::get(&site, &format!("/api/v1/jobs/{job}/contributions")).json();
    assert_eq!((&by_http["contributions"], &by_http["total"]), (&json!(told), &json!(2)));
    let part = http::get(&site, &format!("/api/v1/jobs/{job}/parts/0")).json();
    let counted_by = part["counted_by"].as_array().expect("an array");
    assert_eq!(counted_by.iter().map(work).sum::<u128>(), work(&part), "{part}");
    assert_eq!(http::get(&site, "/api/v1/jobs/99/contributions").status, 404);
    let unknown = coordinator.queens(["contributions", "99"]);
    assert_eq!(unknown.complaint(1), "error: there is no job 99");

    let coordinator = coordinator.kill_and_restart();
    assert_eq!(coordinator.json(["contributions", &job]), json!(told));
}

#[test]
fn a_count_through_a_cluster_names_those_that_counted_and_no_others() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    _ = coordinator.queens(["workers", "block", "idle"]);
    let mut command = program("queens-worker");
    command.args(["--coordinator", &coordinator.url(), "--name", "idle", "--threads", "3"]);
    let _idle = Running::start_redirected(command.stderr(Stdio::null()));
    let _counter = coordinator.worker("counter");
    coordinator.wait_for_workers(2);
    let answer = coordinator.json(["count", "13"]);
    // The number of counting threads is not measured.
    assert_eq!((&answer["kernel"], &answer["threads"]), (&json!("portable"), &Value::Null), "{answer}");
    let counted_by = answer["counted_by"].as_array().expect("an array");
    let names: Vec<&Value> = counted_by.iter().map(|by| &by["worker"]).collect();
    assert_eq!(names, ["counter"]);
    assert_eq!((&counted_by[0]["kernel"], work(&counted_by[0])), (&json!("portable"), work(&answer)));
    let text = coordinator.queens(["count", "13"]).stdout;
    let last = text.lines().last().expect("three lines");
    assert!(last.ends_with(" s by counter (portable kernel)"), "{text}");
}
