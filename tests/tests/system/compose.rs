//! The cluster of `docker-compose.yml`: started, damaged, stopped and started again, by each installed Docker Compose.

use std::fs;
use std::net::TcpStream;
use std::path::Path;

use queens_tests::docker::{Compose, Container, Project, inspect};
use queens_tests::http::get;
use queens_tests::prelude::*;

const N_WORKERS: usize = 3;
const UP: [&str; 5] = ["up", "--detach", "--build", "--scale", "worker=3"];

/// A board that takes hours.
const LONG: &str = "22";

/// The most bytes of an image.
const LARGEST_IMAGE: u64 = 32_000_000;

/// The limit for stopping: far less than the grace period, after which Docker kills.
const STOP: u64 = 10;

/// With `docker compose` and the older `docker-compose`, if both are here: Debian 12 has no package of the newer one.
#[test]
fn a_cluster_of_docker_compose_survives_faults() {
    Compose::installed("a cluster of containers").into_iter().for_each(check);
}

#[track_caller]
fn check(compose: Compose) {
    say(&format!("a cluster by {compose}"));
    let project = Project::new(compose);
    does_as_the_documents_say(&project);
    is_monitored(&project);
    project.run(["--profile", "monitoring", "down", "--volumes"]);

    bring_up(&project);
    is_confined(&project);
    counts_through_faults(&project);

    // The killed worker restarts.
    bring_up(&project);
    let submitted = project.ask(&["submit", LONG]).expect("submitted");
    assert_eq!(submitted, json!({ "job": "2" }));
    wait_for_progress(&project, "2", 0);
    stops_in_good_order(&project);

    project.run(["down"]);
    assert_eq!(project.containers("coordinator"), []);
    bring_up(&project);
    is_done(&project);
    wait_for_progress(&project, "2", 1);

    project.remove();
    assert_eq!(project.remains(), "");
}

/// Runs the documents' Docker commands. They start with an image that is not built yet.
#[track_caller]
fn does_as_the_documents_say(project: &Project) {
    let opened = project.follow(&commands("README.md"));
    // By default it is that port.
    let [address] = &opened[..] else { panic!("{opened:?}") };
    assert_eq!(address, "http://127.0.0.1:8080/");
    let page = get(&format!("127.0.0.1:{}", project.http_port()), "/");
    assert_eq!(page.status, 200, "{page:?}");
    let job = project.ask(&["status", "1"]).expect("an answer");
    assert_eq!((&job["state"], &job["n"]), (&"done".into(), &18.into()), "{job}");
    let workers = project.ask(&["workers"]).expect("an answer");
    let threads: Vec<_> =
        workers.as_array().expect("a list").iter().map(|worker| &worker["threads"]).collect();
    assert_eq!(threads, [1; N_WORKERS], "by default");

    project.follow(&commands("docs/operations/install.md"));
    assert_eq!(project.containers("coordinator"), [], "it ends with 'down'");
}

/// Returns the commands in a document's Docker blocks.
#[track_caller]
fn commands(document: &str) -> String {
    let text = read(document);
    let blocks = text.split("```sh docker\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let commands: String = blocks.collect();
    assert!(!commands.is_empty(), "{document}");
    commands
}

/// Prometheus scrapes the coordinator and each worker, and evaluates the alerts, with the unchanged files in deploy.
#[track_caller]
fn is_monitored(project: &Project) {
    if !is_installed("prometheus") {
        return skipped("the profile 'monitoring', as prometheus is not installed");
    }
    project.build_prometheus();
    project.follow(&commands("docs/operations/jobs.md"));
    coordinator(project).wait_until_healthy();
    project.run(["run", "--rm", "-T", "queens", "count", "12"]);

    let address = format!("127.0.0.1:{}", project.prometheus_port());
    let ask = |path: &str| get(&address, path).json()["data"].clone();
    let query = |query: &str| {
        let answer = ask(&format!("/api/v1/query?query={query}"));
        answer["result"].as_array().cloned().unwrap_or_default()
    };
    wait_until("Prometheus", || TcpStream::connect(&address).ok());
    let targets = |job: &str| query(&format!("up{{job=%22{job}%22}}==1")).len();
    let scraped = "all targets to be scraped";
    wait_for(scraped, || targets("queens") == 1 && targets("queens-worker") == N_WORKERS);
    let counted = wait_until("the count", || query("queens_job_solutions{n=%2212%22}").first().cloned());
    assert_eq!(counted["value"][1], "14200", "{counted}");

    let rules = wait_until("all alerts to be evaluated", || {
        let rules = ask("/api/v1/rules")["groups"][0]["rules"].as_array().cloned()?;
        rules.iter().all(|rule| rule["health"] == "ok").then_some(rules)
    });
    let n_alerts = read("deploy/alerts.yml").matches("- alert:").count();
    assert_eq!(rules.len(), n_alerts);
    assert!(rules.iter().all(|rule| rule["state"] == "inactive"), "{rules:?}");
}

/// Starts a coordinator, which becomes healthy, and workers, which connect.
#[track_caller]
fn bring_up(project: &Project) {
    project.run(UP);
    coordinator(project).wait_until_healthy();
    wait_until("workers", || {
        let workers = project.ask(&["workers"])?;
        let connected = |worker: &&Value| worker["connected"] == true;
        (workers.as_array()?.iter().filter(connected).count() == N_WORKERS).then_some(())
    });
    assert_eq!(project.containers("worker").len(), N_WORKERS);
    assert_eq!(project.containers("queens"), [], "it is for commands");
}

#[track_caller]
fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(path).expect("a file of the workspace")
}

#[track_caller]
fn coordinator(project: &Project) -> Container {
    let [coordinator] =
        <[Container; 1]>::try_from(project.containers("coordinator")).expect("one coordinator");
    coordinator
}

/// Checks that the programs are in one small image, do not run as root, and are only reachable from here.
#[track_caller]
fn is_confined(project: &Project) {
    let image = inspect(project.name());
    let size = image["Size"].as_u64().expect("bytes");
    assert!(size < LARGEST_IMAGE, "{size} bytes");

    let address = |port: u16| json!([{ "HostIp": "127.0.0.1", "HostPort": port.to_string() }]);
    let is_empty = |ports: &Value| ports.as_object().is_none_or(|ports| ports.is_empty());
    let coordinator = coordinator(project).inspect();
    let ports = json!({ "50051/tcp": address(project.port()), "8080/tcp": address(project.http_port()) });
    assert_eq!(coordinator["NetworkSettings"]["Ports"], ports);
    let workers = project.containers("worker").into_iter().map(|worker| worker.inspect());
    let workers: Vec<Value> = workers.collect();
    for container in workers.iter().chain([&coordinator]) {
        assert_eq!(container["Image"], image["Id"]);
        let user = container["Config"]["User"].as_str().and_then(|user| user.split(':').next());
        assert!(user.and_then(|user| user.parse().ok()).is_some_and(|user: u32| user > 0), "{user:?}");
    }
    assert!(workers.iter().all(|worker| is_empty(&worker["NetworkSettings"]["Ports"])), "{workers:?}");
    // Docker refuses a limit above the number of processors. A thread each is the limit.
    let limits: Vec<_> = workers.iter().map(|worker| &worker["HostConfig"]["NanoCpus"]).collect();
    assert_eq!(limits, [0; N_WORKERS]);
}

/// Kills a worker and restarts the coordinator while a count waits for its job. The job is unfinished before and after
/// each fault, as the workers get hardly any processor until the faults are over.
#[track_caller]
fn counts_through_faults(project: &Project) {
    let workers = project.containers("worker");
    for worker in &workers {
        worker.docker(&["update", "--cpus", "0.1"]);
    }
    let args = ["run", "--rm", "-T", "queens", "count", "17", "--output", "json"];
    let mut count = Running::start(&mut project.compose(args));

    let recorded = wait_for_progress(project, "1", 0);
    workers[0].docker(&["kill"]);
    let recorded = wait_for_progress(project, "1", recorded);
    coordinator(project).docker(&["restart"]);
    wait_for_progress(project, "1", recorded);
    assert!(count.is_running(), "{:?}", count.wait());

    for worker in &workers[1..] {
        worker.docker(&["update", "--cpus", "1"]);
    }
    let outcome = count.wait().good();
    let answer: Value = serde_json::from_str(&outcome.stdout).expect("one line of JSON");
    assert_eq!(
        (&answer["solutions"], &answer["agrees"]),
        (&solutions(17).into(), &Value::from(true)),
        "{answer}"
    );
    is_done(project);
}

#[track_caller]
fn is_done(project: &Project) {
    let job = project.ask(&["status", "1"]).expect("an answer");
    assert_eq!((&job["state"], &job["solutions"]), (&Value::from("done"), &solutions(17).into()), "{job}");
}

/// Waits until more than this many subproblems of an unfinished job are recorded, and returns their number.
#[track_caller]
fn wait_for_progress(project: &Project, job: &str, before: u64) -> u64 {
    let progress = wait_until("progress", || {
        let job = project.ask(&["status", job])?;
        (n_recorded(&job)? > before).then_some(job)
    });
    // The job is queued if the workers have not reconnected yet after a restart.
    let unfinished = [&progress["state"] == "running", &progress["state"] == "queued"];
    assert!(unfinished.contains(&true), "{progress}");
    n_recorded(&progress).expect("a number")
}

fn n_recorded(job: &Value) -> Option<u64> {
    job["recorded"].as_str()?.parse().ok()
}

/// Checks that all containers stop well before Docker would kill them, although they have a job.
#[track_caller]
fn stops_in_good_order(project: &Project) {
    let stop = project.run(["stop"]);
    assert!(stop.elapsed < promised(STOP), "{:?}", stop.elapsed);
    let mut containers = project.containers("worker");
    containers.push(coordinator(project));
    assert_eq!(containers.len(), N_WORKERS + 1);
    for container in containers {
        let state = &container.inspect()["State"];
        assert_eq!((&state["Status"], &state["ExitCode"]), (&"exited".into(), &0.into()), "{state}");
    }
}

/// An image is compiled from the whole workspace, by the workspace's compiler. Nothing can be pulled where the tests
/// run, so no other test would notice.
#[test]
fn what_compiles_an_image_is_what_compiles_the_workspace() {
    let quoted = |line: &str| line.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let line = |text: &str, start: &str| {
        let line = text.lines().find(|line| line.starts_with(start));
        quoted(line.expect("the file has such a line"))
    };

    let version = line(&read("rust-toolchain.toml"), "channel = ").remove(0);
    assert!(read("Dockerfile").contains(&format!("FROM rust:{version}-slim-bookworm AS compiler")));

    let ignored = read(".dockerignore");
    for member in line(&read("Cargo.toml"), "members = ") {
        // A member inside another member's directory is copied with it.
        let dir = member.split('/').next().expect("a name");
        assert!(ignored.lines().any(|line| line == format!("!{dir}")), "{member}");
    }
}
