//! Failover between coordinators that share a database: one leads, and another takes over.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use queens_tests::chance::Chance;
use queens_tests::postgres::proved;
use queens_tests::prelude::*;
use queens_tests::proxy::Proxy;
use queens_tests::workers::worker;

/// The seconds of the longest failover, which takes 7 s on an idle machine.
const LIMIT: u64 = 30;

/// The most faults of one count.
const MOST_FAULTS: usize = 60;

/// Shifts the wall clock of a process, but not its monotonic clock.
pub(crate) const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/// Removes on drop what the library leaves in shared memory when a process is killed.
pub(crate) struct FaketimeMemory;

impl Drop for FaketimeMemory {
    fn drop(&mut self) {
        for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let of = ["faketime_shm_", "sem.faketime_sem_"].iter().find_map(|kind| name.strip_prefix(kind));
            if of.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
                // It may be another user's.
                _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A coordinator with its proxies.
struct Node {
    service: Service,
    data_dir: PathBuf,
    listen: Port,
    pages: Port,
    to_database: Proxy,
    to_workers: Proxy,
}

impl Node {
    /// Starts a coordinator; the second one of a database is a standby.
    fn start(data_dir: &Path, postgres: &Postgres, database: &str, clock: Option<&str>) -> Self {
        let to_database = Proxy::start(&postgres.address());
        let [listen, pages] = [(); 2].map(|()| Port::draw());
        let to_workers = Proxy::start(&listen.address());
        let service = Self::run(data_dir, &listen, &pages, &to_database, &to_workers, database, clock);
        Self { service, data_dir: data_dir.to_owned(), listen, pages, to_database, to_workers }
    }

    fn run(
        data_dir: &Path,
        listen: &Port,
        pages: &Port,
        to_database: &Proxy,
        to_workers: &Proxy,
        database: &str,
        clock: Option<&str>,
    ) -> Service {
        let address = to_database.url().replace("http://", "postgres://queens@");
        let mut command = with_store(&listen.address(), data_dir, &format!("{address}/{database}"));
        command.args(["--http", &pages.address(), "--url", &to_workers.url()]);
        if let Some(clock) = clock {
            command
                .env("LD_PRELOAD", FAKETIME)
                .env("FAKETIME", clock)
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        Service::start(command, &data_dir.with_extension("log"))
    }

    fn kill(&mut self) {
        self.service.signal("KILL");
        _ = self.service.wait();
    }

    /// Starts another in its place.
    fn run_again(&mut self, clock: Option<&str>) {
        let Self { data_dir, listen, pages, to_database, to_workers, .. } = self;
        self.service = Self::run(data_dir, listen, pages, to_database, to_workers, "shared", clock);
    }

    /// Does the same while another leads.
    fn restart(&mut self, clock: Option<&str>) {
        self.run_again(clock);
        assert_eq!(self.service.logged("standing by address="), self.listen.address());
    }

    fn queens(&self, args: &[&str]) -> Ended {
        let mut command = queens(args);
        command.args(["--coordinator", &format!("http://{}", self.listen.address())]);
        run(command)
    }
}

/// Returns the leader's URL for workers.
fn leader(postgres: &Postgres) -> Option<String> {
    let sql = "SELECT holder FROM queens.lease WHERE expires > clock_timestamp()";
    postgres.sql("shared", sql).ok().filter(|holder| !holder.is_empty())
}

/// Whether a readiness answer contains this text. A coordinator that just loses its lead closes the connection.
fn says(node: &Node, text: &str) -> Option<()> {
    let ready = http::try_request(&node.pages.address(), "GET", "/readyz", &[], "")?;
    ready.body.contains(text).then_some(())
}

/// Returns the number of recorded subproblems.
fn recorded(postgres: &Postgres) -> u64 {
    let sql = "SELECT coalesce(sum(until - first), 0) FROM queens.record";
    postgres.sql("shared", sql).map_or(0, |n| n.parse().expect("a number"))
}

/// Waits until this one leads and workers count with it; prints the time of each.
#[track_caller]
fn goes_on_with(what: &str, node: &Node, job: &str, postgres: &Postgres, since: Instant) {
    let url = node.to_workers.url();
    wait_at_most(promised(LIMIT), "another to lead", || {
        (leader(postgres)?.trim_end_matches('/') == url).then_some(())
    });
    let led = since.elapsed();
    let before = recorded(postgres);
    wait_at_most(promised(LIMIT), "workers to count with it", || {
        let is_done = || node.queens(&["status", job, "--output", "json"]).stdout.contains("\"done\"");
        (recorded(postgres) > before || is_done()).then_some(())
    });
    say(&format!("{what}: another leads after {led:.1?}, and counts after {:.1?}", since.elapsed()));
}

/// After any fault of the leader, the other soon leads, workers find it, and no record is lost or added twice.
#[test]
fn another_leads_whatever_happens_to_the_one_that_does() {
    let _memory = FaketimeMemory;
    let Some(postgres) = Postgres::start("") else { return };
    _ = postgres.database("shared");
    let dir = TempDir::new();
    let start = |name: &str| Node::start(&dir.join(name), &postgres, "shared", None);
    let mut one = start("one");
    assert_eq!(one.service.logged("listening address="), one.listen.address());
    let mut other = start("other");
    assert_eq!(other.service.logged("standing by address="), other.listen.address());

    // The standby's answers meanwhile.
    let ready = http::get(&other.pages.address(), "/readyz");
    let leads = format!("this coordinator stands by: {} leads\n", one.to_workers.url());
    assert_eq!((ready.status, ready.body.replace("/ leads", " leads")), (503, leads.clone()));
    assert_eq!(http::get(&other.pages.address(), "/healthz").status, 200);
    assert!(http::get(&other.pages.address(), "/metrics").body.contains("\nqueens_leading 0\n"));
    assert!(http::get(&one.pages.address(), "/metrics").body.contains("\nqueens_leading 1\n"));
    let sent_on = http::get(&other.pages.address(), "/jobs/7?x=1");
    assert_eq!(sent_on.status, 307);
    assert!(sent_on.header("location").is_some_and(|to| to.ends_with("/jobs/7?x=1")), "{sent_on:?}");

    let both = format!("{},{}", other.to_workers.url(), one.to_workers.url());
    let _worker = worker(&both, "anna");
    let answer = other.queens(&["submit", "17", "--yes", "--output", "json"]).answer();
    let job = answer["job"].as_str().expect("forwarded to the leader").to_owned();
    wait_for("records", || recorded(&postgres) > 0);

    let since = Instant::now();
    one.kill();
    goes_on_with("killed", &other, &job, &postgres, since);
    one.restart(None);

    other.service.signal("STOP");
    let since = Instant::now();
    goes_on_with("frozen", &one, &job, &postgres, since);
    other.service.signal("CONT");
    wait_until("it to stand by", || says(&other, " leads"));
    assert!(other.service.log().contains("this coordinator leads no more"), "{}", other.service.log());
    assert_eq!(leader(&postgres).map(|url| url.trim_end_matches('/').to_owned()), Some(one.to_workers.url()));

    one.to_database.swallow(true);
    let since = Instant::now();
    goes_on_with("cut off from the database", &other, &job, &postgres, since);
    wait_until("the one that was cut off to know", || says(&one, "its database can't be reached"));
    one.to_database.swallow(false);
    one.to_database.cut();
    wait_until("it to be there again", || says(&one, " leads"));

    other.to_workers.swallow(true);
    let since = Instant::now();
    goes_on_with("cut off from workers", &one, &job, &postgres, since);
    other.to_workers.swallow(false);
    other.to_workers.cut();
    wait_until("it to stand by", || says(&other, " leads"));

    if Path::new(FAKETIME).exists() {
        // A clock that is days fast does not advance its lead, and one that is days slow does not extend it.
        other.kill();
        other.restart(Some("+3d"));
        thread::sleep(Duration::from_secs(1));
        assert_eq!(
            leader(&postgres).map(|url| url.trim_end_matches('/').to_owned()),
            Some(one.to_workers.url())
        );
        let since = Instant::now();
        one.kill();
        goes_on_with("killed, and the other's clock three days ahead", &other, &job, &postgres, since);
        one.restart(Some("-3d"));
        let since = Instant::now();
        other.kill();
        goes_on_with("killed, and the other's clock three days behind", &one, &job, &postgres, since);
    } else {
        skipped("coordinators whose clocks are wrong: faketime is not installed");
    }

    let _fast = fast_worker(&both);
    let status = wait_until("all to be counted", || {
        let status = one.queens(&["status", &job, "--output", "json"]).answer();
        (status["state"] == "done").then_some(status)
    });
    assert!(status.to_string().contains("\"95815104\""), "{status}");
    let proof = proved(&postgres.address_of("shared"));
    assert!(proof.contains(": 95815104 solutions"), "{proof}");
}

/// Starts a worker that counts all the time, whose log is in this directory.
fn busy_worker(urls: &str, name: &str, dir: &Path) -> Service {
    Service::start(worker_command(urls, name, Kernel::Portable), &dir.join(name).with_extension("log"))
}

/// Strikes a target with a fault.
fn strike(
    chance: &mut Chance,
    work: &mut [Node; 2],
    workers: &mut [Service; 2],
    urls: &str,
    dir: &Path,
    postgres: &mut Postgres,
) -> String {
    let [number, other] = [(); 2].map(|()| usize::try_from(chance.within(0..=1)).expect("small"));
    let (node, lasts) = (&mut work[number], Duration::from_millis(chance.within(500..=12_000)));
    let swallowed = |proxy: &Proxy| {
        proxy.swallow(true);
        thread::sleep(lasts);
        proxy.swallow(false);
        // Lost data is not sent again.
        proxy.cut();
    };
    let what = match chance.within(0..=6) {
        0 => {
            node.kill();
            thread::sleep(lasts);
            node.run_again(None);
            "killed"
        }
        1 => {
            node.service.signal("STOP");
            thread::sleep(lasts);
            node.service.signal("CONT");
            "frozen"
        }
        2 => {
            node.to_database.cut();
            return format!("coordinator {number}'s connections to the database cut");
        }
        3 => {
            swallowed(&node.to_database);
            "cut off from the database"
        }
        4 => {
            swallowed(&node.to_workers);
            "cut off from workers"
        }
        5 => {
            postgres.kill();
            thread::sleep(lasts);
            postgres.run();
            return format!("the database killed for {lasts:.1?}");
        }
        _ => {
            let name = format!("again{}", chance.within(0..=u64::MAX - 1));
            workers[other].signal("KILL");
            _ = workers[other].wait();
            workers[other] = busy_worker(urls, &name, dir);
            return "a worker killed, and another comes".to_owned();
        }
    };
    format!("coordinator {number} {what} for {lasts:.1?}")
}

/// After any faults of coordinators, the database and workers, in any order, the count continues and ends right.
#[test]
#[ignore = "takes some minutes: .ci/long plays it"]
fn any_faults_end_with_the_right_count() {
    let Some(mut postgres) = Postgres::start("") else { return };
    let mut chance = Chance::seeded();
    _ = postgres.database("shared");
    let dir = TempDir::new();
    let mut work = ["one", "other"].map(|name| Node::start(&dir.join(name), &postgres, "shared", None));
    let urls = work.each_ref().map(|node| node.to_workers.url()).join(",");
    let mut workers = ["anna", "bert"].map(|name| busy_worker(&urls, name, dir.path()));
    let submitted = wait_until("a coordinator to lead", || {
        let answer = work[0].queens(&["submit", "19", "--yes"]);
        answer.status.success().then_some(answer.stdout)
    });
    let is_done =
        |postgres: &Postgres| postgres.sql("shared", "SELECT phase FROM queens.job").as_deref() == Ok("done");
    let mut before = 0;
    for number in 1..=MOST_FAULTS {
        let struck = Instant::now();
        while recorded(&postgres) <= before && !is_done(&postgres) {
            let mut services = work.iter_mut().map(|node| &mut node.service).chain(&mut workers);
            let has_ended = services.any(|service| !service.is_running());
            if has_ended || struck.elapsed() > promised(LIMIT) * 2 {
                let what = if has_ended { "one has ended by itself" } else { "nothing is recorded any more" };
                let services = work.iter().map(|node| &node.service).chain(&workers);
                let logs: Vec<String> = services.map(Service::log).collect();
                panic!("{what}; coordinators, then workers:\n{}", logs.join("\n\n"));
            }
            thread::sleep(Duration::from_millis(100));
        }
        if is_done(&postgres) {
            break;
        }
        before = recorded(&postgres);
        let what = strike(&mut chance, &mut work, &mut workers, &urls, dir.path(), &mut postgres);
        say(&format!("fault {number}: {what}; {before} subproblems were recorded"));
        assert!(recorded(&postgres) >= before, "what was recorded is gone");
    }
    wait_for("all to be counted", || is_done(&postgres));
    let proof = proved(&postgres.address_of("shared"));
    assert!(proof.contains(": 4968057848 solutions"), "{submitted}: {proof}");
    for node in &mut work {
        let log = node.service.log();
        assert!(!log.contains("panicked") && !log.contains("damaged"), "{log}");
    }
}
