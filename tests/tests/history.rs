//! What has happened is still known after a restart, and what nobody measured is not told.

use queens_tests::cluster::{Coordinator, coordinator_command};
use queens_tests::http;
use queens_tests::process::wait_until;
use serde_json::Value;
use tempfile::TempDir;

/// A board that takes any machine here some hours.
const LONG: u8 = 22;

/// What a level of a job's curve holds.
fn samples(site: &str, job: &str, step_seconds: u64) -> Vec<Value> {
    let history = http::get(site, &format!("/api/v1/jobs/{job}/history")).json();
    let levels = history["levels"].as_array().expect("levels");
    let level = levels.iter().find(|level| level["step_seconds"] == step_seconds);
    level.map_or_else(Vec::new, |level| level["samples"].as_array().expect("samples").clone())
}

fn times(samples: &[Value]) -> Vec<u64> {
    samples.iter().map(|sample| sample["at_ms"].as_u64().expect("a time")).collect()
}

fn events(site: &str) -> Vec<(u64, String)> {
    let events = http::get(site, "/api/v1/events?limit=1000").json();
    let event = |event: &Value| {
        (event["number"].as_u64().expect("a number"), event["text"].as_str().expect("a text").to_owned())
    };
    events["events"].as_array().expect("events").iter().rev().map(event).collect()
}

/// Another coordinator on the same directory and ports.
fn again(before: Coordinator, data_dir: &std::path::Path, end: fn(Coordinator)) -> Coordinator {
    let mut command = coordinator_command(before.address(), data_dir);
    command.args(["--http", &before.http()]);
    end(before);
    Coordinator::start_command(command, data_dir)
}

#[test]
fn a_curve_and_events_go_on_after_a_restart() {
    let scratch = TempDir::new().expect("a temporary directory");
    let data_dir = scratch.path().join("data");
    let coordinator = Coordinator::start_with_http(&data_dir);
    let site = coordinator.http();
    let _worker = coordinator.worker("anna");
    let job = coordinator.submit(LONG);
    let before = wait_until("a curve", || {
        let samples = samples(&site, &job, 1);
        (samples.len() >= 5).then_some(samples)
    });
    let events_before = events(&site);
    let coordinator = again(coordinator, &data_dir, Coordinator::stop);

    // All that was told is told still.
    let now = times(&samples(&site, &job, 1));
    let known = times(&before);
    let (last, whole) = known.split_last().expect("some");
    assert_eq!(now.get(..whole.len()), Some(whole), "the last may have grown since");
    let events_now = events(&site);
    assert_eq!(events_now.get(..events_before.len()), Some(&events_before[..]));
    let numbers: Vec<u64> = events_now.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(events_now.iter().filter(|(_, text)| text == "coordinator started").count(), 2);

    // And goes on, without anything for the time between.
    let goes_on = wait_until("the curve to go on", || {
        let now = samples(&site, &job, 1);
        (now.last()?["at_ms"].as_u64()? > now[whole.len() - 1]["at_ms"].as_u64()? + 4000).then_some(now)
    });
    let measured: f64 =
        goes_on.iter().map(|sample| sample["measured_seconds"].as_f64().expect("a time")).sum();
    let span = (times(&goes_on).last().expect("some") - known[0]) as f64 / 1000.0;
    assert!(measured < span - 1.0, "{measured} s of {span} s, of which nobody measured some after {last}");
    assert!(goes_on.iter().all(|sample| sample["measured_seconds"].as_f64().expect("a time") < 2.5));
    drop(coordinator);
}
