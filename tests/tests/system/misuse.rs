//! Mistakes around a cluster: each gets one clear message, and disturbs nobody else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use queens_proto::checksum;
use queens_proto::pb::jobs_client::JobsClient;
use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::pb::{self, worker_message::Message};
use queens_tests::data_dir::identity;
use queens_tests::prelude::*;
use queens_tests::session::{self, hello, said};
use tonic::{Code, Status};

/// Checks that the coordinator and a worker of it still work.
#[track_caller]
fn check_alive(coordinator: &Coordinator) {
    let _worker = coordinator.worker("honest");
    assert_eq!(coordinator.json(["count", "10"])["solutions"], "724");
}

#[test]
fn a_busy_port_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    for (listen, pages) in [(&*address, "127.0.0.1:0"), ("127.0.0.1:0", &address)] {
        let outcome = run(coordinator_command(listen, &data_dir).args(["--http", pages]));
        let complaint = outcome.stderr.lines().last().unwrap_or_default();
        assert!(complaint.contains(&address) && complaint.contains("in use"), "{outcome:?}");
        assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    }
    assert!(!data_dir.exists(), "nothing is made for a coordinator that can't start");
}

#[test]
fn bad_arguments_are_refused_in_one_line() {
    let worker = |args: &[&str]| run(program("queens-worker").args(args));
    for url in ["", "foo", "127.0.0.1:50051", "ftp://127.0.0.1:1", "http://127.0.0.1", "http://"] {
        let outcome = worker(&["--coordinator", url]);
        assert!(
            outcome.complaint(2).contains("expected a URL such as http://127.0.0.1:50051"),
            "{outcome:?}"
        );
    }
    // No part of a URL is silently ignored.
    for behind in ["50051/jobs", "50051?n=8", "50051#1", "0"] {
        let outcome = run(queens(["jobs", "--coordinator", &format!("http://127.0.0.1:{behind}")]));
        assert!(outcome.complaint(2).contains("expected a URL such as"), "{outcome:?}");
    }
    let outcome = run(queens(["jobs", "--coordinator", "http://anna:secret@127.0.0.1:50051"]));
    assert!(outcome.complaint(2).contains("expected a URL such as"), "{outcome:?}");
    // A worker accepts the same addresses as a coordinator.
    for address in ["http://127.0.0.1:80", "a/b:80", "a b:80", ":80", "a"] {
        let outcome = worker(&["--http", address]);
        assert!(outcome.complaint(2).contains("an address and a port and nothing else"), "{outcome:?}");
        let outcome =
            run(coordinator_command("127.0.0.1:0", TempDir::new().path()).args(["--http", address]));
        assert!(outcome.complaint(2).contains("an address and a port and nothing else"), "{outcome:?}");
    }
    for job in ["0", "+1", "01", "-1", "1.0", "18446744073709551616"] {
        let outcome = run(queens(["status", job]));
        assert!(outcome.complaint(2).contains("a whole number from 1"), "{outcome:?}");
    }
    assert!(worker(&["--threads", "0"]).complaint(2).contains("leaves nothing that counts"));
    assert!(worker(&["--threads", "5000"]).complaint(2).contains("from 0 to 4096"));
    assert!(
        worker(&["--kernel", "abacus"])
            .complaint(2)
            .contains("expected auto, avx512, avx2, v128 or portable")
    );
    assert!(worker(&["--name", ""]).complaint(2).contains("visible characters"));
    // A program with commands takes no word for one that is none.
    let value = worker(&["--nice", "19"]);
    assert!(
        value.complaint(2).contains("unexpected argument '19' (see 'queens-worker --help')"),
        "{value:?}"
    );
    let scratch = TempDir::new();
    let outcome = run(coordinator_command("nowhere", scratch.path()));
    assert!(outcome.complaint(2).contains("'nowhere'"), "{outcome:?}");
}

/// Sends these messages as a worker and returns the session's final status.
async fn end_of_session(url: &str, messages: Vec<pb::WorkerMessage>) -> Status {
    let mut client = WorkersClient::connect(url.to_owned()).await.expect("connected");
    // The stream stays open: the coordinator must end the session.
    let messages = tokio_stream::StreamExt::chain(tokio_stream::iter(messages), tokio_stream::pending());
    let mut answers = match client.session(messages).await {
        Ok(answers) => answers.into_inner(),
        Err(status) => return status,
    };
    let end = async {
        loop {
            match answers.message().await {
                Ok(Some(_)) => {}
                Ok(None) => return Status::ok("ended"),
                Err(status) => return status,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(600), end).await.expect("the session is ended")
}

#[track_caller]
fn check_refused(coordinator: &Coordinator, messages: Vec<Message>, code: Code, what: &str) {
    let runtime = runtime();
    let messages = messages.into_iter().map(said);
    let status = runtime.block_on(end_of_session(&coordinator.url(), messages.collect()));
    assert_eq!(status.code(), code, "{status:?}");
    assert!(status.message().contains(what), "{status:?}");
}

#[test]
fn a_worker_that_makes_no_sense_is_sent_away_and_told_why() {
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::start();
    let hello = hello(42, "strange");
    check_alive(&coordinator);
    let lease = records(&data_dir).expect("readable")[0].lease.unsigned_abs();
    let number = coordinator.submit(14);
    coordinator.wait_for_state(&number, "queued");
    let job = identity(&data_dir, &number).expect("it is there");
    let delta = |job: &[u8], part, from, to, solutions| {
        let span = Some(pb::Span { part, from, to });
        let delta =
            pb::Delta { job: job.to_vec(), lease, span, solutions, work: 1, duration_us: 1, checksum: 0 };
        let delta = pb::Delta { checksum: checksum::of_delta(&delta), ..delta };
        let report = pb::Report { sequence: 1, deltas: vec![delta], finished: vec![] };
        vec![Message::Hello(session::hello(42, "strange")), Message::Report(report)]
    };
    let versions = "protocol version 99 is not supported: this program supports 2";
    let other = vec![Message::Hello(pb::Hello { protocol: 99, ..hello.clone() })];
    check_refused(&coordinator, other, Code::FailedPrecondition, versions);
    let other = vec![Message::Hello(pb::Hello { decomposition: 99, ..hello.clone() })];
    check_refused(&coordinator, other, Code::FailedPrecondition, "decomposition version 99");
    let nobody = vec![Message::Hello(pb::Hello { threads: 0, ..hello.clone() })];
    check_refused(&coordinator, nobody, Code::FailedPrecondition, "no threads");
    let nan = vec![Message::Hello(pb::Hello { work_per_second: f64::NAN, ..hello.clone() })];
    check_refused(&coordinator, nan, Code::InvalidArgument, "NaN nodes per second are no speed");
    for odd in ["\u{7}", "", "a\u{202e}b", "a\u{200b}b", "a\u{2028}b", " a", "a ", &"a".repeat(101)]
        .map(str::to_owned)
    {
        let name = vec![Message::Hello(pb::Hello { name: odd.clone(), ..hello.clone() })];
        check_refused(
            &coordinator,
            name,
            Code::InvalidArgument,
            "the worker's name is no name: expected 1 to 100",
        );
        let build = vec![Message::Hello(pb::Hello { build: odd.clone(), ..hello.clone() })];
        check_refused(&coordinator, build, Code::InvalidArgument, "the worker's build is no name");
        let kernel = vec![Message::Hello(pb::Hello { kernel: odd, ..hello.clone() })];
        check_refused(&coordinator, kernel, Code::InvalidArgument, "the worker's kernel is no name");
    }
    check_refused(&coordinator, vec![Message::Goodbye(pb::Goodbye {})], Code::InvalidArgument, "hello");
    let twice = vec![Message::Hello(hello.clone()), Message::Hello(hello)];
    check_refused(&coordinator, twice, Code::InvalidArgument, "second hello");
    check_refused(&coordinator, delta(&[1], 0, 0, 1, 1), Code::InvalidArgument, "identity is missing");
    check_refused(&coordinator, delta(&job, 0, 0, 2, 1), Code::InvalidArgument, "subproblems 0..2");
    check_refused(&coordinator, delta(&job, 9999, 0, 1, 1), Code::InvalidArgument, "part 9999");
    check_refused(&coordinator, delta(&job, 0, 1, 1, 1), Code::InvalidArgument, "empty");
    check_refused(&coordinator, delta(&job, 0, 0, 1, u64::MAX), Code::InvalidArgument, "solutions");
    // The job in the false reports is counted right.
    let _worker = coordinator.worker("honest");
    _ = coordinator.queens(["watch", &number]).good();
    assert_eq!(coordinator.status(&number)["solutions"], "365596");
}

#[test]
fn garbage_on_the_wire_ends_its_connection_and_no_other() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    for garbage in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 100_000], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0", b""]
    {
        let mut stream = TcpStream::connect(coordinator.address()).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        // The server may close while we still write.
        _ = stream.write_all(garbage);
        _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        _ = stream.read_to_end(&mut answer);
    }
    check_alive(&coordinator);
}

#[test]
fn operators_who_ask_for_nonsense_are_told_so() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let runtime = runtime();
    runtime.block_on(async {
        let mut client = JobsClient::connect(coordinator.url()).await.expect("connected");
        let refused = client
            .submit(pb::SubmitRequest { n: 33, ..pb::SubmitRequest::default() })
            .await
            .expect_err("no such board");
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains("'33' is not a whole number from 0 to 32"), "{refused:?}");
        let change = Some(pb::change_job_request::Change::Cancel(pb::Empty {}));
        let cancel = pb::ChangeJobRequest { job: u64::MAX, change };
        let refused = client.change_job(cancel).await.expect_err("no such job");
        assert_eq!(refused.code(), Code::NotFound);
    });
    check_alive(&coordinator);
}
