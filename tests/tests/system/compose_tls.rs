//! The cluster of `docker-compose.tls.yml`, set up by the instructions in its first lines.

use std::process::Command;

use queens_tests::docker::{Compose, Project};
use queens_tests::prelude::*;

#[test]
fn a_cluster_with_tls_is_set_up_as_its_file_says() {
    Compose::installed("a cluster of containers with TLS").into_iter().for_each(check);
}

/// Returns the word in a text that begins with this.
#[track_caller]
fn word<'a>(text: &'a str, begins: &str) -> &'a str {
    let found = text.split_whitespace().find(|word| word.starts_with(begins));
    found.unwrap_or_else(|| panic!("no {begins}: {text}"))
}

#[track_caller]
fn check(compose: Compose) {
    say(&format!("a cluster with TLS by {compose}"));
    let project = Project::of_file(compose, "docker-compose.tls.yml");
    project.run(["build"]);
    let made = project.run(["run", "--rm", "-T", "certs"]).stdout;
    let pin = word(&made, "sha256:").trim_end_matches(',');
    project.run(["up", "--detach", "coordinator"]);
    let invite = |args: &[&str]| {
        let line = project.run([&["run", "--rm", "-T", "invite"], args].concat()).stdout;
        assert!(line.contains(pin), "{line}");
        word(&line, "QUEENS_TOKEN=").trim_start_matches("QUEENS_TOKEN=").to_owned()
    };
    let worker = invite(&["--role", "worker", "--uses", "100"]);
    let operator = invite(&["--role", "operator"]);

    let set = |mut command: Command| {
        command.env("QUEENS_PIN", pin);
        command.env("QUEENS_WORKER_TOKEN", &worker).env("QUEENS_OPERATOR_TOKEN", &operator);
        command
    };
    _ = run(set(project.compose(["up", "--detach", "--scale", "worker=2"]))).good();
    let count = ["run", "--rm", "-T", "queens", "count", "14", "--output", "json"];
    // Docker Compose reports its steps on stderr.
    let counted = run(set(project.compose(count)));
    let answer: Value = serde_json::from_str(&counted.stdout).expect("JSON");
    assert_eq!(answer["solutions"], "365596", "{counted:?}");

    // From outside of the containers, with a token and without.
    let url = format!("https://127.0.0.1:{}", project.port());
    let workers = |token: Option<&str>| {
        let mut command = program("queens");
        command.args(["workers", "--output", "json", "--coordinator", &url, "--pin", pin]);
        token.into_iter().for_each(|token| _ = command.env("QUEENS_TOKEN", token));
        run(command)
    };
    wait_until("both workers", || (workers(Some(&operator)).answer().as_array()?.len() == 2).then_some(()));
    for token in [None, Some(worker.as_str())] {
        assert!(!workers(token).status.success(), "{token:?}");
    }
    // Workers have only their own key.
    let worker = project.containers("worker").remove(0).inspect();
    let mounts = worker["Mounts"].as_array().expect("mounts");
    assert!(mounts.is_empty(), "{mounts:?}");
    project.remove();
    assert_eq!(project.remains(), "");
}
