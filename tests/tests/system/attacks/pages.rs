//! The attacks on the pages: HTTP/1.1 by hand, over TLS.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::frames::Peer;
use super::kinds::{Kind, Outcome, Target};

pub(crate) const KINDS: [Kind; 9] = [
    Kind { name: "pages: heads that come byte by byte", run: slow_heads },
    Kind { name: "pages: bodies that come byte by byte", run: slow_bodies },
    Kind { name: "pages: heads that are too large", run: large_heads },
    Kind { name: "pages: bodies that are too large", run: large_bodies },
    Kind { name: "pages: tricks with paths", run: path_tricks },
    Kind { name: "pages: names of other hosts", run: other_hosts },
    Kind { name: "pages: log-ins with wrong tokens", run: wrong_log_ins },
    Kind { name: "pages: decisions of a viewer", run: decisions },
    Kind { name: "pages: followers of the news", run: followers },
];

/// Sends requests on one connection after the other, until each is closed, and records the answers.
fn again_and_again(target: &Target, end: Instant, mut request: impl FnMut(u64) -> String) -> Outcome {
    let mut outcome = Outcome::default();
    while Instant::now() < end {
        let Some(mut peer) = Peer::connect(&target.pages, &target.http) else {
            *outcome.endings.entry("no connection".to_owned()).or_default() += 1;
            continue;
        };
        while Instant::now() < end && peer.send(request(outcome.n_sent).as_bytes()) {
            outcome.n_sent += 1;
            let status = peer.status();
            let ending =
                status.map_or_else(|| "connection closed".to_owned(), |status| format!("HTTP {status}"));
            *outcome.endings.entry(ending).or_default() += 1;
            if status.is_none() {
                break;
            }
        }
    }
    outcome
}

/// Builds a request with a token, or without one.
fn request(target: &Target, what: &str, token: Option<&str>, more: &str, body: &str) -> String {
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    let (host, length) = (&target.pages, body.len());
    format!(
        "{what} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         {token}{more}\r\n{body}"
    )
}

/// Sends bytes one by one on many connections.
fn slowly(target: &Target, end: Instant, beginning: &str, drops: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let n_peers = target.n_connections.min(200);
    let peers = (0..n_peers).filter_map(|_| Peer::connect(&target.pages, &target.http));
    let mut peers: Vec<Peer> = peers.collect();
    peers.retain_mut(|peer| peer.send(beginning.as_bytes()));
    for byte in drops.bytes().cycle() {
        peers.retain_mut(|peer| peer.send(&[byte]));
        outcome.n_sent += peers.len() as u64;
        if Instant::now() >= end {
            break;
        }
        sleep(Duration::from_millis(200));
    }
    *outcome.endings.entry("connection closed".to_owned()).or_default() += (n_peers - peers.len()) as u64;
    outcome
}

fn slow_heads(target: &Target, end: Instant) -> Outcome {
    slowly(target, end, "GET / HTTP/1.1\r\n", "X-Slow: 1\r\n")
}

fn slow_bodies(target: &Target, end: Instant) -> Outcome {
    let whole = request(target, "POST /api/v1/login", None, "", &"x".repeat(1000));
    let (head, _) = whole.split_once("\r\n\r\n").expect("a head");
    slowly(target, end, &format!("{head}\r\n\r\n"), "x")
}

fn large_heads(target: &Target, end: Instant) -> Outcome {
    let long = format!("X-Long: {}\r\n", "x".repeat(1000)).repeat(1000);
    again_and_again(target, end, |_| request(target, "GET /", None, &long, ""))
}

fn large_bodies(target: &Target, end: Instant) -> Outcome {
    let large = "1".repeat(1 << 20);
    again_and_again(target, end, |_| request(target, "POST /api/v1/login", None, "", &large))
}

fn path_tricks(target: &Target, end: Instant) -> Outcome {
    let long = "/a".repeat(4000);
    let tricks = [
        "/../../../etc/passwd",
        "/assets/../../coordinator.db",
        "/assets/%2e%2e/%2e%2e/coordinator.db",
        "/assets/..%2f..%2faccess.db",
        "/assets/%00",
        "/%ff%fe",
        "//evil.example/",
        "/api/v1/jobs/../workers",
        "/api/v1/jobs/99999999999999999999",
        "/API/V1/JOBS",
        "/api/v1/jobs/",
        &long,
    ];
    again_and_again(target, end, |n| {
        let trick = tricks[usize::try_from(n).unwrap_or_default() % tricks.len()];
        request(target, &format!("GET {trick}"), None, "", "")
    })
}

fn other_hosts(target: &Target, end: Instant) -> Outcome {
    let host = &target.pages;
    again_and_again(target, end, |_| {
        request(target, "GET /api/v1/jobs", Some(&target.viewer), "", "")
            .replace(&format!("Host: {host}"), "Host: rebound.example.org")
    })
}

fn wrong_log_ins(target: &Target, end: Instant) -> Outcome {
    let token = format!("queens_1_{}", "0123456789abcdef".repeat(4));
    let body = format!("{{\"token\":\"{token}\"}}");
    again_and_again(target, end, |_| request(target, "POST /api/v1/login", None, "", &body))
}

fn decisions(target: &Target, end: Instant) -> Outcome {
    again_and_again(target, end, |_| {
        request(target, "POST /api/v1/jobs", Some(&target.viewer), "", "{\"n\":32}")
    })
}

fn followers(target: &Target, end: Instant) -> Outcome {
    let mut outcome = Outcome::default();
    let asked = request(target, "GET /api/v1/live", Some(&target.viewer), "", "");
    let mut peers = Vec::new();
    while Instant::now() < end {
        if peers.len() < target.n_connections.min(200)
            && let Some(mut peer) = Peer::connect(&target.pages, &target.http)
            && peer.send(asked.as_bytes())
        {
            outcome.n_sent += 1;
            if let Some(status) = peer.status() {
                *outcome.endings.entry(format!("HTTP {status}")).or_default() += 1;
            }
            peers.push(peer);
        } else {
            sleep(Duration::from_millis(10));
        }
    }
    outcome
}
