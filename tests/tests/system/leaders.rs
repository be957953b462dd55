//! Several coordinators with one leader: workers and operators find it, and its successor.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use queens_auth::Pin;
use queens_tests::data_dir::n_jobs;
use queens_tests::prelude::*;
use queens_tests::proxy::Proxy;
use queens_tests::standby::Standby;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// An unused port.
const NOBODY: &str = "http://127.0.0.1:9";

/// The seconds after which a worker must count for the next leader.
const SOON: u64 = 10;

/// Starts a worker that knows these coordinators and logs to a file.
#[track_caller]
fn worker(coordinators: &[&str], log: &Path) -> Service {
    let mut command = worker_command(&coordinators.join(","), "w", Kernel::Portable);
    Service::start(command.env("QUEENS_LOG", "debug"), log)
}

/// Runs `queens` with these arguments and coordinators.
#[track_caller]
fn ask(coordinators: &[&str], args: &[&str]) -> Ended {
    let mut command = queens(args);
    for coordinator in coordinators {
        command.args(["--coordinator", coordinator]);
    }
    run(command)
}

/// A server that accepts connections and says nothing, or does not even accept them.
struct Silent {
    address: SocketAddr,
    /// Connections that fill the queue, so that no more are accepted.
    _held: Vec<TcpStream>,
    _listener: tokio::net::TcpListener,
    _runtime: Runtime,
}

impl Silent {
    fn start(takes_connections: bool) -> Self {
        let runtime = runtime();
        let (listener, held) = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
            socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
            let listener = socket.listen(if takes_connections { 64 } else { 1 }).expect("it listens");
            let address = listener.local_addr().expect("bound");
            let mut held = vec![];
            // When its queue is full, new connections are dropped, as by a firewall.
            let is_full = async |held: &mut Vec<TcpStream>| {
                let connecting =
                    tokio::time::timeout(Duration::from_millis(500), TcpStream::connect(address));
                let Ok(connected) = connecting.await else { return true };
                held.push(connected.expect("connected"));
                assert!(held.len() < 64, "a queue without end");
                false
            };
            if !takes_connections {
                while !is_full(&mut held).await {}
            }
            (listener, held)
        });
        let address = listener.local_addr().expect("bound");
        Self { address, _held: held, _listener: listener, _runtime: runtime }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

#[test]
fn a_worker_finds_the_leader_through_one_that_stands_by() {
    let Scenario { scratch, coordinator: leader, .. } = Scenario::start();
    let standby = Standby::start();
    standby.name(&format!("{}/", leader.url()));
    let mut worker = worker(&[&standby.url()], &scratch.join("worker"));
    leader.wait_for_workers(1);
    assert_eq!(worker.logged("connected coordinator="), format!("{}/", leader.url()));
    assert!(!worker.log().contains("no connection"), "{}", worker.log());
    let answer = ask(&[&standby.url()], &["count", "12", "--output", "json"]).answer();
    assert_eq!(answer["solutions"], "14200");
}

#[test]
fn whoever_is_dead_silent_or_stands_by_is_passed_over() {
    let Scenario { scratch, coordinator: leader, .. } = Scenario::start();
    let (standby, silent, unreachable) = (Standby::start(), Silent::start(true), Silent::start(false));
    let all = [NOBODY, &silent.url(), &unreachable.url(), &standby.url(), &leader.url()];
    let began = Instant::now();
    let _worker = worker(&all, &scratch.join("worker"));
    leader.wait_for_workers(1);
    assert!(began.elapsed() < promised(SOON), "{:?}", began.elapsed());
    let asked = ask(&all, &["submit", "10"]);
    assert_eq!((asked.status.code(), asked.stdout.as_str()), (Some(0), "1\n"), "{asked:?}");
    assert!(asked.elapsed < promised(SOON), "{asked:?}");
    // A submission goes only to the named leader: a standby might lead by then.
    assert_eq!(standby.n_calls("Submit"), 0);
}

/// Waits until a worker has work of this coordinator, which must be soon.
#[track_caller]
fn check_counts_soon(worker: &Service, coordinator: &Coordinator, began: Instant) {
    let connected = format!("connected coordinator={}/", coordinator.url());
    let took = wait_until("work", || {
        let log = worker.log();
        let (_, since) = log.split_once(&connected)?;
        since.contains("heard Lease(").then(|| began.elapsed())
    });
    assert!(took < promised(SOON), "{took:?}: {}", worker.log());
}

/// Lets a worker count for the first of two, calls `strike`, and waits until it counts for the other.
#[track_caller]
fn check_moves(strike: impl FnOnce(&mut Option<Coordinator>)) {
    let scratch = TempDir::new();
    let [first, second] = ["first", "second"].map(|name| Coordinator::start(&scratch.join(name)));
    _ = second.submit(LONG);
    let worker = worker(&[&first.url(), &second.url()], &scratch.join("worker"));
    first.wait_for_workers(1);
    let mut first = Some(first);
    strike(&mut first);
    let began = Instant::now();
    check_counts_soon(&worker, &second, began);
    // A stopped process could not be ended.
    first.iter_mut().for_each(|first| first.signal("CONT"));
}

#[test]
fn a_worker_whose_leader_is_killed_goes_on_with_the_next() {
    check_moves(|first| first.take().expect("it runs").kill());
}

#[test]
fn a_worker_whose_leader_is_frozen_goes_on_with_the_next() {
    check_moves(|first| first.as_mut().expect("it runs").signal("STOP"));
}

/// For some seconds, the standbys name the frozen leader; then another leads.
#[test]
fn a_frozen_leader_that_is_still_named_keeps_nobody_from_the_next() {
    let scratch = TempDir::new();
    let [mut first, second] = ["first", "second"].map(|name| Coordinator::start(&scratch.join(name)));
    _ = second.submit(LONG);
    let standby = Standby::start();
    standby.name(&first.url());
    let worker = worker(&[&first.url(), &standby.url()], &scratch.join("worker"));
    first.wait_for_workers(1);
    first.signal("STOP");
    let began = Instant::now();
    wait_for("the lead to run out", || began.elapsed() > Duration::from_millis(6500));
    standby.name(&second.url());
    check_counts_soon(&worker, &second, began);
    first.signal("CONT");
}

#[test]
fn a_token_goes_to_nobody_who_could_not_be_given_it() {
    let standby = Standby::start();
    standby.name("http://queens.invalid:50051");
    let ended = run(queens(["jobs", "--coordinator", &standby.url()])
        .env("QUEENS_TOKEN", format!("queens_1_{}", "a".repeat(64))));
    // Only the standby was asked.
    assert_eq!(
        ended.complaint(1),
        "error: this coordinator stands by: http://queens.invalid:50051 leads",
        "{ended:?}"
    );
}

#[test]
fn what_changes_something_is_done_once() {
    let scratch = TempDir::new();
    let [first, second] = ["first", "second"].map(|name| Coordinator::start(&scratch.join(name)));
    let standby = Standby::start();
    standby.name(&first.url());
    let asked = ask(&[&standby.url()], &["submit", "10", "--method", "search"]);
    assert_eq!((asked.status.code(), asked.stdout.as_str()), (Some(0), "1\n"), "{asked:?}");
    assert_eq!(standby.n_calls("Submit"), 1, "it was asked, as there seemed to be nobody else");

    // After a lost answer, no other coordinator is asked.
    let proxy = Proxy::start(first.address());
    let dir = scratch.join("first");
    proxy.hold_answers({
        let dir = dir.clone();
        move || n_jobs(&dir) == 2
    });
    let mut command = queens(["submit", "11", "--method", "search", "--coordinator"]);
    let submitting = Running::start(command.arg(format!("{},{}", proxy.url(), second.url())));
    wait_for("the job", || n_jobs(&dir) == 2);
    proxy.cut();
    let outcome = submitting.wait();
    assert!(outcome.complaint(1).contains("it may be done all the same"), "{outcome:?}");
    assert_eq!(n_jobs(&scratch.join("second")), 0);
}

#[test]
fn who_watches_a_job_goes_on_with_the_next_leader() {
    let scratch = TempDir::new();
    let [first, second] = ["first", "second"].map(|name| Coordinator::start(&scratch.join(name)));
    // With one database it would be the same job.
    assert_eq!([first.submit(LONG), second.submit(10)], ["1", "1"]);
    let _worker = second.worker("w");
    _ = second.done("1");
    let mut command = queens(["watch", "1", "--coordinator"]);
    let mut watching = Running::start(command.arg(format!("{},{}", first.url(), second.url())));
    let mut lines = BufReader::new(watching.take_stdout().expect("it is piped")).lines();
    assert!(lines.next().is_some_and(|line| line.is_ok_and(|line| line.contains("n = 22"))));
    let url = first.url();
    first.kill();
    let last = lines.map_while(Result::ok).last().unwrap_or_default();
    assert!(last.contains("724 solutions"), "{last}");
    let ended = watching.wait();
    let lost = format!("lost the coordinator at {url}/; looking for the one that leads");
    assert!(ended.status.success() && ended.stderr.contains(&lost), "{ended:?}");
}

#[test]
fn a_doctor_asks_each_and_says_who_leads() {
    let Scenario { scratch, coordinator: leader, .. } = Scenario::start();
    let standby = Standby::start();
    standby.name(&leader.url());
    let (led, stands) = (leader.url(), standby.url());
    for listed in [&[stands.as_str()][..], &[&stands, &led], &[&led, &stands]] {
        let ended = ask(listed, &["doctor"]).good();
        for line in [
            format!("ok    coordinator  {stands}/: this coordinator stands by: {led} leads"),
            format!("ok    coordinator  {led}/ answers after "),
            format!("ok    leader       {led}/ leads"),
        ] {
            assert!(ended.stdout.contains(&line), "{line}: {ended:?}");
        }
    }
    let ended = ask(&[NOBODY, &led], &["doctor"]);
    assert!(
        ended.status.success() && ended.stdout.contains(&format!("warn  coordinator  {NOBODY}/: ")),
        "{ended:?}"
    );
    let other = Coordinator::start(&scratch.join("other"));
    let both = ask(&[&led, &other.url()], &["doctor"]);
    assert!(both.stdout.contains("all lead: they are not on one database"), "{both:?}");
    assert_eq!(both.status.code(), Some(1), "{both:?}");
    leader.kill();
    let none = ask(&[&stands], &["doctor"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    assert!(none.stdout.contains("BAD   leader       none of the coordinators leads"), "{none:?}");
}

/// Each coordinator has its own key.
#[test]
fn any_of_several_pins_is_taken() {
    let [first, second] = [(); 2].map(|()| Guarded::new(&[]));
    let pins =
        [&first, &second].map(|one| Pin::of_file(&one.keys().join("server.pem")).expect("a pin").to_string());
    for (one, pin, other_pin) in [(&first, &pins[0], &pins[1]), (&second, &pins[1], &pins[0])] {
        let token = one.invite(["--role", "viewer"]).token;
        let jobs = |args: &[&str]| {
            let mut command = queens(["jobs", "--coordinator", &one.url()]);
            run(command.args(args).env("QUEENS_TOKEN", token.secret()))
        };
        for args in [&["--pin", &pins.join(",")][..], &["--pin", other_pin, "--pin", pin], &["--pin", pin]] {
            assert_eq!(jobs(args).status.code(), Some(0), "{:?}", jobs(args));
        }
        assert!(jobs(&["--pin", other_pin]).complaint(1).contains("is not pinned"));
    }
}
