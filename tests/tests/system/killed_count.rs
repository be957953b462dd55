//! `queens count --data-dir` killed repeatedly: no record is lost or written twice.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use queens_ledger::store::Phase;
use queens_store::JobAudit;
use queens_store::sqlite::audit;
use queens_tests::chance::Chance;
use queens_tests::data_dir::{PORTABLE, Record, copy, count_command};
use queens_tests::prelude::*;

/// It takes longer than all kills on any machine, as each comes soon after a new record.
const N: u8 = 17;
const N_KILLS: u64 = 20;

fn count(dir: &Path) -> Command {
    let mut command = count_command(N, dir, &PORTABLE);
    command.args(["--progress", "none"]);
    command
}

/// Proves from a copy of `dir` that no two records overlap, and that they add up to the next run's start.
#[track_caller]
fn look_at(dir: &Path) -> (Option<JobAudit>, Vec<Record>) {
    if !dir.join(DATABASE).exists() {
        return (None, vec![]);
    }
    let copy = copy(dir);
    let mut jobs = audit(copy.path()).expect("valid");
    assert!(jobs.len() <= 1, "every run goes on with the same job: {jobs:?}");
    (jobs.pop(), records(copy.path()).expect("readable"))
}

#[test]
fn twenty_kills_neither_lose_nor_repeat_anything() {
    let (scratch, mut chance) = (TempDir::new(), Chance::seeded());
    let dir = scratch.path();
    let mut before = vec![];
    for kill in 1..=N_KILLS {
        let running = Running::start(count(dir));
        // Some are killed while they start, the others after their first records.
        if kill % 3 > 0 {
            wait_for("a record", || records(dir).is_ok_and(|records| records.len() > before.len()));
        }
        thread::sleep(Duration::from_millis(chance.within(0..=50)));
        let outcome = running.kill();
        assert_eq!(outcome.status.signal(), Some(9), "kill {kill}: {outcome:?}");
        let (job, after) = look_at(dir);
        assert!(job.is_none_or(|job| job.job.phase != Phase::Done), "kill {kill} comes too late");
        assert_eq!(before.iter().find(|record| !after.contains(record)), None, "kill {kill}");
        before = after;
    }
    let answer = run(count(dir)).answer();
    let expected = (&json!("95815104"), &json!("11977939"), &json!(true));
    assert_eq!((&answer["solutions"], &answer["fundamental"], &answer["agrees"]), expected, "{answer}");
    let (job, after) = look_at(dir);
    assert_eq!(before.iter().find(|record| !after.contains(record)), None);
    let job = job.expect("it is done");
    assert!(job.is_complete());
    assert_eq!(Value::from(job.total.to_string()), answer["solutions"]);
    assert_eq!(Value::from(job.work.to_string()), answer["work"]);
}
