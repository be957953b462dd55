//! `queens count --data-dir` killed repeatedly: no record is lost or written twice.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use queens_ledger::store::Phase;
use queens_store::JobAudit;
use queens_store::sqlite::audit;
use queens_tests::TempDir;
use queens_tests::chance::Chance;
use queens_tests::data_dir::{DATABASE, Record, copy, records};
use queens_tests::process::{Running, queens, run};
use serde_json::{Value, json};

const N: u8 = 17;
const N_KILLS: u64 = 20;
const SHORTEST_MS: u64 = 20;
const LONGEST_MS: u64 = 500;

fn count(dir: &Path) -> Command {
    let mut command =
        queens(["count", &N.to_string(), "--output", "json", "--kernel", "portable", "--threads", "2"]);
    command.args(["--progress", "none"]);
    command.arg("--data-dir").arg(dir);
    command
}

/// The state after a kill.
#[derive(Default)]
struct Remains {
    /// `None` without a database or a job in it.
    job: Option<JobAudit>,
    records: Vec<Record>,
}

impl Remains {
    /// Returns the recorded share of subproblems.
    fn share(&self) -> f64 {
        let job = self.job.as_ref().map(|job| (job.n_recorded, job.n_subproblems));
        let Some((n_recorded, Some(n_subproblems))) = job else { return 0.0 };
        n_recorded as f64 / n_subproblems as f64
    }
}

/// Proves from a copy of `dir` that no two records overlap, and that they add up to the next run's start.
#[track_caller]
fn look_at(dir: &Path) -> Remains {
    if !dir.join(DATABASE).exists() {
        return Remains::default();
    }
    let copy = copy(dir);
    let mut jobs = audit(copy.path()).expect("valid");
    assert!(jobs.len() <= 1, "every run goes on with the same job: {jobs:?}");
    Remains { job: jobs.pop(), records: records(copy.path()).expect("readable") }
}

/// Chooses the times of kills, so that the job lasts for all of them.
struct KillTimes {
    /// Share of the job per millisecond, in the best run so far.
    share_per_ms: f64,
    /// Consecutive runs without a record.
    n_barren: u64,
}

impl KillTimes {
    fn longest_ms(&self, share: f64, n_kills_left: u64) -> u64 {
        // The time is halved at the last kill, as a faster run is still possible.
        let fair_ms = (1.0 - share) / self.share_per_ms / (n_kills_left + 2) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is clamped fits")]
        let fair_ms = fair_ms.clamp(2.0 * SHORTEST_MS as f64, LONGEST_MS as f64) as u64;
        // A machine too busy for any progress gets more time.
        fair_ms << self.n_barren.min(7)
    }

    fn learn(&mut self, gain: f64, delay_ms: u64) {
        self.share_per_ms = self.share_per_ms.max(gain / delay_ms as f64);
        self.n_barren = if gain > 0.0 { 0 } else { self.n_barren + 1 };
    }
}

/// Kills one count in `dir` [`N_KILLS`] times, and returns each state; nothing if the count ended before the last.
fn kill_again_and_again(dir: &Path, times: &mut KillTimes, chance: &mut Chance) -> Option<Remains> {
    let mut before = Remains::default();
    let mut n_fruitful = 0;
    for kill in 1..=N_KILLS {
        let longest_ms = times.longest_ms(before.share(), N_KILLS - kill);
        let delay_ms = chance.within(SHORTEST_MS..=longest_ms);
        let running = Running::start(&mut count(dir));
        thread::sleep(Duration::from_millis(delay_ms));
        let outcome = running.kill();

        let after = look_at(dir);
        let is_done = after.job.as_ref().is_some_and(|job| job.job.phase == Phase::Done);
        if is_done {
            return None;
        }
        assert_eq!(outcome.status.signal(), Some(9), "kill {kill} after {delay_ms} ms: {outcome:?}");
        let lost = before.records.iter().find(|record| !after.records.contains(record));
        assert_eq!(lost, None, "kill {kill} after {delay_ms} ms");
        let gain = after.share() - before.share();
        assert!(gain >= 0.0, "kill {kill} after {delay_ms} ms: {gain}");
        n_fruitful += u64::from(gain > 0.0);
        times.learn(gain, delay_ms);
        before = after;
    }
    assert!(n_fruitful >= 2, "{n_fruitful} of {N_KILLS} runs recorded anything");
    Some(before)
}

#[test]
fn twenty_kills_neither_lose_nor_repeat_anything() {
    let mut chance = Chance::seeded();
    let mut times = KillTimes { share_per_ms: 0.0, n_barren: 0 };
    // A machine's speed is unknown beforehand: a count that ends too soon is repeated with shorter runs.
    let (dir, before) = (0..5)
        .find_map(|_| {
            let dir = TempDir::new();
            let remains = kill_again_and_again(dir.path(), &mut times, &mut chance);
            times.share_per_ms *= 1.5;
            remains.map(|remains| (dir, remains))
        })
        .expect("a count that lasts for all the kills");
    let dir = dir.path();

    let answer = run(count(dir)).answer();
    let expected = (&json!("95815104"), &json!("11977939"), &json!(true));
    assert_eq!((&answer["solutions"], &answer["fundamental"], &answer["agrees"]), expected, "{answer}");
    let after = look_at(dir);
    assert_eq!(before.records.iter().find(|record| !after.records.contains(record)), None);
    let job = after.job.expect("it is done");
    assert!(job.is_complete());
    assert_eq!(Value::from(job.total.to_string()), answer["solutions"]);
    assert_eq!(Value::from(job.work.to_string()), answer["work"]);
}
