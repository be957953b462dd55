//! A slow worker that holds the rest of a job delays it by seconds, and is named.

use std::time::Duration;

use queens_proto::pb::{self, worker_message::Message};
use queens_tests::prelude::*;
use queens_tests::session::{begin, hello, said};

const N: u8 = 14;

/// Opens a session that claims this many threads of one node a second, with a heartbeat each second, and is idle.
async fn idle(url: String, n_threads: u32) {
    let claim = pb::Hello { threads: n_threads, work_per_second: 1.0, ..hello(42, "slow") };
    let (sender, mut answers) = begin(url, claim).await;
    let mut second = tokio::time::interval(Duration::from_secs(1));
    for sequence in 1.. {
        tokio::select! {
            _ = second.tick() => {
                let report = pb::Report { sequence, ..pb::Report::default() };
                if sender.send(said(Message::Report(report))).await.is_err() {
                    return;
                }
            }
            answer = answers.message() => if !matches!(answer, Ok(Some(_))) { return },
        }
    }
}

#[track_caller]
fn check(n_threads: u32) {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let runtime = runtime();
    runtime.spawn(idle(coordinator.url(), n_threads));
    coordinator.wait_for_workers(1);
    // It gets all leases before another worker connects.
    let job = coordinator.submit(N);
    let _honest = coordinator.worker("honest");
    // For some seconds; or never, if its lease expires when no other work is left.
    let (mut named, mut found) = (false, false);
    let status = wait_until("the end of the job", || {
        let status = coordinator.status(&job);
        named |= status["waits_for"].as_str().is_some_and(|whom| whom.starts_with("'slow', which holds "));
        if named && !found {
            let doctor = coordinator.queens(["doctor"]).stdout;
            found = doctor.contains("waits for 'slow', which holds ");
        }
        (status["state"] == "done").then_some(status)
    });
    assert_eq!(status["solutions"], solutions(N));
    let log = coordinator.log();
    assert!(log.contains("worker exceeded the deadline of its leases"), "{log}");
    say(&format!("{n_threads} threads: named by status: {named}, by doctor: {found}"));
}

#[test]
fn a_worker_that_says_that_it_is_slow_holds_up_a_job_for_seconds() {
    check(64);
}

#[test]
fn one_that_claims_thousands_of_slow_threads_holds_up_a_job_for_seconds() {
    check(4096);
}
