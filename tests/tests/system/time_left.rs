//! Compares the estimated remaining time with the real one.
//!
//! It plays one count, unless the environment variable `QUEENS_TIME_LEFT` is `full`: then ten, with a check of the
//! promised accuracy. That needs an idle machine, as other load is unpredictable.

use std::thread;
use std::time::{Duration, Instant};

use queens_tests::prelude::*;
use queens_tests::workers::worker;

/// The interval between two queries.
const STEP: Duration = Duration::from_millis(200);

/// From this share of the work on, and until this time before the end, the estimate's error is at most this share. The
/// coordinator receives progress about once a second, so it can't estimate the last second.
const FIRST: f64 = 0.1;
const LAST: Duration = Duration::from_secs(1);
const MOST_WRONG: f64 = 0.25;

/// The coordinator's estimate at some time.
#[derive(Clone, Copy, Debug)]
struct Said {
    at: Instant,
    fraction: f64,
    expected: f64,
    low: f64,
    high: f64,
}

#[derive(Debug)]
struct Run {
    seconds: f64,
    n_said: usize,
    /// The largest relative error.
    worst: f64,
    /// The number of ranges that missed the truth.
    n_missed: usize,
}

/// Counts `n` queens by two workers with one thread each, and compares the estimates meanwhile.
fn count(n: u8, worker: impl Fn(&str, &str) -> Running) -> Run {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let _workers = ["first", "second"].map(|name| worker(&coordinator.url(), name));
    coordinator.wait_for_workers(2);
    let began = Instant::now();
    let job = coordinator.submit(n);
    let mut said = Vec::new();
    let end = loop {
        let at = Instant::now();
        let status = coordinator.status(&job);
        if status["state"] == "done" {
            break at;
        }
        let number = |name: &str| status[name].as_f64();
        let fraction = number("fraction").expect("a fraction");
        if let (Some(expected), Some(low), Some(high)) =
            (number("seconds_left"), number("seconds_left_low"), number("seconds_left_high"))
        {
            assert!((0.0..=expected).contains(&low) && high >= expected, "{status}");
            said.push(Said { at, fraction, expected, low, high });
        }
        thread::sleep(STEP);
    };
    let told = said.iter().filter(|said| said.fraction >= FIRST && end - said.at >= LAST);
    let told: Vec<(f64, &Said)> = told.map(|said| ((end - said.at).as_secs_f64(), said)).collect();
    let wrong = |&(truth, said): &(f64, &Said)| (said.expected / truth - 1.0).abs();
    Run {
        seconds: (end - began).as_secs_f64(),
        n_said: told.len(),
        worst: told.iter().map(wrong).fold(0.0, f64::max),
        n_missed: told.iter().filter(|(truth, said)| !(said.low..=said.high).contains(truth)).count(),
    }
}

#[test]
fn time_left_is_what_it_takes() {
    let full = is_full("QUEENS_TIME_LEFT");
    let (n, n_runs) = if full { (18, 10) } else { (16, 1) };
    let fast = |url: &str, name: &str| worker_with(url, name, Kernel::Portable);
    let runs: Vec<Run> = (0..n_runs).map(|_| if full { count(n, fast) } else { count(n, worker) }).collect();
    for Run { seconds, n_said, worst, n_missed } in &runs {
        say(&format!(
            "n = {n} took {seconds:.1} s; of {n_said} times that it was told, time left was at most {:.0} % wrong, and \
             the truth {n_missed} times outside its range",
            100.0 * worst
        ));
    }
    assert!(runs.iter().all(|run| run.n_said > 0), "{runs:?}");
    if full {
        let n_right = runs.iter().filter(|run| run.worst <= MOST_WRONG).count();
        let n_covered = runs.iter().filter(|run| run.n_missed == 0).count();
        assert!(n_right >= 9 && n_covered >= 9, "{n_right} runs right, {n_covered} in the range");
    }
}
