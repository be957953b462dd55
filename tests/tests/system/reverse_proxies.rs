//! Workers, operators and pages through TLS proxies: nginx and HAProxy, configured as in docs/operations/invite.md.

mod smuggling;

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use queens_auth::{Pin, Trust};
use queens_tests::https;
use queens_tests::prelude::*;

const PAGE: &str = include_str!("../../../docs/operations/invite.md");

/// The concurrent requests of one visitor.
const MOST_REQUESTS: usize = 16;

/// A coordinator that listens only on this machine, the ports of its proxy, and the directory of the proxy's keys.
struct Site {
    behind: Behind,
    scratch: TempDir,
    grpc: Port,
    pages: Port,
}

impl Site {
    fn new() -> Self {
        let scratch = TempDir::new();
        certs(&scratch.join("keys"), &[]);
        let [grpc, pages] = [(); 2].map(|()| Port::draw());
        let [url, pages_url] =
            [&grpc, &pages].map(|port| format!("https://queens.example.org:{}", port.number()));
        let mut args = vec!["--trusted-proxy", "127.0.0.1", "--url", &url, "--pages-url", &pages_url];
        let most = MOST_REQUESTS.to_string();
        args.extend(["--max-requests", &most]);
        Self { behind: Behind::new(&args), scratch, grpc, pages }
    }

    fn coordinator(&self) -> &Coordinator {
        self.behind.coordinator()
    }

    /// Invites a person, whose line names the proxy; returns their token.
    fn invite(&self, role: &str) -> String {
        let line = self.behind.manage(["invite", "--role", role]).stdout;
        assert!(line.contains("https://queens.example.org:"), "{line}");
        token_in(&line)
    }

    /// Returns the configuration after a line in the documentation, for these ports.
    fn configuration(&self, name: &str) -> PathBuf {
        let (_, rest) = PAGE.split_once(&format!("```{name}\n")).expect("it is documented");
        let (text, _) = rest.split_once("```").expect("it ends");
        let text = text
            .replace("127.0.0.1:50051", self.coordinator().address())
            .replace("127.0.0.1:8080", &self.coordinator().http())
            .replace("*:", "127.0.0.1:")
            .replace(":443 ", &format!(":{} ", self.grpc.number()))
            .replace(":8443 ", &format!(":{} ", self.pages.number()))
            .replace("/etc/queens", self.scratch.join("keys").to_str().expect("a path"));
        let path = self.scratch.join(name);
        fs::write(&path, text).expect("written");
        path
    }
}

/// Counts through the proxy that a command starts, and checks pages and refusals.
fn counts_through(site: &Site, mut proxy: Command, operator: &str, worker: &str) {
    // The proxy's log helps if this fails.
    let log = site.scratch.join("proxy.log");
    let stderr = fs::File::create(&log).expect("a log");
    proxy.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let mut proxy = Running::start_redirected(&mut proxy);
    let url = format!("https://127.0.0.1:{}", site.grpc.number());
    let ca = site.scratch.join("keys/ca.pem");
    let show = |mut command: Command, token: &str| {
        command.args(["--coordinator", &url, "--ca"]).arg(&ca).env("QUEENS_TOKEN", token);
        command
    };
    wait_for("the proxy", || {
        assert!(proxy.is_running(), "{}", fs::read_to_string(&log).expect("readable"));
        run(show(queens(["jobs"]), operator)).status.success()
    });
    let mut command = show(program("queens-worker"), worker);
    command.args(["--threads", "1", "--kernel", "portable"]);
    let worker_process = Service::start(command, &site.scratch.join("worker.log"));
    let count = run(show(queens(["count", "14", "--output", "json"]), operator));
    assert_eq!(count.answer()["solutions"], "365596");
    assert!(!run(show(queens(["jobs"]), worker)).status.success(), "a worker's token");
    // One session all the time: the proxy does not cut it.
    let sessions = worker_process.log().matches("connected").count();
    assert_eq!(sessions, 1, "{}", worker_process.log());
    worker_process.stop();

    // Pages, by their public name.
    let host = format!("queens.example.org:{}", site.pages.number());
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--include", "--resolve", &format!("{host}:127.0.0.1"), "--cacert"]).arg(&ca);
    curl.args(["--insecure", "--header", &format!("Authorization: Bearer {operator}")]);
    curl.args(["--header", "Content-Type: application/json", "--data", "{\"n\":8}"]);
    curl.args(["--header", &format!("Origin: https://{host}"), &format!("https://{host}/api/v1/jobs")]);
    let answer = run(curl).stdout;
    assert!(answer.contains(" 201 ") || answer.contains(" 200 "), "{answer}");
    check_visitors(site, show(queens(["audit"]), operator));
}

/// Visitors of the proxy have limits of their own, and none can pretend to be another.
fn check_visitors(site: &Site, audit: Command) {
    let pin = Pin::of_file(&site.scratch.join("keys/server.pem")).expect("a pin");
    let trust = Trust::pinned(&[pin]).expect("few");
    let ask = |visitor: u8, method, path: &str, forged: &[(&str, &str)]| {
        let headers = [&[("Content-Type", "application/json")], forged].concat();
        let body = if method == "POST" { "{\"name\":\"anna\"}" } else { "" };
        let from = IpAddr::from([127, 0, 0, visitor]);
        https::request(from, &site.pages.address(), &trust, (method, path), &headers, body).status
    };
    let opened = site.behind.manage(["campaign", "open"]).stdout;
    let code = code_in(&opened);
    assert!(opened.starts_with(&format!("https://queens.example.org:{}/", site.pages.number())), "{opened}");
    let path = format!("/api/v1/join/{code}");
    let forged = [("X-Forwarded-For", "127.0.0.9"), ("Forwarded", "for=127.0.0.9")];
    for _ in 0..5 {
        assert_eq!(ask(2, "POST", &path, &[]), 201);
    }
    for headers in [&[], &forged[..1], &forged[1..], &forged] {
        assert_eq!(ask(2, "POST", &path, headers), 429, "{headers:?}");
    }
    assert_eq!(ask(3, "POST", &path, &forged), 201);
    let mut grpc = Command::new("curl");
    grpc.args(["--silent", "--insecure", "--http2", "--interface", "127.0.0.4", "--data", "", "--header"]);
    grpc.args(["Content-Type: application/grpc", "--header", "Authorization: Bearer nonsense"]);
    grpc.arg(format!("https://{}/queens.v1.Jobs/ListJobs", site.grpc.address()));
    run(grpc);
    let audit = run(audit).stdout;
    let is_there = |visitor: u8| audit.contains(&format!("127.0.0.{visitor}"));
    assert_eq!([2, 3, 4, 9].map(is_there), [true, true, true, false], "{audit}");

    // One tries wrong codes, whose answers are delayed, until the limit is reached. Others do not notice.
    let page = format!("/join/{code}");
    thread::scope(|scope| {
        for _ in 0..2 * MOST_REQUESTS {
            scope.spawn(|| (0..8).for_each(|_| _ = ask(2, "GET", "/join/wrong", &[])));
        }
        wait_for("the limit", || ask(2, "GET", &page, &[]) == 429);
        assert_eq!(ask(3, "GET", &page, &forged), 200);
    });
}

/// Returns nginx with servers of this configuration, and the machine's own surrounding settings.
fn nginx(site: &Site, servers: &Path) -> Command {
    let whole = site.scratch.join("nginx.conf");
    let scratch = site.scratch.path().display();
    let text = format!(
        "daemon off; master_process off; pid {scratch}/nginx.pid; error_log stderr;\n\
         events {{}}\n\
         http {{ access_log off; client_body_temp_path {scratch}/body; proxy_temp_path {scratch}/proxy; \
         fastcgi_temp_path {scratch}/fastcgi; uwsgi_temp_path {scratch}/uwsgi; scgi_temp_path {scratch}/scgi;\n\
         include {}; }}\n",
        servers.display()
    );
    fs::write(&whole, text).expect("written");
    let mut nginx = clean(Command::new("nginx"));
    nginx.arg("-c").arg(&whole);
    nginx
}

/// Returns HAProxy, whose key and TLS certificate are in one file.
fn haproxy(site: &Site) -> Command {
    let keys = site.scratch.join("keys");
    let both =
        ["server.pem", "server.key"].map(|name| fs::read_to_string(keys.join(name)).expect("readable"));
    fs::write(keys.join("both.pem"), both.concat()).expect("written");
    let mut haproxy = clean(Command::new("haproxy"));
    haproxy.arg("-db").arg("-f").arg(site.configuration("haproxy"));
    haproxy
}

#[test]
fn nginx_encrypts_for_workers_operators_and_pages() {
    if !is_installed("nginx") {
        return skipped("a worker behind nginx, which is not installed");
    }
    let site = Site::new();
    let [operator, worker] = ["operator", "worker"].map(|role| site.invite(role));
    let nginx = nginx(&site, &site.configuration("nginx"));
    counts_through(&site, nginx, &operator, &worker);
    assert_eq!(http::get(&site.coordinator().http(), "/api/v1/jobs").status, 401);
}

#[test]
fn haproxy_encrypts_for_workers_operators_and_pages() {
    if !is_installed("haproxy") {
        return skipped("a worker behind HAProxy, which is not installed");
    }
    let site = Site::new();
    let [operator, worker] = ["operator", "worker"].map(|role| site.invite(role));
    let haproxy = haproxy(&site);
    counts_through(&site, haproxy, &operator, &worker);
}
