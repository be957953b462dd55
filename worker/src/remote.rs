//! Sessions with a coordinator across a network.

use std::pin::pin;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use queens_messages::{CoordinatorUrl, InvalidCoordinatorUrl, ToWorker, plain};
use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::{link, pb};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};
use tracing::{info, warn};

use crate::session::End;
use crate::worker::Worker;

/// Without an answer for this long, a ping is sent, and without an answer to that, the connection is dead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// How long to try to open a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Pauses between attempts grow from the first to the second, and vary so that a thousand workers that lost their
/// coordinator together do not come back together.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(15));

/// A session that lasted this long was a good one: the next attempts begin with short pauses again.
const GOOD_SESSION: Duration = Duration::from_secs(30);

/// How long the coordinator may take to end a session after the worker has.
const FAREWELL: Duration = Duration::from_secs(2);

/// The largest message accepted.
const LARGEST_MESSAGE: usize = 16 << 20;

/// The coordinator can't use this worker, now or later.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the coordinator at {coordinator} refused this worker: {reason}")]
pub struct Refused {
    coordinator: String,
    reason: String,
}

/// The settings of every connection to a coordinator.
///
/// # Errors
/// If the text is no [`CoordinatorUrl`].
pub fn endpoint(url: &str) -> Result<Endpoint, InvalidCoordinatorUrl> {
    let url: CoordinatorUrl = url.parse()?;
    let endpoint = Endpoint::from_shared(url.as_str().to_owned());
    Ok(endpoint
        .map_err(|_| InvalidCoordinatorUrl::from(url))?
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .keep_alive_while_idle(true))
}

impl Worker {
    /// Holds sessions with the coordinator at `endpoint` until `drain` is cancelled or the coordinator sends it away.
    /// Tries again for as long as it takes when there is no connection, and goes on counting meanwhile.
    ///
    /// # Errors
    /// If the coordinator can't use this worker.
    pub async fn serve_remote(
        &mut self,
        endpoint: &Endpoint,
        drain: &CancellationToken,
    ) -> Result<(), Refused> {
        self.serve_through(endpoint, async || endpoint.connect().await, drain).await
    }

    /// The same with connections made otherwise.
    ///
    /// # Errors
    /// If the coordinator can't use this worker.
    pub async fn serve_through(
        &mut self,
        endpoint: &Endpoint,
        connect: impl AsyncFn() -> Result<Channel, tonic::transport::Error>,
        drain: &CancellationToken,
    ) -> Result<(), Refused> {
        let mut pauses = pauses();
        let mut refused = None;
        loop {
            let began = Instant::now();
            let reason = match session(self, endpoint, &connect, drain).await {
                Ok(()) => return Ok(()),
                // What was garbled on its way may be refused once.
                Err(Lost::Refused(reason)) if refused.as_ref() == Some(&reason) => {
                    return Err(Refused { coordinator: endpoint.uri().to_string(), reason });
                }
                Err(Lost::Refused(reason)) => refused.insert(reason).clone(),
                Err(Lost::Connection(reason)) => {
                    refused = None;
                    reason
                }
            };
            if drain.is_cancelled() {
                warn!("leaving without a connection: what was counted since the last report is lost");
                return Ok(());
            }
            if began.elapsed() >= GOOD_SESSION {
                pauses = self::pauses();
            }
            let pause = pauses.next().unwrap_or(PAUSES.1);
            warn!(coordinator = %endpoint.uri(), reason, next_attempt = ?pause, "no connection to the coordinator");
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = drain.cancelled() => {}
            }
        }
    }
}

fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(PAUSES.0)
        .with_max_delay(PAUSES.1)
        .without_max_times()
        .with_jitter()
        .build()
}

/// Why a session has ended before the worker left.
enum Lost {
    /// There is no use in trying again.
    Refused(String),
    /// There is.
    Connection(String),
}

impl From<Status> for Lost {
    fn from(status: Status) -> Self {
        if !is_grpc(&status) {
            let reason = "what answers there speaks HTTP and is no coordinator, or it is the address of its --http; \
                          --coordinator wants the one of its --listen";
            return Self::Connection(reason.to_owned());
        }
        let reason = plain::line(status.message()).into_owned();
        match status.code() {
            Code::FailedPrecondition | Code::InvalidArgument | Code::Unimplemented => Self::Refused(reason),
            _ => Self::Connection(reason),
        }
    }
}

/// Connects and holds one session; `Ok` when the worker has left.
async fn session(
    worker: &mut Worker,
    endpoint: &Endpoint,
    connect: &impl AsyncFn() -> Result<Channel, tonic::transport::Error>,
    drain: &CancellationToken,
) -> Result<(), Lost> {
    let channel = tokio::select! {
        channel = connect() => channel.map_err(|error| Lost::Connection(root_cause(&error)))?,
        () = drain.cancelled() => return Err(Lost::Connection("told to leave".to_owned())),
    };
    let mut client = WorkersClient::new(channel).max_decoding_message_size(LARGEST_MESSAGE);
    let (worker_end, coordinator_end) = link();
    let outgoing = ReceiverStream::new(coordinator_end.receiver).map(pb::WorkerMessage::from);
    let incoming = client.session(outgoing).await?.into_inner();
    info!(coordinator = %endpoint.uri(), "connected");
    let metrics = worker.metrics();
    metrics.set_connected(true);
    let mut receiving = pin!(receive(incoming, coordinator_end.sender));
    let mut serving = pin!(worker.serve(worker_end, drain));
    let mut received = None;
    let end = loop {
        tokio::select! {
            end = &mut serving => break end,
            lost = &mut receiving, if received.is_none() => received = Some(lost),
        }
    };
    metrics.set_connected(false);
    // The goodbye is on its way: the coordinator ends the session when it has it.
    let received = match received {
        Some(lost) => lost,
        None => tokio::time::timeout(FAREWELL, receiving)
            .await
            .unwrap_or_else(|_| Lost::Connection("the session has ended".to_owned())),
    };
    match end {
        End::Drained => Ok(()),
        End::LinkLost => Err(received),
    }
}

/// Takes messages off the wire until it ends, and says why it did.
async fn receive(mut incoming: Streaming<pb::CoordinatorMessage>, to_worker: mpsc::Sender<ToWorker>) -> Lost {
    loop {
        let message = match incoming.message().await {
            Ok(Some(message)) => ToWorker::try_from(message),
            Ok(None) => return Lost::Connection("the coordinator closed the session".to_owned()),
            Err(status) => return status.into(),
        };
        match message {
            Ok(message) => _ = to_worker.send(message).await,
            Err(invalid) => return Lost::Connection(format!("the coordinator sent nonsense: {invalid}")),
        }
    }
}

/// Whether a status was sent by gRPC, and not made up for an answer of HTTP that is none.
#[must_use]
pub fn is_grpc(status: &Status) -> bool {
    // There is no other way to tell them apart.
    let made_up = ["grpc-status header missing", "received message with invalid compression flag"];
    !made_up.iter().any(|text| status.message().contains(text))
}

/// The innermost reason of an error, which is the one that tells ("connection refused").
pub fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
