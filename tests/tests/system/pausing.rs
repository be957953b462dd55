//! Workers on machines that people lend: they pause, resume and end as their users want, and no count is lost.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use queens_tests::directory::{entries, names};
use queens_tests::guest::Guest;
use queens_tests::prelude::*;

/// A board that takes some seconds.
const SHORT: u8 = 15;

/// Starts a worker of the user.
fn start(guest: &Guest, url: &str, name: &str, options: &[&str]) -> Service {
    let mut command = worker_command(url, name, Kernel::Portable);
    command.args(options);
    guest.start(command, name)
}

/// Returns what a command of the user prints.
#[track_caller]
fn prints(guest: &Guest, args: &[&str]) -> String {
    let ended = guest.run(args);
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    ended.stdout.trim_end().to_owned()
}

/// Returns the state of a worker that answers.
#[track_caller]
fn state(guest: &Guest, name: &str) -> Value {
    guest.status(name).expect("it answers")["state"].clone()
}

fn sockets(guest: &Guest) -> Vec<String> {
    names(guest.path("run/queens-worker"))
}

#[test]
fn a_user_pauses_a_worker_and_lets_it_count_again() {
    let guest = Guest::new();
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let job = coordinator.submit(LONG);
    let worker = start(&guest, &coordinator.url(), "anna", &SLOWLY);
    let status = guest.wait_for("anna", "counting");
    assert_eq!(
        (&status["connected"], &status["reasons"]),
        (&Value::from(true), &Value::from([""; 0].to_vec()))
    );
    assert_eq!(status["coordinators"][0], format!("{}/", coordinator.url()));
    coordinator.wait_for_records(&job);
    assert_eq!(prints(&guest, &["pause"]), "anna: not counting: paused by you");
    worker.wait_for_log("paused; everything it counted is recorded");
    coordinator.wait_for_workers(0);
    let status = guest.status("anna").expect("it answers");
    assert_eq!((&status["state"], &status["connected"]), (&Value::from("paused"), &Value::from(false)));
    let told = prints(&guest, &["status", "--name", "anna"]);
    assert!(told.contains("state        not counting: paused by you"), "{told}");
    assert!(told.contains(" core-hours in 0 minutes"), "{told}");
    // Its leases are free for others at once.
    assert_eq!(coordinator.status(&job)["workers"], 0, "{:?}", coordinator.status(&job));
    let before = coordinator.n_recorded(&job);
    prints(&guest, &["resume", "--name", "anna"]);
    guest.wait_for("anna", "counting");
    wait_for("more records", || coordinator.n_recorded(&job) > before);
    assert_eq!(prints(&guest, &["stop"]), "anna: leaving");
    let mut worker = worker;
    assert!(worker.wait().success());
    assert!(worker.log().contains("left; everything it counted is recorded"), "{}", worker.log());
    assert_eq!(sockets(&guest), [""; 0]);
    let log = coordinator.log();
    assert!(!log.contains("nothing was heard") && !log.contains("connection to worker lost"), "{log}");
}

#[test]
fn pauses_in_quick_turn_lose_no_count() {
    let guest = Guest::new();
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let worker = start(&guest, &coordinator.url(), "anna", &[]);
    guest.wait_for("anna", "no_job");
    let job = coordinator.submit(SHORT);
    let began = Instant::now();
    while coordinator.status(&job)["state"] != "done" && began.elapsed() < Duration::from_secs(5) {
        prints(&guest, &["pause"]);
        prints(&guest, &["resume"]);
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
    let worker = start(&guest, "http://127.0.0.1:9", "anna", &[]);
    guest.wait_for("anna", "no_connection");
    prints(&guest, &["pause"]);
    guest.wait_for("anna", "paused");
    // A worker that nobody pauses waits for half a minute between attempts; a paused one makes none.
    let log = worker.log();
    worker.stop();
    assert!(log.contains("not counting: paused by you"), "{log}");
    // Pause and stop at once.
    let mut worker = start(&guest, "http://127.0.0.1:9", "anna", &[]);
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
    let [anna, berta] = ["anna", "berta b."].map(|name| start(&guest, url, name, &[]));
    ["anna", "berta b."].iter().for_each(|name| drop(guest.wait_for(name, "no_connection")));
    assert_eq!(
        guest.run(&["pause"]).complaint(1),
        "error: 2 of your workers run on this machine: name one by --name (anna, berta b.)"
    );
    assert_eq!(prints(&guest, &["pause", "--name", "berta b."]), "berta b.: not counting: paused by you");
    assert_eq!(state(&guest, "anna"), "no_connection");
    nobody = guest.run(&["stop", "--name", "carla"]);
    let told = "error: no worker named 'carla' of yours answers on this machine; there is anna, berta b.";
    assert_eq!(nobody.complaint(1), told);
    // Garbage does no harm.
    let socket = guest.path("run/queens-worker/anna.socket");
    for garbage in [&b"\xff\0\n"[..], &[b'x'; 1 << 16]] {
        let mut stream = UnixStream::connect(&socket).expect("connected");
        _ = stream.write_all(garbage);
    }
    assert_eq!(state(&guest, "anna"), "no_connection");
    // A killed worker leaves its socket.
    anna.kill();
    assert!(sockets(&guest).contains(&"anna.socket".to_owned()));
    let told = prints(&guest, &["resume"]);
    assert!(told.starts_with("berta b.: not counting: no connection to a coordinator"), "{told}");
    let anna = start(&guest, url, "anna", &[]);
    guest.wait_for("anna", "no_connection");
    // One with the same name counts all the same.
    let second = guest.start(worker_command(url, "anna", Kernel::Portable), "second");
    second.wait_for_log("another worker of yours has the name 'anna'");
    second.stop();
    assert_eq!(state(&guest, "anna"), "no_connection");
    [anna, berta].into_iter().for_each(Service::stop);
    assert_eq!(sockets(&guest), [""; 0]);
}

#[test]
fn a_wrong_schedule_or_zone_is_said_at_the_start() {
    let refused = run(program("queens-worker").args(["--check-config", "--schedule", "Mon-Fri 19:00"]));
    let told = refused.complaint(2);
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
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    for (name, url) in [("away", "http://127.0.0.1:9".to_owned()), ("idle", coordinator.url())] {
        let mut worker = start(&guest, &url, name, &["--idle-timeout", "2s"]);
        assert!(worker.wait().success(), "{}", worker.log());
        assert!(worker.log().contains(sentence), "{}", worker.log());
    }
    // It counts a job for longer than that, and then ends.
    let job = coordinator.submit(SHORT);
    let mut worker = start(&guest, &coordinator.url(), "busy", &["--idle-timeout", "2s"]);
    assert!(worker.wait().success(), "{}", worker.log());
    assert_eq!(coordinator.status(&job)["state"], "done");
}

#[test]
fn a_nice_worker_has_the_lowest_priority() {
    let guest = Guest::new();
    let worker = start(&guest, "http://127.0.0.1:9", "anna", &["--nice"]);
    guest.wait_for("anna", "no_connection");
    let tasks = Path::new("/proc").join(worker.id().to_string()).join("task");
    let mut found = Vec::new();
    for task in entries(tasks) {
        let stat = fs::read_to_string(task.join("stat")).expect("it runs");
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
    let worker = guest.start(idle_worker(&guest, "5m"), "anna");
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
    let worker = guest.start(command, "anna");
    guest.wait_for("anna", "no_connection");
    // Logind would be wrong now, too.
    fs::write(guest.path("answer"), "b true\nt 0\n").expect("written");
    let mut x = 0;
    let reasons = wait_until("a pause", || {
        x = (x + 1) % 100;
        let mut mouse = clean(Command::new("xdotool"));
        mouse.args(["mousemove", &x.to_string(), "10"]).env("DISPLAY", &display);
        assert!(run(mouse).status.success());
        let status = guest.status("anna").expect("it answers");
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
