//! A coordinator that lies: `queens export` accepts no more of it than the job can have. `injection` has what else it
//! must not achieve.

use std::fs;
use std::pin::Pin;

use queens_model::{JobId, JobState, JobStatus, Progress};
use queens_proto::pb::jobs_server::{Jobs, JobsServer};
use queens_proto::pb::workers_server::{Workers, WorkersServer};
use queens_proto::pb::{self, coordinator_message};
use queens_solver::{BoardSize, Method};
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
pub(super) const ODD: &str = "odd\u{1b}[2J\u{1b}]0;owned\u{7}\u{9d}0;owned\u{9c}\u{9b}31m\u{202e}\
                   txt.exe\u{2066}\r\u{8}\u{200b}\u{7f}\u{2028}end";

/// What a lying coordinator does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Liar {
    /// It puts [`ODD`] in every text of its answers.
    Odd,
    /// It refuses everything with [`ODD`].
    Refuses,
    /// It has one job of this many subproblems, and sends an endless certificate of it.
    Endless(u64),
}

impl Liar {
    fn answer<T>(self, answer: T) -> Result<Response<T>, Status> {
        // A client must take this for the coordinator's final answer, and not retry.
        if self == Self::Refuses { Err(Status::invalid_argument(ODD)) } else { Ok(Response::new(answer)) }
    }
}

/// Serves it on a free port of `runtime`; returns its URL.
pub(super) fn serve(runtime: &Runtime, liar: Liar) -> String {
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

/// Returns job 1 of n = 18 as its coordinator describes it.
fn done(n_subproblems: u64) -> pb::Job {
    let all = u128::from(n_subproblems);
    let progress = Progress { n_subproblems: all, n_recorded: all, ..Progress::default() };
    let n = BoardSize::try_from(18_u32).expect("a board");
    let job = JobStatus::new(JobId(1), n, Method::Search, JobState::Done);
    JobStatus { progress, ..job }.into()
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
        self.answer(if let Self::Endless(n_subproblems) = self { done(*n_subproblems) } else { job() })
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
        let piece = || Some(Ok(pb::CertificatePiece { bytes: vec![0; 1 << 16] }));
        let pieces: Self::ExportStream = Box::pin(tokio_stream::iter(std::iter::from_fn(piece)));
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

#[test]
fn a_certificate_without_an_end_is_not_written() {
    let runtime = runtime();
    let (n_subproblems, limit) = (1000, (1 << 20) + 1000 * 2047);
    let dir = TempDir::new();
    let file = dir.join("certificate");
    let file = utf8(&file);
    let url = serve(&runtime, Liar::Endless(n_subproblems));
    let exported = run(queens(["export", "1", file, "--coordinator", &url]));
    let complaint = exported.complaint(1);
    let expected = format!(
        "sends more than the {limit} bytes that a certificate of job 1 can have, of 1000 subproblems"
    );
    assert!(complaint.contains(&expected), "{complaint}");
    assert!(complaint.contains(&format!("'{file}' is not written")), "{complaint}");
    assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 0, "nothing is left of it");
}
