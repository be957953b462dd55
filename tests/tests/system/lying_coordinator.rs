//! `queens export` from a lying coordinator: it accepts no more than the job can have.

use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use queens_model::{JobId, JobState, JobStatus, Progress};
use queens_proto::pb;
use queens_solver::{BoardSize, Method};
use queens_tests::prelude::*;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService};
use tonic::{Response, Status};
use tonic_prost::ProstCodec;

/// A coordinator with one job of this many subproblems, which sends an endless certificate.
#[derive(Clone, Copy)]
struct Liar {
    n_subproblems: u64,
}

impl NamedService for Liar {
    const NAME: &'static str = "queens.v1.Jobs";
}

impl Service<http::Request<Body>> for Liar {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let n_subproblems = self.n_subproblems;
        Box::pin(async move {
            let asks_for_export = request.uri().path() == "/queens.v1.Jobs/Export";
            Ok(if asks_for_export {
                let mut grpc = Grpc::new(ProstCodec::<pb::CertificatePiece, pb::GetRequest>::default());
                let export = tower::service_fn(|_: tonic::Request<pb::GetRequest>| async {
                    let piece = || Some(Ok(pb::CertificatePiece { bytes: vec![0; 1 << 16] }));
                    let pieces = tokio_stream::iter(std::iter::from_fn(piece));
                    Ok::<_, Status>(Response::new(pieces))
                });
                grpc.server_streaming(export, request).await
            } else {
                let mut grpc = Grpc::new(ProstCodec::<pb::Job, pb::GetRequest>::default());
                let job = tower::service_fn(move |_: tonic::Request<pb::GetRequest>| async move {
                    Ok::<_, Status>(Response::new(done(n_subproblems)))
                });
                grpc.unary(job, request).await
            })
        })
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

#[test]
fn a_certificate_without_an_end_is_not_written() {
    let runtime = runtime();
    let (n_subproblems, limit) = (1000, (1 << 20) + 1000 * 2047);
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address: SocketAddr = listener.local_addr().expect("an address");
    runtime.spawn(
        tonic::transport::Server::builder()
            .add_service(Liar { n_subproblems })
            .serve_with_incoming(TcpListenerStream::new(listener)),
    );
    let dir = TempDir::new();
    let file = dir.join("certificate");
    let file = utf8(&file);
    let url = format!("http://{address}");
    let exported = run(queens(["export", "1", file, "--coordinator", &url]));
    let complaint = exported.complaint(1);
    let expected = format!(
        "sends more than the {limit} bytes that a certificate of job 1 can have, of 1000 subproblems"
    );
    assert!(complaint.contains(&expected), "{complaint}");
    assert!(complaint.contains(&format!("'{file}' is not written")), "{complaint}");
    assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 0, "nothing is left of it");
}
