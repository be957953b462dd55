//! The gRPC server of a standby coordinator: answers workers and operators with the leader's address.

use std::io;

use axum::extract::Request;
use queens_proto::LEADER_KEY;
use queens_proto::pb::jobs_server::JobsServer;
use queens_proto::pb::workers_server::WorkersServer;
use queens_store::postgres::{LeaderView, Standby};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::service::Routes;
use tonic::transport::server::Connected;
use tonic_health::ServingStatus;

use super::jobs::JobsService;
use super::server::{LARGEST_OF_ANYBODY, serve_router};
use super::session::WorkersService;

/// The path of session requests.
const SESSION: &str = "/queens.v1.Workers/Session";

/// Answers all clients on the connections of `incoming` with the leader's address, until `stop` is cancelled.
pub(crate) async fn stand_by<C>(
    incoming: impl Stream<Item = io::Result<C>>,
    standby: Standby,
    stop: CancellationToken,
) -> Result<(), tonic::transport::Error>
where
    C: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
{
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
    serve_router(router, incoming, stop).await
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
