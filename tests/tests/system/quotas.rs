//! Quotas of invited people: one person's excess takes nothing from others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use queens_auth::{Credentials, Token, Trust};
use queens_proto::client::{Route, endpoint};
use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::pb::{self, worker_message::Message};
use queens_tests::prelude::*;
use queens_tests::session::{hello, said};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

/// Starts a coordinator with low quotas.
fn start() -> Behind {
    // Fewer requests than places for event streams; otherwise the first stream would lose its place.
    Behind::new(&["--max-submissions", "30", "--max-requests", "40"])
}

/// Opens an event stream; returns the connection, and the beginning of the answer.
fn follow(site: &Behind, token: &str) -> (TcpStream, String) {
    let address = site.coordinator().http();
    let mut stream = TcpStream::connect(&address).expect("it listens");
    let head =
        format!("GET /api/v1/live HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("an answer");
    (stream, String::from_utf8_lossy(&answer).into_owned())
}

fn credentials(token: &str) -> Credentials {
    let token = Some(token.parse().expect("a token"));
    Credentials { trust: Trust::Public, token, certificate: None }
}

/// Returns the route to the coordinator with a token.
fn route(site: &Behind, token: &str) -> Route {
    let address = endpoint(&site.coordinator().url()).expect("a URL");
    Route::new(address, &credentials(token)).expect("a route")
}

#[test]
fn one_person_has_so_many_requests_at_a_time() {
    let site = start();
    let [greedy, other] = [(); 2].map(|()| site.token("viewer"));
    let mut open = Vec::new();
    let refused = loop {
        let (stream, answer) = follow(&site, &greedy);
        if answer.ends_with("200") {
            open.push(stream);
        } else {
            break answer;
        }
        assert!(open.len() < 1000, "there is no limit");
    };
    say(&format!("{} requests of one token at a time, then {refused}", open.len()));
    assert_eq!((open.len(), refused.as_str()), (40, "HTTP/1.1 429"));
    let answer = site.ask(&greedy, "GET", "/api/v1/jobs", "");
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")), "{answer:?}");
    assert!(answer.json()["error"].to_string().contains("requests of yours"), "{answer:?}");
    assert_eq!(site.ask(&other, "GET", "/api/v1/jobs", "").status, 200);
    drop(open);
    wait_for("its portion is given back", || site.ask(&greedy, "GET", "/api/v1/jobs", "").status == 200);
}

#[test]
fn one_person_submits_so_many_jobs() {
    let site = start();
    let [greedy, other] = [(); 2].map(|()| site.token("operator"));
    let statuses: Vec<u16> =
        (0..200).map(|_| site.ask(&greedy, "POST", "/api/v1/jobs", "{\"n\":4}").status).collect();
    let n_taken = statuses.iter().filter(|status| **status == 201).count();
    say(&format!("of 200 submissions with one token {n_taken} were taken"));
    assert!((30..200).contains(&n_taken), "{statuses:?}");
    assert!(statuses.iter().all(|status| [201, 429].contains(status)), "{statuses:?}");
    // The other protocol counts for the same person, who can still read.
    let queens = |args: &[&str]| site.queens(&greedy, args);
    let mut submitted = (0..20).map(|_| queens(&["submit", "5"]));
    let refused = submitted.find(|ended| !ended.status.success()).expect("faster than one a second");
    assert!(refused.complaint(1).contains("30 jobs were submitted with this invitation"));
    assert!(queens(&["jobs"]).status.success());
    assert_eq!(site.ask(&other, "POST", "/api/v1/jobs", "{\"n\":4}").status, 201);
}

#[test]
fn one_person_has_so_many_sessions() {
    let site = start();
    let route = route(&site, &site.token("worker"));
    runtime().block_on(async {
        let mut open = Vec::new();
        let status = loop {
            let mut client = WorkersClient::new(route.open().await.expect("connected"));
            let (sender, messages) = mpsc::channel::<pb::WorkerMessage>(1);
            match client.session(ReceiverStream::new(messages)).await {
                Ok(session) => open.push((sender, session)),
                Err(status) => break status,
            }
            assert!(open.len() < 1000, "there is no limit");
        };
        say(&format!("{} sessions of a token for one name, then: {}", open.len(), status.message()));
        assert_eq!((open.len(), status.code()), (6, Code::ResourceExhausted), "{status:?}");
        // Closed streams return their whole quota.
        drop(open);
        let mut again = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(600);
        while again.len() < 6 {
            assert!(Instant::now() < deadline, "only {} came back", again.len());
            let mut client = WorkersClient::new(route.open().await.expect("connected"));
            let (sender, messages) = mpsc::channel::<pb::WorkerMessage>(1);
            match client.session(ReceiverStream::new(messages)).await {
                Ok(session) => again.push((sender, session)),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    });
}

/// A session that has begun, with the sender of its worker.
type Session = (mpsc::Sender<pb::WorkerMessage>, Streaming<pb::CoordinatorMessage>);

async fn begin(route: &Route, number: u64, name: &str) -> Result<Session, Status> {
    let mut client = WorkersClient::new(route.open().await.expect("connected"));
    let (sender, messages) = mpsc::channel(16);
    sender.send(said(Message::Hello(hello(number, name)))).await.expect("there is room");
    let session = client.session(ReceiverStream::new(messages)).await?;
    Ok((sender, session.into_inner()))
}

#[test]
fn nobody_comes_and_goes_to_have_more_than_a_share() {
    let site = start();
    let route = route(&site, &site.token("worker"));
    let viewer = site.token("viewer");
    let n_known = || site.ask(&viewer, "GET", "/api/v1/workers", "").json()["total"].as_u64();
    runtime().block_on(async {
        let began = Instant::now();
        let mut n_refused = 0;
        for number in 1..=100 {
            match begin(&route, number, "fool").await {
                Ok(session) => drop(session),
                Err(status) => {
                    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
                    n_refused += 1;
                }
            }
        }
        // Six in five seconds. A session that ends before its Hello is read takes no share.
        let most = 6 * (1 + began.elapsed().as_secs() / 5);
        assert!(n_refused > 0 && n_known().is_some_and(|n| n <= most), "{n_refused}, {:?}", n_known());
    });
}

#[test]
fn who_is_revoked_is_put_out_though_answers_are_not_read() {
    let site = start();
    let [token, viewer] = ["worker", "viewer"].map(|role| site.token(role));
    // The coordinator sends it leases.
    assert_eq!(site.ask(&site.token("operator"), "POST", "/api/v1/jobs", "{\"n\":14}").status, 201);
    wait_for("the plan", || site.ask(&viewer, "GET", "/api/v1/jobs/1", "").json()["state"] == "queued");
    let address = endpoint(&site.coordinator().url()).expect("a URL");
    // Nobody reads the answers.
    let credentials = credentials(&token);
    let route = Route::new(address.initial_stream_window_size(0), &credentials).expect("a route");
    let is_connected = || {
        let workers = site.ask(&viewer, "GET", "/api/v1/workers", "").json();
        workers["workers"].as_array().is_some_and(|all| all.iter().any(|worker| worker["connected"] == true))
    };
    let runtime = runtime();
    let session = runtime.block_on(begin(&route, 1, "fool")).expect("a session");
    wait_for("the worker", &is_connected);
    let number = token.parse::<Token>().expect("a token").invitation().to_string();
    site.manage(["revoke", &number]);
    // It is never silent for so long that it would be given up.
    wait_for("the end of its session", || {
        let report = pb::Report { sequence: 1, ..pb::Report::default() };
        _ = session.0.try_send(said(Message::Report(report)));
        !is_connected()
    });
    drop(session);
}

/// Returns a session's answer to a worker's first message. A server that refuses a message before it has arrived may
/// break the connection before its answer is read. Then it asks again.
async fn answer(route: &Route, message: pb::WorkerMessage) -> Code {
    for _ in 0..20 {
        let mut client = WorkersClient::new(route.open().await.expect("connected"));
        let (sender, messages) = mpsc::channel(1);
        sender.send(message.clone()).await.expect("there is room");
        let Ok(session) = client.session(ReceiverStream::new(messages)).await else { continue };
        return session.into_inner().message().await.expect_err("it is refused").code();
    }
    panic!("the connection breaks each time");
}

#[test]
fn what_has_more_parts_than_anybody_sends_is_refused() {
    let site = start();
    let route = route(&site, &site.token("worker"));
    let report = |n_deltas| {
        let report =
            pb::Report { sequence: 1, deltas: vec![pb::Delta::default(); n_deltas], ..pb::Report::default() };
        said(Message::Report(report))
    };
    runtime().block_on(async {
        // Decoded, and invalid.
        assert_eq!(answer(&route, report(1025)).await, Code::InvalidArgument);
        // Not decoded: it would take 20 MiB.
        assert_eq!(answer(&route, report(200_000)).await, Code::OutOfRange);
    });
}
