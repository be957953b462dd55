//! Workers on machines that sleep and change networks, and coordinators that move: they find each other again by
//! themselves, and the count is right.
//!
//! With the environment variable `QUEENS_FAULTS` set to `full`, machines sleep for more than a minute, and somebody
//! else takes the address of a coordinator that moves.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use queens_tests::cleanup::Undo;
use queens_tests::guest::Guest;
use queens_tests::prelude::*;

/// A board that takes one thread of a fast kernel some seconds.
const BOARD: u8 = 16;

/// Longer than a coordinator keeps a silent worker (14 s); in full, longer than any timeout of a connection (60 s).
fn sleep() -> Duration {
    Duration::from_secs(if is_full("QUEENS_FAULTS") { 70 } else { 20 })
}

/// The longest time after which a machine that runs is connected again: dead connections are found within 20 s, and no
/// pause between attempts reaches 24 s.
const SOON: u64 = 60;

#[track_caller]
fn wait_for_connection(user: &Guest, name: &str) {
    wait_for("a connection", || user.status(name).is_some_and(|status| status["connected"] == true));
}

/// Tells how many subproblems of a finished job these workers counted twice, and checks the records.
#[track_caller]
fn check_end(user: &Guest, what: &str, status: &Value, names: &[&str], data_dir: &Path) {
    assert_eq!(status["solutions"], solutions(BOARD), "{status}");
    let n_recorded: i64 = records(data_dir).expect("readable").iter().map(|one| one.n_subproblems()).sum();
    let n_recorded = u128::try_from(n_recorded).expect("positive");
    assert_eq!(n_recorded, number(&status["recorded"]), "all is recorded once");
    let n_counted = |name: &&str| number(&user.status(name).expect("it runs")["subproblems"]);
    let n_counted: u128 = names.iter().map(n_counted).sum();
    let n_twice = n_counted.checked_sub(n_recorded).expect("all was counted");
    say(&format!("{what}: {n_twice} of {n_recorded} subproblems were counted twice"));
    // What a worker counted since its last report, and after its sleep until it is told what others have. That takes
    // the longer, the busier this machine is.
    assert!(n_twice * 2 < n_recorded, "{n_twice} of {n_recorded} were counted twice");
}

/// Whether others count the leases of the worker that sleeps.
fn sleep_and_go_on(others_count: bool) {
    let user = Guest::new();
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::start();
    let job = coordinator.submit(BOARD);
    let worker = |name: &str, percent: &str| {
        let mut command = worker_command(&coordinator.url(), name, Kernel::Portable);
        command.args(["--cpu", percent]);
        user.start(command, name)
    };
    let mut laptop = worker("laptop", "25");
    coordinator.wait_for_records(&job);
    laptop.signal("STOP");
    let other = others_count.then(|| worker("other", "5"));
    // What it reported last may still be on the way.
    thread::sleep(Duration::from_secs(2));
    let before = coordinator.n_recorded(&job);
    thread::sleep(sleep());
    let after = coordinator.n_recorded(&job);
    assert_eq!(after > before, others_count, "{before} {after}");
    let n_connected = laptop.log().matches(" connected ").count();
    laptop.signal("CONT");
    let woke = Instant::now();
    wait_at_most(promised(SOON), "a new connection", || {
        (laptop.log().matches(" connected ").count() > n_connected).then_some(())
    });
    say(&format!("connected {:?} after a sleep of {:?}", woke.elapsed(), sleep()));
    wait_for_connection(&user, "laptop");
    let mut names = vec!["laptop", "fast"];
    names.extend(other.as_ref().map(|_| "other"));
    let fast = user.start(worker_command(&coordinator.url(), "fast", Kernel::best()), "fast");
    let status = coordinator.done(&job);
    let what = if others_count { "asleep, others count" } else { "asleep, alone" };
    check_end(&user, what, &status, &names, &data_dir);
    [laptop, fast].into_iter().chain(other).for_each(Service::stop);
}

#[test]
fn a_worker_that_slept_goes_on_with_its_leases() {
    sleep_and_go_on(false);
}

#[test]
fn a_worker_that_slept_gives_up_what_others_count() {
    sleep_and_go_on(true);
}

/// Two networks with one cable.
struct Networks {
    names: [String; 2],
    _undo: [Undo; 2],
}

const COORDINATOR: &str = "10.77.0.1";

impl Networks {
    /// Makes them; `None` if this user may not, or a program is missing.
    fn new() -> Option<Self> {
        if !is_installed("ip") {
            skipped("a worker that changes its network, as there is no iproute2");
            return None;
        }
        let names = ["c", "w"].map(|end| format!("queens-{}-{end}", std::process::id()));
        let undo = names.each_ref().map(|name| {
            Undo::by(|| {
                let mut command = Command::new("ip");
                command.args(["netns", "del", name]);
                command
            })
        });
        for name in &names {
            if !ip(&["netns", "add", name]) {
                skipped_without_root("a worker that changes its network");
                return None;
            }
        }
        let networks = Self { names, _undo: undo };
        let [c, w] = &networks.names;
        let of_w = ["link", "add", "eth0", "netns", w, "type", "veth", "peer", "name", "eth0", "netns", c];
        assert!(ip(&of_w), "a cable");
        for name in &networks.names {
            for link in ["lo", "eth0"] {
                assert!(ip(&["-n", name, "link", "set", link, "up"]), "{link}");
            }
        }
        assert!(ip(&["-n", c, "address", "add", &format!("{COORDINATOR}/16"), "dev", "eth0"]));
        Some(networks)
    }

    fn has_address(&self, address: &str, is_there: bool) {
        let action = if is_there { "add" } else { "del" };
        assert!(ip(&["-n", &self.names[1], "address", action, &format!("{address}/16"), "dev", "eth0"]));
    }

    /// Returns a command that runs another one in the network of the coordinator (0) or of the worker (1).
    fn within(&self, network: usize, command: &Command) -> Command {
        let mut within = clean(Command::new("ip"));
        within
            .args(["netns", "exec", &self.names[network]])
            .arg(command.get_program())
            .args(command.get_args());
        within
    }
}

fn ip(args: &[&str]) -> bool {
    Running::start_silent(Command::new("ip").args(args)).wait().status.success()
}

#[test]
fn a_worker_goes_on_in_another_network() {
    let Some(networks) = Networks::new() else { return };
    let user = Guest::new();
    let data_dir = user.path("data");
    let (listen, url) = (format!("{COORDINATOR}:50051"), format!("http://{COORDINATOR}:50051"));
    let mut command = coordinator_command(&listen, &data_dir);
    command.arg("--insecure-no-auth");
    let _coordinator = Coordinator::start_command(networks.within(0, &command), &data_dir);
    let ask = |args: &[&str]| {
        let command = queens([args, &["--coordinator", &url, "--output", "json"]].concat());
        run(networks.within(0, &command)).answer()
    };
    _ = run(networks.within(0, &queens(["submit", &BOARD.to_string(), "--coordinator", &url]))).good();
    let n_recorded = || number(&ask(&["status", "1"])["recorded"]);
    networks.has_address("10.77.1.1", true);
    let mut command = worker_command(&url, "laptop", Kernel::Portable);
    command.args(SLOWLY);
    let mut laptop = user.start(networks.within(1, &command), "laptop");
    wait_for("a record", || n_recorded() > 0);
    let addresses = ["10.77.1.1", "10.77.2.1", "10.77.1.1", "10.77.3.1"];
    for (step, (old, new)) in addresses.iter().zip(&addresses[1..]).enumerate() {
        let is_asleep = step == 2;
        let n_connected = laptop.log().matches(" connected ").count();
        if is_asleep {
            laptop.signal("STOP");
        }
        networks.has_address(old, false);
        // Between two networks, there is none.
        thread::sleep(Duration::from_secs(if is_asleep { 15 } else { 5 }));
        networks.has_address(new, true);
        let moved = Instant::now();
        if is_asleep {
            laptop.signal("CONT");
        }
        wait_at_most(promised(SOON), "a new connection", || {
            (laptop.log().matches(" connected ").count() > n_connected).then_some(())
        });
        let (took, asleep) = (moved.elapsed(), if is_asleep { " during a sleep" } else { "" });
        say(&format!("connected {took:?} after a change of the network{asleep}"));
        // A worker that did not know of its sleep would wait for its keep-alive.
        let log = laptop.log();
        assert!(!is_asleep || log.contains("this program did not run for"), "{took:?}: {log}");
        let before = n_recorded();
        wait_for("more records", || n_recorded() > before);
    }
    let fast = worker_command(&url, "fast", Kernel::best());
    let fast = user.start(networks.within(0, &fast), "fast");
    let status = wait_until("the end of the job", || {
        Some(ask(&["status", "1"])).filter(|status| status["state"] == "done")
    });
    check_end(&user, "in another network", &status, &["laptop", "fast"], &data_dir);
    [laptop, fast].into_iter().for_each(Service::stop);
}

/// A coordinator with a campaign, whose pages stay where they are while it moves.
struct Site {
    user: Guest,
    pages: Port,
}

impl Site {
    fn coordinator(&self, port: &Port, name: &str) -> Coordinator {
        let (data_dir, keys) = (self.user.path(name), self.user.path(&format!("{name}.keys")));
        if !keys.exists() {
            certs(&keys, &[]);
        }
        let mut command = coordinator_command(&port.address(), &data_dir);
        command.args(["--http", &self.pages.address()]);
        tls_args(&mut command, &keys);
        Coordinator::start_command(command, &data_dir)
    }

    fn manage(&self, args: &[&str]) -> String {
        let data_dir = self.user.path("data");
        queens_coordinator(&[args, &["--data-dir", utf8(&data_dir)]].concat()).good().stdout
    }
}

/// The campaign is closed when the coordinator moves. The worker looks for it where the link says, and nowhere else.
#[test]
fn a_coordinator_that_moved_is_found_by_the_link() {
    let site = Site { user: Guest::new(), pages: Port::draw() };
    let (old, new) = (Port::draw(), Port::draw());
    let coordinator = site.coordinator(&old, "data");
    let opened = site.manage(&["campaign", "open"]);
    let line: Vec<&str> = opened.lines().last().expect("a line").split_whitespace().collect();
    let invited = site.manage(&["invite", "--role", "operator"]);
    let token = token_in(&invited);
    let authority = site.user.path("data.keys/ca.pem");
    let ask = |port: &Port, args: &[&str]| {
        let url = format!("https://{}", port.address());
        let mut command = queens([args, &["--coordinator", &url, "--output", "json", "--ca"]].concat());
        command.arg(&authority).env("QUEENS_TOKEN", &token);
        run(command)
    };
    _ = ask(&old, &["submit", &BOARD.to_string()]).good();
    let home = site.user.path("home");
    fs::create_dir(&home).expect("created");
    let mut command = program("queens-worker");
    command.args(&line[1..]).args(["--name", "anna"]).env("HOME", &home).env_remove("XDG_CONFIG_HOME");
    command.env("QUEENS_THREADS", "1").env("QUEENS_LOG", "info,queens_worker=debug");
    let anna = site.user.start(command, "anna");
    let status = |port: &Port| ask(port, &["status", "1"]).answer();
    wait_for("a record", || number(&status(&old)["recorded"]) > 0);
    let toml = home.join(".config/queens/worker.toml");
    let before = fs::read_to_string(&toml).expect("readable");
    assert!(before.contains(&format!("campaign = \"{}\"", line[2])), "{before}");
    site.manage(&["campaign", "close", "--all"]);

    coordinator.stop();
    if is_full("QUEENS_FAULTS") {
        // Somebody else's coordinator answers where the link leads. It does not have the key.
        let stranger = site.coordinator(&old, "other");
        anna.wait_for_log("the campaign's site does not answer");
        assert!(anna.log().contains("it is not known to be the coordinator"), "{}", anna.log());
        assert!(!anna.log().contains("has moved"), "{}", anna.log());
        stranger.stop();
    }
    let moved = Instant::now();
    let coordinator = site.coordinator(&new, "data");
    wait_for_connection(&site.user, "anna");
    say(&format!("a coordinator that moved was found after {:?}", moved.elapsed()));
    assert!(anna.log().contains("the coordinator has moved, as the campaign's site says"), "{}", anna.log());
    let expected = before.replace(&old.address(), &new.address());
    assert_ne!(expected, before);
    assert_eq!(fs::read_to_string(&toml).expect("readable"), expected);
    let status =
        wait_until("the end of the job", || Some(status(&new)).filter(|status| status["state"] == "done"));
    check_end(&site.user, "a coordinator that moved", &status, &["anna"], &site.user.path("data"));
    let told = site.user.status("anna").expect("it runs");
    assert_eq!(told["coordinators"][0], format!("https://{}/", new.address()));
    anna.stop();
    coordinator.stop();
}
