//! Prometheus's own tools accept the metrics. In `compose.rs`, Prometheus scrapes a cluster.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use queens_tests::http::{Answer, get};
use queens_tests::prelude::*;

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy");

/// A coordinator and a worker, both with HTTP.
struct Cluster {
    coordinator: Coordinator,
    worker: Service,
    worker_http: String,
    _scratch: TempDir,
}

impl Cluster {
    #[track_caller]
    fn start() -> Self {
        let Scenario { scratch, coordinator, .. } = Scenario::with_http();
        let mut command = worker_command(&coordinator.url(), "w", Kernel::best());
        command.args(["--http", "127.0.0.1:0"]);
        let mut worker = Service::start(command, &scratch.join("worker.log"));
        let worker_http = worker.logged("serving metrics address=");
        Self { coordinator, worker, worker_http, _scratch: scratch }
    }

    fn stop(self) {
        self.worker.stop();
        self.coordinator.stop();
    }
}

/// Runs `promtool check metrics` on `text`, which also checks names and units.
#[track_caller]
fn check_metrics(text: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = promtool.spawn().expect("it is installed");
    promtool.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = promtool.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}\n{text}");
}

/// Returns the sample with this name and these labels.
#[track_caller]
fn sample(text: &str, name: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in\n{text}"))
}

#[test]
fn coordinator_and_worker_tell_their_numbers() {
    let cluster = Cluster::start();
    assert_eq!(cluster.coordinator.queens(["count", "14"]).status.code(), Some(0));
    let Answer { status, body: text, .. } = get(&cluster.coordinator.http(), "/metrics");
    assert_eq!(status, 200);
    assert_eq!(sample(&text, r#"queens_job_solutions{job="1",n="14",method="search"}"#), 365_596.0);
    assert_eq!(sample(&text, r#"queens_job_work_ratio{job="1",n="14",method="search"}"#), 1.0);
    assert_eq!(sample(&text, r#"queens_jobs{state="done"}"#), 1.0);
    assert_eq!(sample(&text, r#"queens_workers{state="ready"}"#), 1.0);
    assert_eq!(sample(&text, r#"queens_reports_total{outcome="conflict"}"#), 0.0);
    assert!(sample(&text, r#"queens_reports_total{outcome="accepted"}"#) > 0.0);
    assert!(sample(&text, "queens_report_seconds_count") > 0.0);
    assert!(sample(&text, "queens_commit_seconds_count") > 0.0);
    let work = sample(&text, r#"queens_work_total{method="search"}"#);
    assert_eq!(work, sample(&text, r#"queens_job_work{job="1",n="14",method="search"}"#));
    let Answer { status, body: of_worker, .. } = get(&cluster.worker_http, "/metrics");
    assert_eq!(status, 200);
    // With one worker and no fault, its counted work is the recorded work.
    assert_eq!(sample(&of_worker, r#"queens_worker_work_total{device="cpu",method="search"}"#), work);
    assert_eq!(sample(&of_worker, r#"queens_worker_connected{device="cpu"}"#), 1.0);
    let health = get(&cluster.worker_http, "/healthz");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    assert_eq!(get(&cluster.worker_http, "/nothing").status, 404);
    if is_installed("promtool") {
        check_metrics(&text);
        check_metrics(&of_worker);
    } else {
        skipped("promtool on the numbers, as it is not installed");
    }
    cluster.stop();
}

#[test]
fn promtool_accepts_what_is_in_deploy() {
    if !is_installed("promtool") {
        return skipped("alert rules, as promtool is not installed");
    }
    for (what, file) in [("rules", "alerts.yml"), ("config", "prometheus.yml")] {
        let mut promtool = Command::new("promtool");
        promtool.args(["check", what, &format!("{DEPLOY}/{file}")]);
        _ = run(promtool).good();
    }
    // Alerts and panels use only metrics that the coordinator has.
    let cluster = Cluster::start();
    let text = get(&cluster.coordinator.http(), "/metrics").body;
    cluster.stop();
    for file in ["alerts.yml", "grafana.json"] {
        let asked = fs::read_to_string(format!("{DEPLOY}/{file}")).expect(file);
        let words = asked.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in words.filter(|word| word.starts_with("queens_")) {
            let family = name.trim_end_matches("_bucket");
            assert!(text.contains(&format!("# TYPE {family} ")), "{file} asks for {name}");
        }
    }
}
