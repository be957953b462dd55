//! The gRPC server, with its table of operations, its limits and timeouts; and that of a standby.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use queens_event_loop::Handle;
use queens_model::PageUrl;
use queens_platform::LogThrottle;
use queens_proto::pb::jobs_server::JobsServer;
use queens_proto::pb::workers_server::WorkersServer;
use queens_proto::{LEADER_KEY, pb};
use queens_store::postgres::{LeaderView, Standby};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic::{Code, Status};
use tonic_health::ServingStatus;
use tracing::warn;

use super::jobs::JobsService;
use super::session::WorkersService;
use super::worker_news::WorkerNews;
use crate::access::{Authenticator, Protocol, Requirement};
use crate::net::{ConnectionInfo, Port, TooLate, attend};
use crate::refusal::RequestRefusal;

/// An idle connection gets a ping after this time, and is closed if the ping is not answered within the same time.
/// Otherwise a connection to a vanished host would stay open for ever.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Maximal bytes of a worker's message. A Hello with more held leases comes in pieces.
const LARGEST_OF_WORKER: usize = 256 << 10;

/// Maximal bytes of an operator's request, and of an unauthenticated one.
const LARGEST_REQUEST: usize = 64 << 10;
const LARGEST_OF_ANYBODY: usize = 1 << 10;

/// Maximal concurrent requests of one connection.
const STREAMS: u32 = 128;

/// The path of session requests.
const SESSION: &str = "/queens.v1.Workers/Session";

/// Serves all clients on the connections of `incoming` without authentication, until `stop` is cancelled and all
/// sessions have ended.
///
/// # Errors
/// If the server fails.
pub async fn serve_to_all<C>(
    incoming: impl Stream<Item = io::Result<C>>,
    handle: Handle,
    stop: CancellationToken,
) -> Result<(), tonic::transport::Error>
where
    C: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
{
    serve(incoming, handle, Authenticator::open_to_all(None), None, stop).await
}

/// Serves the clients that `authenticator` admits, like [`serve_to_all`]. Workers are told of the page `about` the
/// count.
pub(crate) async fn serve<C>(
    incoming: impl Stream<Item = io::Result<C>>,
    handle: Handle,
    authenticator: Authenticator,
    about: Option<PageUrl>,
    stop: CancellationToken,
) -> Result<(), tonic::transport::Error>
where
    C: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
{
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<WorkersServer<WorkersService>>().await;
    health.set_serving::<JobsServer<JobsService>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(pb::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1();
    let reflection = match reflection {
        Ok(reflection) => Some(reflection),
        Err(error) => {
            warn!(%error, "no reflection service");
            None
        }
    };
    let refusals = Arc::new(LogThrottle::default());
    let news = WorkerNews::start(handle.clone(), authenticator.clone(), about);
    let workers = WorkersService::new(handle.clone(), authenticator.clone(), news, refusals.clone());
    let mut routes = Routes::new(health_service.max_decoding_message_size(LARGEST_OF_ANYBODY))
        .add_service(WorkersServer::new(workers).max_decoding_message_size(LARGEST_OF_WORKER))
        .add_service(
            JobsServer::new(JobsService::new(handle, authenticator.clone()))
                .max_decoding_message_size(LARGEST_REQUEST),
        );
    if let Some(reflection) = reflection {
        routes = routes.add_service(reflection.max_decoding_message_size(LARGEST_REQUEST));
    }
    let router = routes
        .into_axum_router()
        .layer(from_fn_with_state(authenticator, authorize))
        .layer(from_fn(move |request, next| say_too_large(refusals.clone(), request, next)));
    serve_router(router, incoming, stop).await
}

/// Serves a router with limits on connections and a request timeout.
async fn serve_router<C>(
    router: Router,
    incoming: impl Stream<Item = io::Result<C>>,
    stop: CancellationToken,
) -> Result<(), tonic::transport::Error>
where
    C: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
{
    let too_late: TooLate = |reason| Status::deadline_exceeded(reason).into_http();
    Server::builder()
        .max_concurrent_streams(Some(STREAMS))
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE))
        .add_routes(Routes::from(router.layer(from_fn_with_state(too_late, attend))))
        .serve_with_incoming_shutdown(incoming, stop.cancelled_owned())
        .await
}

/// Logs requests that were too large. The server library has answered them already.
async fn say_too_large(refusals: Arc<LogThrottle>, request: Request, next: Next) -> Response {
    let peer =
        ConnectionInfo::of(&request).map_or_else(|| "unknown".to_owned(), |info| info.address().to_string());
    let path = request.uri().path().to_owned();
    let response = next.run(request).await;
    if let Some(status) = Status::from_header_map(response.headers())
        && status.code() == Code::OutOfRange
        && let Some(left_out) = refusals.allows()
    {
        warn!(peer, path, reason = status.message(), left_out, "request refused");
    }
    response
}

/// gRPC.
struct Grpc;

impl Protocol for Grpc {
    fn refuse(&self, _: &Request, refusal: RequestRefusal) -> Response {
        Status::from(refusal).into_http()
    }

    fn outcome(&self, response: &Response) -> Option<Result<(), String>> {
        // An answer with a body has its status after the body.
        let status = Status::from_header_map(response.headers())?;
        Some(if status.code() == Code::Ok { Ok(()) } else { Err(status.message().to_owned()) })
    }
}

/// Returns what an operation requires of the sender; `None` for an unknown path.
fn requirement(path: &str) -> Option<Requirement> {
    Some(match path {
        SESSION => Requirement::SESSION,
        "/queens.v1.Workers/GetOwnContribution" => Requirement::OWN,
        "/queens.v1.Jobs/Submit" => Requirement::SUBMIT,
        "/queens.v1.Jobs/ChangeJob" | "/queens.v1.Jobs/ChangeWorkers" => Requirement::DECIDE,
        "/queens.v1.Jobs/List"
        | "/queens.v1.Jobs/Get"
        | "/queens.v1.Jobs/Watch"
        | "/queens.v1.Jobs/ListContributions"
        | "/queens.v1.Jobs/ListVerdicts"
        | "/queens.v1.Jobs/ListWorkers"
        | "/queens.v1.Jobs/ListEvents"
        | "/queens.v1.Jobs/GetCoordinator"
        | "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo" => Requirement::READ,
        "/queens.v1.Jobs/Export" => Requirement::EXPORT,
        "/queens.v1.Jobs/ListAuditEntries" => Requirement::AUDIT,
        "/grpc.health.v1.Health/Check" | "/grpc.health.v1.Health/List" => Requirement::PUBLIC,
        "/grpc.health.v1.Health/Watch" => Requirement::WATCH,
        _ => return None,
    })
}

async fn authorize(State(authenticator): State<Authenticator>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let requirement = requirement(&path).filter(|_| request.method() == Method::POST);
    authenticator.handle(&Grpc, requirement, &path, request, next).await
}

/// Answers all clients on the connections of `incoming` with the leader's address, until `stop` is cancelled.
pub(crate) async fn stand_by(
    port: Port,
    standby: Standby,
    stop: CancellationToken,
) -> Result<(), tonic::transport::Error> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_service_status("", ServingStatus::NotServing).await;
    health.set_not_serving::<WorkersServer<WorkersService>>().await;
    health.set_not_serving::<JobsServer<JobsService>>().await;
    let router = Routes::new(health_service.max_decoding_message_size(LARGEST_OF_ANYBODY))
        .into_axum_router()
        .fallback(move |request: Request| {
            if request.uri().path() == SESSION {
                standby.note_standby_contact();
            }
            let refusal = refusal(&standby.leader());
            async move { refusal.into_http::<tonic::body::Body>() }
        });
    serve_router(router, port, stop).await
}

fn refusal(leader: &LeaderView) -> Status {
    let mut status = Status::unavailable(leader.to_string());
    if let LeaderView::Led(leader) = leader
        && let Ok(url) = leader.url.parse()
    {
        status.metadata_mut().insert(LEADER_KEY, url);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_protocol_requires_something() {
        let protocol = include_str!("../../../proto/proto/queens/v1/queens.proto");
        let (mut service, mut n_operations) = ("", 0);
        for line in protocol.lines().map(str::trim) {
            let name = line.split([' ', '(', '{']).nth(1).unwrap_or_default();
            if line.starts_with("service ") {
                service = name;
            } else if line.starts_with("rpc ") {
                assert!(requirement(&format!("/queens.v1.{service}/{name}")).is_some(), "{service}/{name}");
                n_operations += 1;
            }
        }
        assert!(n_operations >= 15, "{n_operations}");
        assert_eq!(requirement("/queens.v1.Jobs/Erase"), None);
    }
}
