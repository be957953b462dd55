//! Coordinators that share a database: one leads, and when it is gone, another does.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use queens_tests::cluster::{coordinator_command, worker};
use queens_tests::postgres::Postgres;
use queens_tests::process::{Ended, clean, queens, run, wait_at_most, wait_until};
use queens_tests::proxy::Proxy;
use queens_tests::service::Service;
use queens_tests::{binary, http, say, skipped};

/// How long another may take to lead. It takes 7 s where nothing else is to be done.
const LIMIT: Duration = Duration::from_secs(30);

/// What makes a process take the time for another; not the one that goes on evenly whatever the time is.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/// A coordinator, with all that lies between it and others.
struct Node {
    service: Service,
    data_dir: PathBuf,
    listen: String,
    pages: String,
    to_database: Proxy,
    to_workers: Proxy,
}

impl Node {
    /// Starts one; the second of a database stands by.
    fn start(data_dir: &Path, postgres: &Postgres, database: &str, clock: Option<&str>) -> Self {
        let to_database = Proxy::start(&format!("127.0.0.1:{}", postgres.port()));
        let [listen, pages] = [(); 2].map(|()| {
            let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
            free.expect("a port").to_string()
        });
        let to_workers = Proxy::start(&listen);
        let service = Self::run(data_dir, &listen, &pages, &to_database, &to_workers, database, clock);
        Self { service, data_dir: data_dir.to_owned(), listen, pages, to_database, to_workers }
    }

    fn run(
        data_dir: &Path,
        listen: &str,
        pages: &str,
        to_database: &Proxy,
        to_workers: &Proxy,
        database: &str,
        clock: Option<&str>,
    ) -> Service {
        let mut command = coordinator_command(listen, data_dir);
        let address = to_database.url().replace("http://", "postgres://queens@");
        command.args(["--store", &format!("{address}/{database}"), "--http", pages]);
        command.args(["--url", &to_workers.url()]);
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
    fn restart(&mut self, clock: Option<&str>) {
        let Self { data_dir, listen, pages, to_database, to_workers, .. } = self;
        self.service = Self::run(data_dir, listen, pages, to_database, to_workers, "shared", clock);
        assert_eq!(self.service.logged("standing by address="), self.listen);
    }

    fn queens(&self, args: &[&str]) -> Ended {
        let mut command = queens(args);
        command.args(["--coordinator", &format!("http://{}", self.listen)]);
        run(command)
    }
}

/// Who leads, as its URL for workers.
fn leader(postgres: &Postgres) -> Option<String> {
    let sql = "SELECT holder FROM queens.lease WHERE expires > clock_timestamp()";
    postgres.sql("shared", sql).ok().filter(|holder| !holder.is_empty())
}

/// How many subproblems are recorded.
fn recorded(postgres: &Postgres) -> u64 {
    let sql = "SELECT coalesce(sum(until - first), 0) FROM queens.record";
    postgres.sql("shared", sql).map_or(0, |n| n.parse().expect("a number"))
}

/// Waits until this one leads and workers count with it; tells how long each took.
#[track_caller]
fn goes_on_with(what: &str, node: &Node, job: &str, postgres: &Postgres, since: Instant) {
    let url = node.to_workers.url();
    wait_at_most(LIMIT, "another to lead", || (leader(postgres)?.trim_end_matches('/') == url).then_some(()));
    let led = since.elapsed();
    let before = recorded(postgres);
    wait_at_most(LIMIT, "workers to count with it", || {
        let is_done = || node.queens(&["status", job, "--output", "json"]).stdout.contains("\"done\"");
        (recorded(postgres) > before || is_done()).then_some(())
    });
    say(&format!("{what}: another leads after {led:.1?}, and counts after {:.1?}", since.elapsed()));
}

/// Whatever happens to the coordinator that leads, the other does soon, workers find it, and nothing is lost or added
/// twice.
#[test]
fn another_leads_whatever_happens_to_the_one_that_does() {
    let Some(postgres) = Postgres::start("") else { return };
    _ = postgres.database("shared");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let start = |name: &str| Node::start(&dir.path().join(name), &postgres, "shared", None);
    let mut one = start("one");
    assert_eq!(one.service.logged("listening address="), one.listen);
    let mut other = start("other");
    assert_eq!(other.service.logged("standing by address="), other.listen);

    // What it says meanwhile.
    let ready = http::get(&other.pages, "/readyz");
    let leads = format!("this coordinator stands by: {} leads\n", one.to_workers.url());
    assert_eq!((ready.status, ready.body.replace("/ leads", " leads")), (503, leads.clone()));
    assert_eq!(http::get(&other.pages, "/healthz").status, 200);
    assert!(http::get(&other.pages, "/metrics").body.contains("\nqueens_leading 0\n"));
    assert!(http::get(&one.pages, "/metrics").body.contains("\nqueens_leading 1\n"));
    let sent_on = http::get(&other.pages, "/jobs/7?x=1");
    assert_eq!(sent_on.status, 307);
    assert!(sent_on.header("location").is_some_and(|to| to.ends_with("/jobs/7?x=1")), "{sent_on:?}");

    let both = format!("{},{}", other.to_workers.url(), one.to_workers.url());
    let _worker = worker(&both, "anna");
    let answer = other.queens(&["submit", "18", "--yes", "--output", "json"]).answer();
    let job = answer["job"].as_str().expect("sent on to the one that leads").to_owned();
    wait_until("records", || (recorded(&postgres) > 0).then_some(()));

    let since = Instant::now();
    one.kill();
    goes_on_with("killed", &other, &job, &postgres, since);
    one.restart(None);

    other.service.signal("STOP");
    let since = Instant::now();
    goes_on_with("frozen", &one, &job, &postgres, since);
    other.service.signal("CONT");
    wait_until("it to stand by", || http::get(&other.pages, "/readyz").body.contains(" leads").then_some(()));
    assert!(other.service.log().contains("this coordinator leads no more"), "{}", other.service.log());
    assert_eq!(leader(&postgres).map(|url| url.trim_end_matches('/').to_owned()), Some(one.to_workers.url()));

    one.to_database.swallow(true);
    let since = Instant::now();
    goes_on_with("cut off from the database", &other, &job, &postgres, since);
    wait_until("the one that was cut off to know", || {
        let ready = http::get(&one.pages, "/readyz");
        ready.body.contains("its database can't be reached").then_some(())
    });
    one.to_database.swallow(false);
    one.to_database.cut();
    wait_until("it to be there again", || {
        http::get(&one.pages, "/readyz").body.contains(" leads").then_some(())
    });

    other.to_workers.swallow(true);
    let since = Instant::now();
    goes_on_with("cut off from workers", &one, &job, &postgres, since);
    other.to_workers.swallow(false);
    other.to_workers.cut();
    wait_until("it to stand by", || http::get(&other.pages, "/readyz").body.contains(" leads").then_some(()));

    if Path::new(FAKETIME).exists() {
        // A clock that is days ahead does not make it lead before its time, and one that is days behind not for longer.
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

    let status = wait_at_most(Duration::from_secs(300), "all to be counted", || {
        let status = one.queens(&["status", &job, "--output", "json"]).answer();
        (status["state"] == "done").then_some(status)
    });
    assert!(status.to_string().contains("\"666090624\""), "{status}");
    let mut check = clean(Command::new(binary("queens-coordinator")));
    check.args(["check", "--store", &format!("postgres://queens@127.0.0.1:{}/shared", postgres.port())]);
    let checked = run(check);
    assert!(checked.stdout.contains(": 666090624 solutions"), "{} {}", checked.stdout, checked.stderr);
}
