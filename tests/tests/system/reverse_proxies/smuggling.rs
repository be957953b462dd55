//! Request smuggling: a stranger or a viewer sends requests so that the coordinator and a proxy disagree where a
//! request ends. The next request on the shared connection is an operator's.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use queens_auth::Trust;
use queens_tests::prelude::*;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::{Site, haproxy, nginx};

/// The head of a request without an end: it takes the connection's next line as a header, and so gets the token that
/// follows.
const HALF: &str = "POST /api/v1/jobs/1/pause HTTP/1.1\r\nX-Rest: ";

/// A whole request, whose answer another client would get.
const WHOLE: &str = "GET /api/v1/jobs/1 HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// How long to wait for an optional answer.
const SOON: Duration = Duration::from_millis(700);

/// Headers and a body that hide a request, for a length that a header must name.
type Trick = (&'static str, fn(usize) -> String, &'static str);

/// The body is the second part and the hidden request.
const TRICKS: [Trick; 29] = [
    ("a body that nobody reads", |n| format!("Content-Length: {n}"), ""),
    ("no length", |_| "X-A: b".to_owned(), ""),
    ("a length, then chunks", |n| format!("Content-Length: {n}\r\nTransfer-Encoding: chunked"), "0\r\n\r\n"),
    ("chunks, then a length", |n| format!("Transfer-Encoding: chunked\r\nContent-Length: {n}"), "0\r\n\r\n"),
    ("two lengths, the second of nothing", |n| format!("Content-Length: {n}\r\nContent-Length: 0"), ""),
    ("two lengths, the first of nothing", |n| format!("Content-Length: 0\r\nContent-Length: {n}"), ""),
    ("a list of lengths", |n| format!("Content-Length: 0, {n}"), ""),
    ("a signed length", |n| format!("Content-Length: +{n}"), ""),
    ("a hexadecimal length", |n| format!("Content-Length: 0x{n:x}"), ""),
    ("a length behind a space", |n| format!("Content-Length : {n}"), ""),
    ("a folded length", |n| format!("Content-Length:\r\n {n}"), ""),
    ("a length in a folded line", |n| format!("X-A: b\r\n Content-Length: {n}"), ""),
    ("a length behind a bare LF", |n| format!("X-A: b\nContent-Length: {n}"), ""),
    ("a length behind a bare CR", |n| format!("X-A: b\rContent-Length: {n}"), ""),
    ("a length behind a zero", |n| format!("X-A: b\0Content-Length: {n}"), ""),
    ("chunks behind a space", |n| format!("Content-Length: {n}\r\nTransfer-Encoding : chunked"), "0\r\n\r\n"),
    ("folded chunks", |n| format!("Content-Length: {n}\r\nTransfer-Encoding:\r\n chunked"), "0\r\n\r\n"),
    ("chunks behind a bare LF", |n| format!("Content-Length: {n}\nTransfer-Encoding: chunked"), "0\r\n\r\n"),
    ("chunks behind a tab", |n| format!("Content-Length: {n}\r\nTransfer-Encoding:\tchunked"), "0\r\n\r\n"),
    ("chunks behind a VT", |n| format!("Content-Length: {n}\r\nTransfer-Encoding: \x0bchunked"), "0\r\n\r\n"),
    ("xchunked", |n| format!("Content-Length: {n}\r\nTransfer-Encoding: xchunked"), "0\r\n\r\n"),
    (
        "chunked, identity",
        |n| format!("Content-Length: {n}\r\nTransfer-Encoding: chunked, identity"),
        "0\r\n\r\n",
    ),
    (
        "chunked, and xchunked",
        |n| format!("Content-Length: {n}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x"),
        "0\r\n\r\n",
    ),
    ("a chunk extension", |_| "Transfer-Encoding: chunked".to_owned(), "0;a=\"b\"\r\n\r\n"),
    ("a bare LF in a chunk extension", |_| "Transfer-Encoding: chunked".to_owned(), "2;\nxx\r\n0\r\n\r\n"),
    ("bare LFs between chunks", |_| "Transfer-Encoding: chunked".to_owned(), "2\nxx\n0\n\n"),
    ("a chunk longer than any", |_| "Transfer-Encoding: chunked".to_owned(), "10000000000000000\r\n\r\n"),
    ("a chunk of negative length", |_| "Transfer-Encoding: chunked".to_owned(), "-1\r\n\r\n0\r\n\r\n"),
    ("a trailer", |_| "Transfer-Encoding: chunked".to_owned(), "0\r\nContent-Length: 9\r\n\r\n"),
];

/// Returns all bytes of a client that hides a request.
fn smuggled((_, headers, body): &Trick, hidden: &str, token: Option<&str>) -> String {
    let headers = headers(body.len() + hidden.len());
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!(
        "POST /api/v1/jobs/1/cancel HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         {token}{headers}\r\n\r\n{body}{hidden}"
    )
}

/// A coordinator with a job that nobody counts, and its callers.
struct Scene {
    site: Site,
    operator: String,
    viewer: String,
}

impl Scene {
    fn new() -> Self {
        let site = Site::new();
        let [operator, viewer] = ["operator", "viewer"].map(|role| site.invite(role));
        let scene = Self { site, operator, viewer };
        let submitted = scene.ask("POST", "/api/v1/jobs", r#"{"n":18}"#);
        assert_eq!(submitted["job"], "1", "{submitted}");
        wait_for("a plan", || scene.ask("GET", "/api/v1/jobs/1", "")["state"] == "queued");
        scene
    }

    /// Returns the coordinator's answer to an operator.
    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        self.site.behind.ask(&self.operator, method, path, body).json()
    }

    /// Returns an operator's requests: one is an action, and the last asks for the caller's identity.
    fn honest(&self, connection: &str) -> String {
        let head = format!("Host: localhost\r\nAuthorization: Bearer {}\r\n", self.operator);
        format!(
            "POST /api/v1/jobs/1/resume HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}\
             GET /api/v1/me HTTP/1.1\r\n{head}Connection: {connection}\r\n\r\n"
        )
    }

    /// Yields all attacks of a viewer and a stranger, with their names.
    fn smuggled(&self) -> impl Iterator<Item = (String, String)> {
        TRICKS.iter().flat_map(|trick| {
            [("half", HALF, Some(&*self.viewer)), ("whole", WHOLE, None)].map(|(what, hidden, token)| {
                (format!("{}, and {what} a request", trick.0), smuggled(trick, hidden, token))
            })
        })
    }

    /// Checks that the job is unchanged. A smuggled request would have paused or cancelled it.
    #[track_caller]
    fn check(&self, what: &str) {
        let job = self.ask("GET", "/api/v1/jobs/1", "");
        assert_eq!(job["state"], "queued", "{what}: {job}");
    }

    /// Checks that only the operator has acted, and that one smuggled action would show.
    #[track_caller]
    fn check_in_the_end(&self) {
        let audit = self.ask("GET", "/api/v1/audit", "").to_string();
        assert!(!audit.contains("pause"), "{audit}");
        let log = self.site.coordinator().log();
        assert!(!log.contains("panicked"), "{log}");
        let paused = self.ask("POST", "/api/v1/jobs/1/pause", "{}");
        assert_eq!(paused["state"], "paused", "{paused}");
    }
}

/// Reads until the connection is closed, or no more data arrives, or `is_enough` accepts.
fn heard(stream: &mut impl Read, is_enough: impl Fn(&str) -> bool) -> String {
    let (mut all, mut buffer) = (String::new(), [0; 4096]);
    while !is_enough(&all)
        && let Ok(n_read) = stream.read(&mut buffer)
        && n_read > 0
    {
        all.push_str(&String::from_utf8_lossy(&buffer[..n_read]));
    }
    all
}

/// Returns statuses and bodies of answers.
fn answers(heard: &str) -> Vec<(&str, &str)> {
    let begins: Vec<usize> = heard.match_indices("HTTP/1.1 ").map(|(at, _)| at).collect();
    let ends = begins.iter().copied().skip(1).chain([heard.len()]);
    let answer = |(begin, end): (usize, usize)| {
        let text = &heard[begin..end];
        (&text[9..12], text.split_once("\r\n\r\n").map_or("", |(_, body)| body))
    };
    begins.iter().copied().zip(ends).map(answer).collect()
}

/// A proxy trusts the length in headers and forwards everybody's requests on one connection: nobody gets more than one
/// answer before the operator's own.
#[test]
fn what_is_smuggled_to_the_coordinator_takes_nobodys_place() {
    let scene = Scene::new();
    for (what, smuggled) in scene.smuggled() {
        // Without a length, the rest is a request of its own, as for everybody.
        if what.starts_with("no length")
            || what.starts_with("a chunk extension")
            || what.starts_with("a trailer")
        {
            continue;
        }
        let mut stream = TcpStream::connect(scene.site.coordinator().http()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(600))).expect("a timeout");
        // The rest can't be sent on a closed connection.
        _ = stream.write_all(smuggled.as_bytes());
        _ = stream.write_all(scene.honest("close").as_bytes());
        let heard = heard(&mut stream, |_| false);
        let answers = answers(&heard);
        let (_, own) = answers.split_first().expect("an answer");
        if own.len() > 1 || own.first().is_some_and(|(status, _)| *status != "400") {
            assert!(own.len() == 2 && own[1].1.contains("\"operator\""), "{what}: {heard}");
        }
        assert!(!answers[0].0.starts_with('2') && !answers[0].1.contains("Bearer"), "{what}: {heard}");
        scene.check(&what);
    }
    scene.check_in_the_end();
}

/// Opens a TLS connection.
fn connect(address: &str, config: &Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
    let tcp = TcpStream::connect(address).expect("it listens");
    tcp.set_read_timeout(Some(Duration::from_secs(600))).expect("a timeout");
    let name = ServerName::try_from("localhost").expect("a name");
    StreamOwned::new(ClientConnection::new(config.clone(), name).expect("a connection"), tcp)
}

/// Smuggles through a proxy that shares its connections to the coordinator between clients.
fn smuggle_through(scene: &Scene, proxy: Command) {
    let _proxy = Running::start_silent(proxy);
    let address = scene.site.pages.address();
    wait_until("the proxy", || TcpStream::connect(&address).ok());
    let authority = scene.site.scratch.join("keys/ca.pem");
    let config = Trust::Authorities(authority).config(&[b"http/1.1"], None).expect("a client");
    for (what, smuggled) in scene.smuggled() {
        let mut stranger = connect(&address, &config);
        stranger.write_all(smuggled.as_bytes()).expect("sent");
        stranger.sock.set_read_timeout(Some(SOON)).expect("a timeout");
        let mut told = heard(&mut stranger, |told| !answers(told).is_empty());
        // By the same connection of the proxy, and by others.
        let mut operators = [(); 2].map(|()| connect(&address, &config));
        for operator in &mut operators {
            operator.write_all(scene.honest("close").as_bytes()).expect("sent");
        }
        for mut operator in operators {
            let told = heard(&mut operator, |_| false);
            let answers = answers(&told);
            assert!(answers.len() == 2 && answers[1].1.contains("\"operator\""), "{what}: {told}");
        }
        stranger.sock.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
        told += &heard(&mut stranger, |_| false);
        assert!(!told.contains("\"operator\"") && !told.contains("HTTP/1.1 2"), "{what}: {told}");
        scene.check(&what);
    }
    scene.check_in_the_end();
}

#[test]
fn what_is_smuggled_through_nginx_takes_nobodys_place() {
    if !is_installed("nginx") {
        return skipped("smuggling through nginx, which is not installed");
    }
    let scene = Scene::new();
    // The documented configuration opens a connection per request. Many administrators keep some open.
    let servers: PathBuf = scene.site.configuration("nginx");
    let text = std::fs::read_to_string(&servers).expect("it was written");
    let http = scene.site.coordinator().http();
    let pages = format!("proxy_pass http://{http};");
    assert!(text.contains(&pages), "{text}");
    let text = text.replace(&pages, "proxy_pass http://pages; proxy_set_header Connection \"\";");
    let text = format!("upstream pages {{ server {http}; keepalive 1; }}\n{text}");
    std::fs::write(&servers, text).expect("written");
    smuggle_through(&scene, nginx(&scene.site, &servers));
}

#[test]
fn what_is_smuggled_through_haproxy_takes_nobodys_place() {
    if !is_installed("haproxy") {
        return skipped("smuggling through HAProxy, which is not installed");
    }
    let scene = Scene::new();
    let haproxy = haproxy(&scene.site);
    // The documented configuration reuses a connection for new clients only if their requests can be sent again.
    let configuration = scene.site.scratch.join("haproxy");
    let text = std::fs::read_to_string(&configuration).expect("it was written");
    let text = text.replace("backend pages\n    server", "backend pages\n    http-reuse always\n    server");
    assert!(text.contains("http-reuse"), "{text}");
    std::fs::write(&configuration, text).expect("written");
    smuggle_through(&scene, haproxy);
}
