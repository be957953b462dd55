//! No program prints control characters of a lying coordinator, odd files or odd arguments.

use std::fs;
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, Stdio};

use queens_model::plain::is_plain;
use queens_proto::pb::jobs_server::{Jobs, JobsServer};
use queens_proto::pb::workers_server::{Workers, WorkersServer};
use queens_proto::pb::{self, coordinator_message};
use queens_tests::data_dir::counted;
use queens_tests::prelude::*;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

/// Clears the screen, renames the window by ESC and by a C1 character, reverses the direction, overwrites the line, and
/// hides text.
const ODD: &str = "odd\u{1b}[2J\u{1b}]0;owned\u{7}\u{9d}0;owned\u{9c}\u{9b}31m\u{202e}\
                   txt.exe\u{2066}\r\u{8}\u{200b}\u{7f}\u{2028}end";

/// A coordinator that puts [`ODD`] in every text of its answers, or refuses everything with it.
#[derive(Clone, Copy)]
struct Liar {
    refuses: bool,
}

impl Liar {
    fn answer<T>(self, answer: T) -> Result<Response<T>, Status> {
        // A client must take this for the coordinator's final answer, and not retry.
        if self.refuses { Err(Status::invalid_argument(ODD)) } else { Ok(Response::new(answer)) }
    }
}

/// Serves it on a free port of `runtime`; returns its URL.
fn serve(runtime: &Runtime, liar: Liar) -> String {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = Server::builder().add_service(JobsServer::new(liar)).add_service(WorkersServer::new(liar));
    runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    url
}

fn job() -> pb::Job {
    pb::Job {
        job: 1,
        n: 8,
        state: pb::JobState::Failed.into(),
        solutions: "0".to_owned(),
        work: "0".to_owned(),
        subproblems: "9".to_owned(),
        recorded: "0".to_owned(),
        estimated_work: "9".to_owned(),
        estimated_work_recorded: "0".to_owned(),
        failed: 1,
        failure: ODD.to_owned(),
        method: pb::Method::Search.into(),
        terms: Some(pb::Terms::default()),
        recounting: Some(pb::Recounting { work_left: "0".to_owned(), ..pb::Recounting::default() }),
        ..pb::Job::default()
    }
}

fn worker(id: u64, name: &str) -> pb::Worker {
    pb::Worker {
        worker: id,
        name: name.to_owned(),
        build: ODD.to_owned(),
        kernel: ODD.to_owned(),
        threads: 1,
        state: pb::WorkerState::Failing.into(),
        failure: ODD.to_owned(),
        ..pb::Worker::default()
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Jobs for Liar {
    type WatchStream = Answers<pb::Job>;
    type ExportStream = Answers<pb::CertificatePiece>;

    async fn submit(&self, _: Request<pb::SubmitRequest>) -> Result<Response<pb::SubmitResponse>, Status> {
        self.answer(pb::SubmitResponse { job: 1 })
    }

    async fn list(&self, _: Request<pb::ListRequest>) -> Result<Response<pb::ListResponse>, Status> {
        self.answer(pb::ListResponse { jobs: vec![job()], next_page: String::new() })
    }

    async fn get(&self, _: Request<pb::GetRequest>) -> Result<Response<pb::Job>, Status> {
        self.answer(job())
    }

    async fn watch(&self, _: Request<pb::GetRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let jobs: Self::WatchStream = Box::pin(tokio_stream::iter([Ok(job())]));
        self.answer(jobs)
    }

    async fn change_job(&self, _: Request<pb::ChangeJobRequest>) -> Result<Response<pb::Job>, Status> {
        self.answer(job())
    }

    async fn list_workers(
        &self,
        _: Request<pb::ListWorkersRequest>,
    ) -> Result<Response<pb::ListWorkersResponse>, Status> {
        let workers =
            vec![worker(1, ODD), worker(2, ""), worker(3, "honest"), worker(4, &"long".repeat(5000))];
        let blocked = vec![ODD.to_owned(), String::new()];
        self.answer(pb::ListWorkersResponse { workers, blocked, next_page: String::new() })
    }

    async fn change_workers(
        &self,
        _: Request<pb::ChangeWorkersRequest>,
    ) -> Result<Response<pb::ChangedWorkers>, Status> {
        self.answer(pb::ChangedWorkers { workers: 1 })
    }

    async fn export(&self, _: Request<pb::GetRequest>) -> Result<Response<Self::ExportStream>, Status> {
        let pieces: Self::ExportStream =
            Box::pin(tokio_stream::iter([Ok(pb::CertificatePiece { bytes: ODD.into() })]));
        self.answer(pieces)
    }

    async fn list_contributions(
        &self,
        _: Request<pb::GetRequest>,
    ) -> Result<Response<pb::ListContributionsResponse>, Status> {
        let (worker, kernel, work) = (ODD.to_owned(), ODD.to_owned(), "1".to_owned());
        let contribution = pb::Contribution { worker, kernel, spans: 1, work, time_us: 1 };
        self.answer(pb::ListContributionsResponse { contributions: vec![contribution] })
    }

    async fn list_audit_entries(
        &self,
        request: Request<pb::ListAuditEntriesRequest>,
    ) -> Result<Response<pb::ListAuditEntriesResponse>, Status> {
        let odd = || ODD.to_owned();
        let (who, role, peer, what, outcome) = (odd(), odd(), odd(), odd(), odd());
        let decision =
            pb::AuditEntry { number: 1, at_ms: 1, who, role, peer, what, outcome, party: String::new() };
        let audit_entries = if request.into_inner().before == 0 { vec![decision] } else { Vec::new() };
        self.answer(pb::ListAuditEntriesResponse { audit_entries })
    }

    async fn list_verdicts(
        &self,
        _: Request<pb::ListVerdictsRequest>,
    ) -> Result<Response<pb::ListVerdictsResponse>, Status> {
        let odd = || ODD.to_owned();
        let span = Some(pb::Span { part: 1, from: 0, to: 1 });
        let (worker, kernel, lost_worker, lost_kernel) = (odd(), odd(), odd(), odd());
        let verdict =
            pb::Verdict { span, worker, kernel, lost_worker, lost_kernel, ..pb::Verdict::default() };
        self.answer(pb::ListVerdictsResponse { verdicts: vec![verdict] })
    }

    async fn list_events(
        &self,
        _: Request<pb::ListEventsRequest>,
    ) -> Result<Response<pb::ListEventsResponse>, Status> {
        let kind = pb::EventKind::Job.into();
        let event = pb::Event { number: 1, at_ms: 1, kind, job: 1, text: ODD.to_owned() };
        self.answer(pb::ListEventsResponse { events: vec![event] })
    }

    async fn get_coordinator(
        &self,
        _: Request<pb::GetCoordinatorRequest>,
    ) -> Result<Response<pb::Coordinator>, Status> {
        let odd = || ODD.to_owned();
        let refuses = vec![odd(), odd()];
        let coordinator = pb::Coordinator {
            version: odd(),
            store: odd(),
            store_error: odd(),
            refuses,
            ..Default::default()
        };
        self.answer(coordinator)
    }
}

#[tonic::async_trait]
impl Workers for Liar {
    type SessionStream = Answers<pb::CoordinatorMessage>;

    async fn session(
        &self,
        request: Request<Streaming<pb::WorkerMessage>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let (sender, receiver) = mpsc::channel(2);
        let notice = coordinator_message::Message::Notice(pb::Notice {
            text: ODD.to_owned(),
            ..pb::Notice::default()
        });
        tokio::spawn(async move {
            _ = sender.send(Ok(pb::CoordinatorMessage { message: Some(notice) })).await;
            // A Hello, and a heartbeat, which shows that the worker received the notice.
            let mut incoming = request.into_inner();
            for _ in 0..2 {
                _ = incoming.message().await;
            }
            _ = sender.send(Err(Status::aborted(ODD))).await;
        });
        let session: Self::SessionStream = Box::pin(ReceiverStream::new(receiver));
        self.answer(session)
    }

    async fn get_own_contribution(
        &self,
        _: Request<pb::GetOwnContributionRequest>,
    ) -> Result<Response<pb::OwnContribution>, Status> {
        Err(Status::unavailable(ODD))
    }
}

/// Checks that a text consists of printable lines.
#[track_caller]
fn check_plain(text: &str) {
    let odd = text.chars().find(|&c| c != '\n' && !is_plain(c));
    assert_eq!(odd, None, "in {text:?}");
}

#[track_caller]
fn check_outcome(outcome: &Ended, shown: bool) {
    check_plain(&outcome.stdout);
    check_plain(&outcome.stderr);
    let all = format!("{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(all.contains("odd") && all.contains(r"\u{202e}"), shown, "{outcome:?}");
}

#[test]
fn a_coordinator_cannot_command_the_terminal_of_who_asks_it() {
    let runtime = runtime();
    let url = serve(&runtime, Liar { refuses: false });
    let ask = |url: &str, args: &[&str]| run(queens(args.iter().chain(&["--coordinator", url])));
    for (args, code, shown) in [
        (&["jobs"][..], 0, true),
        (&["status", "1"], 0, true),
        (&["watch", "1"], 1, true),
        (&["workers"], 0, true),
        (&["contributions", "1"], 0, true),
        (&["verdicts", "1"], 0, true),
        (&["audit"], 0, true),
        (&["count", "8"], 1, true),
        (&["submit", "8"], 0, false),
        (&["pause", "1"], 0, false),
        (&["cancel", "1"], 0, false),
    ] {
        let outcome = ask(&url, args);
        assert_eq!(outcome.status.code(), Some(code), "{outcome:?}");
        check_outcome(&outcome, shown);
    }
    for args in [&["jobs"][..], &["status", "1"], &["workers"], &["contributions", "1"], &["watch", "1"]] {
        let outcome = ask(&url, &[args, &["--output", "json"]].concat());
        check_outcome(&outcome, true);
        serde_json::from_str::<Value>(&outcome.stdout).expect("JSON");
    }
    let url = serve(&runtime, Liar { refuses: true });
    for args in [
        &["jobs"][..],
        &["status", "1"],
        &["watch", "1"],
        &["workers"],
        &["workers", "block", "a"],
        &["count", "8"],
        &["submit", "8"],
        &["pause", "1"],
        &["priority", "1", "2"],
        &["cancel", "1"],
    ] {
        let outcome = ask(&url, args);
        assert!(outcome.complaint(1).starts_with("error: odd"), "{outcome:?}");
        check_outcome(&outcome, true);
    }
}

#[test]
fn a_coordinator_cannot_command_a_screen_full_of_it() {
    if !is_installed("script") {
        return skipped("'queens top' of a liar, as there is no script(1) to make a terminal");
    }
    let runtime = runtime();
    let scratch = TempDir::new();
    for refuses in [false, true] {
        let shown = scratch.join(refuses.to_string());
        let (url, queens) = (serve(&runtime, Liar { refuses }), binary("queens"));
        let top = format!("stty rows 40 cols 200; {} top --coordinator {url}", queens.display());
        let mut command = clean(Command::new("script"));
        command.args(["-qefc", &top]).arg(&shown).env("TERM", "xterm-256color").stdout(Stdio::null());
        let running = Running::start_redirected(command.stdin(Stdio::piped()));
        let text = wait_until("what it says", || {
            let text = String::from_utf8_lossy(&fs::read(&shown).ok()?).into_owned();
            text.contains("odd").then_some(text)
        });
        drop(running);
        // Our own codes move the cursor, and set colours.
        let odd = text.chars().find(|&c| !matches!(c, '\u{1b}' | '\r' | '\n') && !is_plain(c));
        assert_eq!(odd, None, "{text:?}");
        assert!(!text.contains("\u{1b}]") && !text.contains("odd\u{1b}"), "{text:?}");
    }
}

/// Starts a worker that logs to a file.
fn start_worker(url: &str, format: &str, log: &Path) -> Service {
    let mut command = worker_command(url, "a", Kernel::best());
    Service::start(command.args(["--log-format", format]), log)
}

#[test]
fn a_coordinator_cannot_command_the_terminal_of_a_worker() {
    let runtime = runtime();
    let scratch = TempDir::new();
    for format in ["text", "json"] {
        let url = serve(&runtime, Liar { refuses: false });
        let worker = start_worker(&url, format, &scratch.join(format));
        worker.wait_for_log("the coordinator says: odd");
        worker.wait_for_log("next_attempt");
        check_plain(&worker.log());
        let url = serve(&runtime, Liar { refuses: true });
        let mut refused = start_worker(&url, format, &scratch.join(format!("{format} refused")));
        assert_eq!(refused.wait().code(), Some(1), "{}", refused.log());
        let said = refused.log();
        check_plain(&said);
        assert!(said.contains(r"refused this worker: odd\u{1b}[2J"), "{said:?}");
    }
}

#[test]
fn odd_arguments_files_and_variables_are_told_as_they_can_be_shown() {
    let scratch = TempDir::new();
    let file = scratch.join(ODD);
    fs::write(&file, "no directory").expect("written");
    let file = utf8(&file);
    for args in [
        &["count", "8", "--data-dir", file][..],
        &["count", "8", "--given", ODD],
        &["count", ODD],
        &["jobs", "--coordinator", ODD],
        &["render", "8", "-o", &format!("{file}/no/such/{ODD}.svg")],
        &[ODD],
    ] {
        check_outcome(&run(queens(args)), true);
    }
    check_outcome(&run(queens(["count", "--help"]).env("QUEENS_DATA_DIR", ODD)), true);
    check_outcome(&run(queens(["jobs", "--coordinator", "http://127.0.0.1:1"]).env("QUEENS_LOG", ODD)), true);
    check_outcome(&queens_coordinator(&["check", file]), true);
    // The contents of a database are from outside too.
    let data_dir = counted(8);
    tamper(data_dir.path(), &format!("INSERT INTO blocked_worker VALUES ('{ODD}', '', '', 0)"));
    let outcome = run(coordinator_command("127.0.0.1:0", data_dir.path()));
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    check_outcome(&outcome, true);
}
