//! Workers on machines that people lend: they pause, resume and end as their users want, and no count is lost.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use queens_solver::Kernel;
use queens_tests::prelude::*;

/// A board that takes any machine here some hours, and one that takes some seconds.
const LONG: u8 = 22;
const SHORT: u8 = 15;

/// A user who lends a machine: workers whose sockets are in a directory of their own.
struct Guest {
    scratch: TempDir,
}

impl Guest {
    fn new() -> Self {
        Self { scratch: TempDir::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn with_sockets(&self, mut command: Command) -> Command {
        command.env("XDG_RUNTIME_DIR", self.path("run"));
        command
    }

    fn worker(&self, url: &str, name: &str, options: &[&str]) -> Service {
        self.worker_by(worker_command(url, name, Kernel::Portable), name, options)
    }

    fn worker_by(&self, mut command: Command, name: &str, options: &[&str]) -> Service {
        command.args(options);
        Service::start(self.with_sockets(command), &self.path(&format!("{name}.log")))
    }

    /// Runs a command of `queens-worker` that talks to a worker.
    fn run(&self, args: &[&str]) -> Ended {
        let mut command = self.with_sockets(program("queens-worker"));
        command.args(args);
        run(command)
    }

    /// Returns what a command prints.
    #[track_caller]
    fn told(&self, args: &[&str]) -> String {
        let ended = self.run(args);
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        ended.stdout.trim_end().to_owned()
    }

    #[track_caller]
    fn status(&self, name: &str) -> Value {
        self.run(&["status", "--name", name, "--output", "json"]).answer()
    }

    /// Waits until the worker answers and is in this state.
    #[track_caller]
    fn wait_for(&self, name: &str, state: &str) -> Value {
        wait_until(state, || {
            let ended = self.run(&["status", "--name", name, "--output", "json"]);
            (ended.status.success()).then(|| ended.answer()).filter(|status| status["state"] == state)
        })
    }

    fn sockets(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("run/queens-worker")).into_iter().flatten();
        let names = entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

fn recorded(coordinator: &Coordinator, job: &str) -> u128 {
    coordinator.status(job)["recorded"].as_str().expect("a number").parse().expect("a number")
}

fn wait_for_log(worker: &Service, text: &str) {
    wait_for(text, || worker.log().contains(text));
}

#[test]
fn a_user_pauses_a_worker_and_lets_it_count_again() {
    let guest = Guest::new();
    let coordinator = Coordinator::start(&guest.path("data"));
    let job = coordinator.submit(LONG);
    let worker = guest.worker(&coordinator.url(), "anna", &SLOWLY);
    let status = guest.wait_for("anna", "counting");
    assert_eq!(
        (&status["connected"], &status["reasons"]),
        (&Value::from(true), &Value::from([""; 0].to_vec()))
    );
    assert_eq!(status["coordinators"][0], format!("{}/", coordinator.url()));
    wait_for("a record", || recorded(&coordinator, &job) > 0);
    assert_eq!(guest.told(&["pause"]), "anna: not counting: paused by you");
    wait_for_log(&worker, "paused; everything it counted is recorded");
    coordinator.wait_for_workers(0);
    let status = guest.status("anna");
    assert_eq!((&status["state"], &status["connected"]), (&Value::from("paused"), &Value::from(false)));
    let told = guest.told(&["status", "--name", "anna"]);
    assert!(told.contains("state        not counting: paused by you"), "{told}");
    assert!(told.contains(" core-hours in 0 minutes"), "{told}");
    // Its leases are free for others at once.
    assert_eq!(coordinator.status(&job)["workers"], 0, "{:?}", coordinator.status(&job));
    let before = recorded(&coordinator, &job);
    guest.told(&["resume", "--name", "anna"]);
    guest.wait_for("anna", "counting");
    wait_for("more records", || recorded(&coordinator, &job) > before);
    assert_eq!(guest.told(&["stop"]), "anna: leaving");
    let mut worker = worker;
    assert!(worker.wait().success());
    assert!(worker.log().contains("left; everything it counted is recorded"), "{}", worker.log());
    assert_eq!(guest.sockets(), [""; 0]);
    let log = coordinator.log();
    assert!(!log.contains("nothing was heard") && !log.contains("connection to worker lost"), "{log}");
}

#[test]
fn pauses_in_quick_turn_lose_no_count() {
    let guest = Guest::new();
    let coordinator = Coordinator::start(&guest.path("data"));
    let worker = guest.worker(&coordinator.url(), "anna", &[]);
    guest.wait_for("anna", "no_job");
    let job = coordinator.submit(SHORT);
    let began = Instant::now();
    while coordinator.status(&job)["state"] != "done" && began.elapsed() < Duration::from_secs(5) {
        guest.told(&["pause"]);
        guest.told(&["resume"]);
    }
    let status = coordinator.done(&job);
    assert_eq!(status["solutions"], solutions(SHORT));
    let log = worker.log();
    assert!(!log.contains("reasons=") && !log.contains("drawing another"), "{log}");
    worker.stop();
}

#[test]
fn a_paused_worker_ends_at_once() {
    let guest = Guest::new();
    // Nobody listens there.
    let worker = guest.worker("http://127.0.0.1:9", "anna", &[]);
    guest.wait_for("anna", "no_connection");
    guest.told(&["pause"]);
    guest.wait_for("anna", "paused");
    // A worker that nobody pauses waits for half a minute between attempts; a paused one makes none.
    let log = worker.log();
    worker.stop();
    assert!(log.contains("not counting: paused by you"), "{log}");
    // Pause and stop at once.
    let mut worker = guest.worker("http://127.0.0.1:9", "anna", &[]);
    guest.wait_for("anna", "no_connection");
    thread::scope(|scope| {
        scope.spawn(|| guest.run(&["pause"]));
        scope.spawn(|| guest.run(&["stop"]));
    });
    assert!(worker.wait().success());
}

#[test]
fn several_workers_are_told_apart_and_a_killed_one_is_replaced() {
    let guest = Guest::new();
    let mut nobody = guest.run(&["status"]);
    assert_eq!(nobody.complaint(1), "error: no worker of yours answers on this machine");
    let url = "http://127.0.0.1:9";
    let [anna, berta] = ["anna", "berta b."].map(|name| guest.worker(url, name, &[]));
    ["anna", "berta b."].iter().for_each(|name| drop(guest.wait_for(name, "no_connection")));
    assert_eq!(
        guest.run(&["pause"]).complaint(1),
        "error: 2 of your workers run on this machine: name one by --name (anna, berta b.)"
    );
    assert_eq!(guest.told(&["pause", "--name", "berta b."]), "berta b.: not counting: paused by you");
    assert_eq!(guest.status("anna")["state"], "no_connection");
    nobody = guest.run(&["stop", "--name", "carla"]);
    let told = "error: no worker named 'carla' of yours answers on this machine; there is anna, berta b.";
    assert_eq!(nobody.complaint(1), told);
    // Garbage does no harm.
    let socket = guest.path("run/queens-worker/anna.socket");
    for garbage in [&b"\xff\0\n"[..], &[b'x'; 1 << 16]] {
        let mut stream = UnixStream::connect(&socket).expect("connected");
        _ = stream.write_all(garbage);
    }
    assert_eq!(guest.status("anna")["state"], "no_connection");
    // A killed worker leaves its socket.
    anna.kill();
    assert!(guest.sockets().contains(&"anna.socket".to_owned()));
    let told = guest.told(&["resume"]);
    assert!(told.starts_with("berta b.: not counting: no connection to a coordinator"), "{told}");
    let anna = guest.worker(url, "anna", &[]);
    guest.wait_for("anna", "no_connection");
    // One with the same name counts all the same.
    let mut command = worker_command(url, "anna", Kernel::Portable);
    command.env("QUEENS_THREADS", "1");
    let second = Service::start(guest.with_sockets(command), &guest.path("second.log"));
    wait_for_log(&second, "another worker of yours has the name 'anna'");
    second.stop();
    assert_eq!(guest.status("anna")["state"], "no_connection");
    [anna, berta].into_iter().for_each(Service::stop);
    assert_eq!(guest.sockets(), [""; 0]);
}

#[test]
fn a_wrong_schedule_or_zone_is_said_at_the_start() {
    let mut command = program("queens-worker");
    command.args(["--check-config", "--schedule", "Mon-Fri 19:00"]);
    let told = run(command).complaint(2).to_owned();
    let hint =
        "'Mon-Fri 19:00': '19:00' has no end; expected days and hours such as 'Mon-Fri 19:00-07:00, Sat-Sun'";
    assert!(told.contains(hint), "{told}");
    assert!(
        run(program("queens-worker").args(["--check-config", "--schedule", "Mon-Fri"]).env("TZ", "No/Where"))
            .complaint(1)
            .starts_with("error: the local time zone, which --schedule needs, is not known")
    );
}

#[test]
fn a_worker_with_nothing_to_count_ends_after_its_limit() {
    let guest = Guest::new();
    let sentence = "there was nothing to count for 2s, the limit of --idle-timeout: leaving";
    let coordinator = Coordinator::start(&guest.path("data"));
    for (name, url) in [("away", "http://127.0.0.1:9".to_owned()), ("idle", coordinator.url())] {
        let mut worker = guest.worker(&url, name, &["--idle-timeout", "2s"]);
        assert!(worker.wait().success(), "{}", worker.log());
        assert!(worker.log().contains(sentence), "{}", worker.log());
    }
    // It counts a job for longer than that, and then ends.
    let job = coordinator.submit(SHORT);
    let mut worker = guest.worker(&coordinator.url(), "busy", &["--idle-timeout", "2s"]);
    assert!(worker.wait().success(), "{}", worker.log());
    assert_eq!(coordinator.status(&job)["state"], "done");
}

#[test]
fn a_nice_worker_has_the_lowest_priority() {
    let guest = Guest::new();
    let worker = guest.worker("http://127.0.0.1:9", "anna", &["--nice"]);
    guest.wait_for("anna", "no_connection");
    let tasks = Path::new("/proc").join(worker.id().to_string()).join("task");
    let mut found = Vec::new();
    for task in fs::read_dir(tasks).expect("it runs") {
        let stat = fs::read_to_string(task.expect("readable").path().join("stat")).expect("it runs");
        let (name, fields) = stat.rsplit_once(") ").expect("a name and fields");
        let fields: Vec<&str> = fields.split(' ').collect();
        // Its nice value and policy, by proc(5).
        let is_counting = name.contains("(count-");
        assert_eq!((fields[16], fields[38]), ("19", if is_counting { "5" } else { "0" }), "{name}");
        found.push(is_counting);
    }
    assert!(found.contains(&true) && found.contains(&false), "{found:?}");
    worker.stop();
}

/// A worker that counts only after nobody has used the machine for this long. The file `answer` has what logind would
/// answer.
fn idle_worker(guest: &Guest, when_idle: &str) -> Command {
    let bin = guest.path("bin");
    fs::create_dir_all(&bin).expect("created");
    let scripts =
        [("busctl", format!("cat {}", guest.path("answer").display())), ("systemctl", "exit 1".to_owned())];
    for (name, script) in scripts {
        fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o700)).expect("ours");
    }
    let mut command = worker_command("http://127.0.0.1:9", "anna", Kernel::Portable);
    command.args(["--when-idle", when_idle]).env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command
}

#[test]
fn a_worker_counts_while_nobody_uses_the_machine() {
    let guest = Guest::new();
    let answer = guest.path("answer");
    let refused = run(idle_worker(&guest, "5m")).complaint(1).to_owned();
    assert!(
        refused
            .starts_with("error: whether somebody uses this machine, which --when-idle needs, is not known")
    );
    fs::write(&answer, "b false\nt 0\n").expect("written");
    let worker = guest.worker_by(idle_worker(&guest, "5m"), "anna", &[]);
    assert_eq!(guest.wait_for("anna", "paused")["reasons"][0], "somebody uses this machine");
    fs::write(&answer, "b true\nt 0\n").expect("written");
    guest.wait_for("anna", "no_connection");
    worker.stop();
}

#[test]
fn an_x_server_tells_whether_somebody_uses_the_machine() {
    if !(is_installed("Xvfb") && is_installed("xdotool")) {
        return skipped("the pause by an X server: Xvfb or xdotool is not installed");
    }
    let guest = Guest::new();
    // What many desktops tell logind: nothing.
    fs::write(guest.path("answer"), "b false\nt 0\n").expect("written");
    let mut command = clean(Command::new("Xvfb"));
    command.args(["-displayfd", "2", "-noreset", "-nolisten", "tcp"]);
    let mut server = Service::start(command, &guest.path("xvfb.log"));
    let display = wait_until("a display", || {
        server.log().lines().find_map(|line| line.parse::<u32>().ok()).map(|number| format!(":{number}"))
    });
    let mut command = idle_worker(&guest, "1s");
    command.env("DISPLAY", &display);
    let worker = guest.worker_by(command, "anna", &[]);
    guest.wait_for("anna", "no_connection");
    // Logind would be wrong now, too.
    fs::write(guest.path("answer"), "b true\nt 0\n").expect("written");
    let mut x = 0;
    let reasons = wait_until("a pause", || {
        x = (x + 1) % 100;
        let mut mouse = clean(Command::new("xdotool"));
        mouse.args(["mousemove", &x.to_string(), "10"]).env("DISPLAY", &display);
        assert!(run(mouse).status.success());
        let status = guest.status("anna");
        (status["state"] == "paused").then(|| status["reasons"].clone())
    });
    assert_eq!(reasons[0], "somebody uses this machine");
    // A server that hangs is not waited for: logind is asked.
    server.signal("STOP");
    guest.wait_for("anna", "no_connection");
    worker.stop();
    server.signal("CONT");
    server.stop();
}
