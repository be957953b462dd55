//! Useless connections do not lock anybody out: silent ones, half requests, unread streams, too large messages and
//! lists.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use queens_model::{HalvesSkill, Held, Hello, JobIdentity, LeaseId, Name, Speed, ToCoordinator, WorkerId};
use queens_proto::convert::in_pieces;
use queens_proto::pb;
use queens_proto::pb::jobs_client::JobsClient;
use queens_proto::pb::worker_message::Message;
use queens_proto::pb::workers_client::WorkersClient;
use queens_solver::{DECOMPOSITION_VERSION, Span};
use queens_tests::files;
use queens_tests::prelude::*;
use queens_tests::session::lasting;
use tokio::net::TcpSocket;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

/// The seconds that honest connections may wait for their places after a flood.
pub(super) const AFTER_FLOOD: u64 = 30;

/// By then, a connection without a request is closed, on any machine: the limit is 10 s, and 15 s for a request that
/// has begun.
const CLOSED: Duration = Duration::from_secs(600);

/// Opens this many connections that begin with these bytes. A connection that is closed at once counts as well.
pub(super) fn open(address: &str, n_connections: usize, begin: &[u8]) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = TcpStream::connect(address).expect("it listens");
        _ = stream.write_all(begin);
        stream.set_nonblocking(true).expect("a socket");
        stream
    };
    (0..n_connections).map(open).collect()
}

/// Whether the other end has closed a connection. Ignores the data that it has sent.
pub(super) fn is_closed(mut stream: &TcpStream) -> bool {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// Waits until all of them are closed.
#[track_caller]
fn wait_for_end(what: &str, connections: &[TcpStream]) {
    wait_at_most(CLOSED, what, || connections.iter().all(is_closed).then_some(()));
}

#[test]
fn silent_connections_are_closed_while_a_worker_counts() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let _worker = coordinator.worker("honest");
    coordinator.wait_for_workers(1);
    let job = coordinator.submit(22);
    let n_each = if files::limit() < 4096 { 300 } else { 1000 };
    let _files = files::take(2 * n_each);
    let mut silent = open(coordinator.address(), n_each, b"");
    silent.extend(open(&coordinator.http(), n_each, b""));
    let before = coordinator.n_recorded(&job);
    wait_for_end("silent connections to be closed", &silent);
    wait_for("the worker to count", || coordinator.n_recorded(&job) > before);
    assert_eq!(http::get(&coordinator.http(), "/healthz").status, 200);
    let log = coordinator.log();
    assert!(log.contains("nothing was asked for in time"), "{log}");
    assert!(log.lines().count() < 60, "a flood is not a line each: {log}");
}

#[test]
fn half_requests_do_not_last() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let (workers, pages) = (coordinator.address().to_owned(), coordinator.http());
    let post = "POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Content-Length: 1000\r\n\r\n";
    let half = [
        ("half a greeting", workers, "PRI * HTTP/2.0\r\n", "", ""),
        ("half a head", pages.clone(), "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA: b", " ", ""),
        ("half a body", pages, post, " ", "HTTP/1.1 408 "),
    ];
    // Two of them continue, a byte at a time.
    let played: Vec<_> = half
        .into_iter()
        .map(|(what, address, begin, more, expected)| {
            thread::spawn(move || {
                let mut stream = TcpStream::connect(address).expect("it listens");
                stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
                stream.write_all(begin.as_bytes()).expect("sent");
                let (began, mut told) = (Instant::now(), Vec::new());
                loop {
                    let mut buffer = [0; 4096];
                    match stream.read(&mut buffer) {
                        Ok(0) => break,
                        Ok(n_read) => told.extend_from_slice(&buffer[..n_read]),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            _ = stream.write_all(more.as_bytes());
                        }
                        Err(_) => break,
                    }
                    assert!(began.elapsed() < CLOSED, "{what} is still waited for");
                }
                let told = String::from_utf8_lossy(&told);
                assert!(told.starts_with(expected), "{what}: {told}");
            })
        })
        .collect();
    let runtime = runtime();
    let (no_hello, no_request) = runtime.block_on(async {
        let channel = channel(&coordinator).await;
        tokio::join!(session_without_hello(channel.clone()), request_without_body(channel))
    });
    assert_eq!((no_hello.code(), no_request.code()), (Code::DeadlineExceeded, Code::DeadlineExceeded));
    assert!(no_hello.message().contains("no Hello"), "{no_hello}");
    for thread in played {
        thread.join().expect("it is closed");
    }
}

async fn channel(coordinator: &Coordinator) -> Channel {
    let endpoint = Channel::from_shared(coordinator.url()).expect("a URL");
    endpoint.connect().await.expect("connected")
}

async fn session_without_hello(channel: Channel) -> Status {
    let mut client = WorkersClient::new(channel);
    let mut session = client.session(tokio_stream::pending()).await.expect("a session").into_inner();
    let end = tokio::time::timeout(CLOSED, session.message()).await;
    end.expect("it ends").expect_err("a final status")
}

async fn request_without_body(channel: Channel) -> Status {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.expect("connected");
    let path = "/queens.v1.Jobs/Submit".parse().expect("a path");
    let codec = tonic_prost::ProstCodec::<pb::SubmitRequest, pb::SubmitResponse>::default();
    let request = tonic::Request::new(tokio_stream::pending());
    let answer = tokio::time::timeout(CLOSED, grpc.client_streaming(request, path, codec)).await;
    answer.expect("it ends").map(|_| ()).expect_err("a final status")
}

#[test]
fn one_address_cannot_take_all_places() {
    const MOST: usize = 20;
    let Scenario { scratch: _scratch, coordinator, .. } =
        Scenario::with(["--http", "127.0.0.1:0", "--max-connections-of-address", &MOST.to_string()]);
    let runtime = runtime();
    let address = coordinator.http().parse().expect("an address");
    let connect_from = |from: &str| {
        let connected = async {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.bind(format!("{from}:0").parse().expect("an address")).expect("bound");
            socket.connect(address).await.expect("it listens")
        };
        let stream = runtime.block_on(connected).into_std().expect("a stream");
        stream.set_nonblocking(true).expect("a socket");
        stream
    };
    let flood: Vec<TcpStream> = (0..2 * MOST).map(|_| connect_from("127.0.0.2")).collect();
    let is_refused = || flood.iter().filter(|stream| is_closed(stream)).count() >= MOST;
    wait_for("some to be closed", is_refused);
    assert_eq!(http::get(&coordinator.http(), "/healthz").status, 200, "another address");
    assert!(coordinator.log().contains("its address has too many"));
    drop(flood);
    wait_at_most(promised(AFTER_FLOOD), "an answer to the same address", || {
        let mut stream = connect_from("127.0.0.2");
        stream.set_nonblocking(false).expect("a socket");
        is_healthy(&mut stream)
    });
}

/// Returns once a coordinator has answered that it is healthy.
fn is_healthy(stream: &mut TcpStream) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.0 200 ").then_some(())
}

#[test]
fn idle_pages_do_not_take_the_last_files() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::by(|mut command| {
        command.args(["--http", "127.0.0.1:0"]);
        files::limited(&command, 64)
    });
    let _idle = open(&coordinator.http(), 80, b"");
    let _idle_too = open(coordinator.address(), 80, b"");
    let _worker = coordinator.worker("honest");
    let counted = wait_at_most(promised(AFTER_FLOOD), "a count", || {
        let outcome = coordinator.queens(["count", "12", "--output", "json"]);
        outcome.status.success().then(|| outcome.answer())
    });
    assert_eq!(counted["solutions"], "14200");
    wait_at_most(promised(AFTER_FLOOD), "a page", || {
        is_healthy(&mut TcpStream::connect(coordinator.http()).ok()?)
    });
    assert!(!coordinator.log().contains("Too many open files"), "{}", coordinator.log());
}

#[test]
fn streams_that_nobody_reads_do_not_lock_followers_out() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let request = b"GET /api/v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    // With 1,024 files, 248 connections are for pages, half of them for one address.
    let _files = files::take(120);
    let _unread = open(&coordinator.http(), 120, request);
    let told = wait_until("news", || {
        let mut follower = TcpStream::connect(coordinator.http()).ok()?;
        follower.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        follower.write_all(request).ok()?;
        let (mut told, mut buffer) = (String::new(), [0; 4096]);
        while told.matches("event: summary").count() < 5 {
            let n_read = follower.read(&mut buffer).ok().filter(|&n_read| n_read > 0)?;
            told.push_str(&String::from_utf8_lossy(&buffer[..n_read]));
        }
        _ = follower.shutdown(Shutdown::Both);
        Some(told)
    });
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
}

fn hello(worker: u64, text: &str) -> Hello {
    Hello {
        worker: WorkerId(worker),
        name: Name::of_any(text),
        build: Name::of_any(text),
        kernel: Name::of_any(text),
        n_threads: 1,
        speed: Speed::try_from(1e6).expect("a speed"),
        decomposition: DECOMPOSITION_VERSION,
        halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
        machine: 1,
        held: Vec::new(),
    }
}

type ToSession = mpsc::Sender<pb::WorkerMessage>;

/// Opens a session with a Hello.
async fn session(channel: Channel, hello: Hello) -> (ToSession, Streaming<pb::CoordinatorMessage>) {
    let (to_coordinator, messages) = mpsc::channel(4);
    to_coordinator.send(ToCoordinator::Hello(Box::new(hello)).into()).await.expect("it is open");
    let session = WorkersClient::new(channel).session(ReceiverStream::new(messages)).await;
    (to_coordinator, session.expect("a session").into_inner())
}

#[test]
fn why_a_message_is_too_large_is_told_and_logged() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let runtime = runtime();
    runtime.block_on(async {
        for (worker, kibibytes) in [(1, 256), (2, 64 << 10)] {
            let name = format!("talker-{worker}");
            let (sender, mut answers) = session(channel(&coordinator).await, hello(worker, &name)).await;
            let reason = "x".repeat(kibibytes << 10);
            let failure = pb::Failure { job: vec![0; 16], lease: 1, span: None, reason };
            let message = pb::WorkerMessage { message: Some(Message::Failure(failure)) };
            sender.send(message).await.expect("it is open");
            let end = async {
                loop {
                    match answers.next().await.expect("a final status") {
                        Ok(message) => assert!(
                            matches!(message.message, Some(pb::coordinator_message::Message::Notice(_))),
                            "{message:?}"
                        ),
                        Err(status) => return status,
                    }
                }
            };
            let status = tokio::time::timeout(CLOSED, end).await.expect("it ends");
            assert_eq!(status.code(), Code::OutOfRange, "{status}");
            wait_for("the log", || {
                let log = coordinator.log();
                log.lines().any(|line| line.contains(&name) && line.contains("too large"))
            });
        }
        let mut jobs = JobsClient::new(channel(&coordinator).await);
        let name = "x".repeat(17 << 20);
        let status = jobs
            .change_workers(pb::ChangeWorkersRequest { name, change: None })
            .await
            .expect_err("it is refused");
        assert_eq!(status.code(), Code::OutOfRange, "{status}");
    });
    wait_for("the log", || {
        let log = coordinator.log();
        log.lines().any(|line| line.contains("Jobs/ChangeWorkers") && line.contains("too large"))
    });
}

#[test]
fn held_leases_come_in_pieces_and_count_when_all_are_there() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    runtime().block_on(async {
        let span = |n: u64| Span::new(0, 2 * n, 2 * n + 1).expect("a span");
        let job = JobIdentity::from_bytes(&[7; 16]).expect("an identity");
        let held = vec![Held { lease: LeaseId(7), job, spans: (0..10_000).map(span).collect() }];
        let hello = Hello { held, ..hello(1, "many") };
        let pieces = in_pieces(ToCoordinator::Hello(Box::new(hello)));
        let (last, first) = pieces.split_last().expect("a Hello");
        assert_eq!(first.len(), 2);
        let (sender, messages) = mpsc::channel(4);
        for piece in first {
            sender.send(piece.clone()).await.expect("it is open");
        }
        let mut client = WorkersClient::new(channel(&coordinator).await);
        let session = client.session(ReceiverStream::new(messages)).await;
        let mut answers = session.expect("a session").into_inner();
        tokio::time::timeout(Duration::from_millis(500), answers.message()).await.expect_err("nothing yet");
        sender.send(last.clone()).await.expect("it is open");
        // The coordinator knows no such lease.
        let cancelled = async {
            loop {
                let answer = answers.message().await.expect("an answer").expect("an answer");
                if let Some(pb::coordinator_message::Message::Cancel(cancelled)) = answer.message {
                    return cancelled.lease;
                }
            }
        };
        assert_eq!(tokio::time::timeout(CLOSED, cancelled).await, Ok(7));
    });
}

#[test]
fn thousands_of_workers_with_long_names_are_listed() {
    // In full, they need a second page.
    let is_full = is_full("QUEENS_FAULTS");
    let n_workers = if is_full { 2800 } else { 300 };
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let runtime = runtime();
    // The longest names: a hundred characters of four bytes.
    let (filler, mut sessions, mut on_channel) = ("\u{20000}".repeat(95), Vec::new(), None);
    runtime.block_on(async {
        for worker in 0..n_workers {
            if worker % 100 == 0 {
                on_channel = Some(channel(&coordinator).await);
            }
            let channel = on_channel.clone().expect("connected");
            let hello = hello(worker, &format!("{worker:04}{filler}"));
            let hello = ToCoordinator::Hello(Box::new(hello)).into();
            sessions.push(lasting(WorkersClient::new(channel), hello).await);
        }
    });
    wait_for("all workers", || {
        let workers = http::get(&coordinator.http(), "/api/v1/workers?limit=1").json();
        workers["total"] == n_workers
    });
    let workers = coordinator.workers();
    let mut names: Vec<&str> = workers.iter().filter_map(|worker| worker["name"].as_str()).collect();
    names.dedup();
    assert_eq!(names.len() as u64, n_workers);
    runtime.block_on(async {
        let mut jobs = JobsClient::new(channel(&coordinator).await);
        // A client that does not use paging gets a page that it can take.
        let answer = jobs.list_workers(pb::ListWorkersRequest::default()).await.expect("a page").into_inner();
        assert!(!answer.workers.is_empty() && answer.next_page.is_empty() != is_full);
        let unknown = jobs.list_workers(pb::ListWorkersRequest { page: "nowhere".to_owned() }).await;
        assert_eq!(unknown.expect_err("there is none").code(), Code::InvalidArgument);
    });
    runtime.shutdown_background();
}
