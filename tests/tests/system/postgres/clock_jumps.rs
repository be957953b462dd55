//! A coordinator whose clock jumps by days, forwards and back, while it leads and counts.

use std::fs;
use std::path::Path;

use queens_tests::postgres::proved;
use queens_tests::prelude::*;

use crate::failover::{FAKETIME, FaketimeMemory};

/// The jumps end neither its lead, nor a worker's leases or its session, and the job's counting time ignores them.
#[test]
fn a_clock_that_jumps_ends_no_lead_and_no_session() {
    if !Path::new(FAKETIME).exists() {
        return skipped("a coordinator whose clock jumps: faketime is not installed");
    }
    let _memory = FaketimeMemory;
    let Some((postgres, address)) = Postgres::with_database("fsync = off", "jumps") else { return };
    let clocks = TempDir::new();
    let clock = clocks.join("clock");
    let set = |time: &str| {
        // An atomic write: the process reads the file whenever it reads the clock.
        let next = clock.with_extension("next");
        fs::write(&next, time).and_then(|()| fs::rename(&next, &clock)).expect("written");
    };
    set("+0");
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::by(|mut command| {
        command.args(["--store", &address]).env("LD_PRELOAD", FAKETIME);
        command.env("FAKETIME_TIMESTAMP_FILE", &clock);
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        command
    });
    let epoch = || postgres.sql("jumps", "SELECT epoch FROM queens.lease").expect("answers");
    let before = epoch();
    let _worker = coordinator.worker("anna");
    let job = coordinator.submit(16);
    let n_records = || postgres.number("jumps", "SELECT count(*) FROM queens.record");
    wait_for("records", || n_records() > 0);
    for time in ["+3d", "-3d", "+3d"] {
        let before = n_records();
        set(time);
        wait_for("more records", || n_records() > before + 1);
    }
    let _fast = fast_worker(&coordinator.url());
    let status = coordinator.done(&job);
    assert_eq!(status["solutions"], "14772512", "{status}");
    let days = "SELECT (finished_ms - created_ms) / 86400000 FROM queens.job";
    assert_eq!(postgres.sql("jumps", days).expect("answers"), "3", "its clock has jumped");
    let active = postgres.sql("jumps", "SELECT active_ms / 3600000 FROM queens.job").expect("answers");
    assert_eq!(active, "0", "hours");
    let log = coordinator.log();
    assert!(!log.contains("panicked") && !log.contains("nothing was heard of the worker"), "{log}");
    // On a busy machine, it may stall for seconds, and lose its lead for that; but not for days.
    let still: Vec<f64> = log
        .lines()
        .filter_map(|line| line.split_once("stood still")?.1.split_once("seconds=")?.1.parse().ok())
        .collect();
    assert!(still.iter().all(|seconds| *seconds < 3600.0), "{log}");
    if still.is_empty() && !log.contains("could not be renewed") {
        assert_eq!(epoch(), before, "one lead from the beginning to the end: {log}");
    }
    coordinator.stop();
    let proof = proved(&address);
    assert!(proof.contains("subproblems once: 14772512 solutions"), "{proof}");
}
