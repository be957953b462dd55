//! The gRPC server, with its limits and timeouts.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request as HttpRequest;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response as HttpResponse;
use queens_event_loop::Handle;
use queens_model::PageUrl;
use queens_platform::LogThrottle;
use queens_proto::pb;
use queens_proto::pb::jobs_server::JobsServer;
use queens_proto::pb::workers_server::WorkersServer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic::{Code, Status};
use tracing::warn;

use super::authorize;
use super::jobs::JobsService;
use super::refusal::peer;
use super::session::WorkersService;
use super::worker_news::WorkerNews;
use crate::access::Authenticator;
use crate::net::{TooLate, attend};

/// An idle connection gets a ping after this time, and is closed if the ping is not answered within the same time.
/// Otherwise a connection to a vanished host would stay open for ever.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Maximal bytes of a worker's message. A Hello with more held leases comes in pieces.
const LARGEST_OF_WORKER: usize = 256 << 10;

/// Maximal bytes of an operator's request, and of an unauthenticated one.
const LARGEST_REQUEST: usize = 64 << 10;
pub(super) const LARGEST_OF_ANYBODY: usize = 1 << 10;

/// Maximal concurrent requests of one connection.
const STREAMS: u32 = 128;

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

/// Serves the clients that `authenticator` admits, like [`serve_to_all`]. Workers are told of the page `about` the count.
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
        .layer(from_fn_with_state(authenticator, authorize::authorize))
        .layer(from_fn(move |request, next| say_too_large(refusals.clone(), request, next)));
    serve_router(router, incoming, stop).await
}

/// Serves a router with limits on connections and a request timeout.
pub(super) async fn serve_router<C>(
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
async fn say_too_large(refusals: Arc<LogThrottle>, request: HttpRequest, next: Next) -> HttpResponse {
    let peer = peer(request.extensions().get());
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
