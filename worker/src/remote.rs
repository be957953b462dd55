//! Sessions with a coordinator across a network.

use std::pin::pin;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use queens_messages::ToWorker;
use queens_proto::client::{Connection, Problem, Route};
use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::{link, pb};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};
use tracing::{info, warn};

use crate::session::End;
use crate::worker::Worker;

/// Pauses between attempts grow from the first to the second, and each is longer by any share of itself, so that
/// thousands of workers that lost their coordinator together do not come back together. Nobody waits for half a minute.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(12));

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
    reason: Problem,
}

impl Worker {
    /// Holds sessions with the coordinator that `route` leads to until `drain` is cancelled or the coordinator sends it away.
    /// Tries again for as long as it takes when there is no connection, and goes on counting meanwhile.
    ///
    /// # Errors
    /// If the coordinator can't use this worker.
    pub async fn serve_remote(&mut self, route: &Route, drain: &CancellationToken) -> Result<(), Refused> {
        self.serve_by(route.endpoint(), async || route.open().await, drain).await
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
        self.serve_by(endpoint, async || Ok(connect().await?.into()), drain).await
    }

    async fn serve_by(
        &mut self,
        endpoint: &Endpoint,
        connect: impl AsyncFn() -> Result<Connection, Problem>,
        drain: &CancellationToken,
    ) -> Result<(), Refused> {
        let mut pauses = pauses();
        let mut refused = None;
        loop {
            let began = Instant::now();
            let Err(lost) = session(self, endpoint, &connect, drain).await else { return Ok(()) };
            // What was garbled on its way may be refused once.
            if let Some(reason) = lost.refusal()
                && refused.as_ref() == Some(reason)
            {
                return Err(Refused { coordinator: endpoint.uri().to_string(), reason: reason.clone() });
            }
            refused = lost.refusal().cloned();
            if drain.is_cancelled() {
                if self.has_something() {
                    warn!("leaving without a connection: what was counted since the last report is lost");
                } else {
                    info!("leaving without a connection; there was nothing to report");
                }
                return Ok(());
            }
            if began.elapsed() >= GOOD_SESSION {
                pauses = self::pauses();
            }
            let pause = pauses.next().unwrap_or(PAUSES.1);
            let hint = lost.hint();
            warn!(
                coordinator = %endpoint.uri(), reason = %lost, hint, next_attempt = ?pause,
                "no connection to the coordinator"
            );
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = drain.cancelled() => {}
            }
        }
    }
}

/// How long to wait before each attempt to connect again.
pub fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(PAUSES.0)
        .with_max_delay(PAUSES.1)
        .without_max_times()
        .with_jitter()
        .build()
}

/// Why a session has ended before the worker left.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
enum Lost {
    /// The coordinator has ended it.
    #[error("the coordinator closed the session")]
    Closed,
    /// The worker has left, and the coordinator has not said goodbye.
    #[error("the session has ended")]
    NoFarewell,
    /// The worker was told to leave before there was a session.
    #[error("told to leave")]
    ToldToLeave,
    /// Something went wrong.
    #[error(transparent)]
    Problem(#[from] Problem),
}

impl Lost {
    /// What the coordinator has against this worker, if that is why.
    fn refusal(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem @ (Problem::Refused(_) | Problem::Unimplemented)) => Some(problem),
            _ => None,
        }
    }

    /// What somebody should do about it, if it does not pass by itself.
    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Problem(problem) if problem.is_final() => problem.hint(),
            _ => None,
        }
    }
}

/// Connects and holds one session; `Ok` when the worker has left.
async fn session(
    worker: &mut Worker,
    endpoint: &Endpoint,
    connect: &impl AsyncFn() -> Result<Connection, Problem>,
    drain: &CancellationToken,
) -> Result<(), Lost> {
    let connection = tokio::select! {
        connection = connect() => connection?,
        () = drain.cancelled() => return Err(Lost::ToldToLeave),
    };
    let mut client = WorkersClient::new(connection).max_decoding_message_size(LARGEST_MESSAGE);
    let (worker_end, coordinator_end) = link();
    let outgoing = ReceiverStream::new(coordinator_end.receiver).map(pb::WorkerMessage::from);
    let metrics = worker.metrics();
    let mut serving = pin!(worker.serve(worker_end, drain));
    // The Hello goes out with the request: there are proxies that pass on the beginning of an answer only with what
    // follows it, and nothing follows before the Hello.
    let mut opening = pin!(client.session(outgoing));
    let mut ended = None;
    let opened = loop {
        tokio::select! {
            opened = &mut opening => break opened,
            end = &mut serving, if ended.is_none() => ended = Some(end),
            () = tokio::time::sleep(FAREWELL), if ended.is_some() => return Err(Lost::NoFarewell),
        }
    };
    let incoming = match opened {
        Ok(answer) => answer.into_inner(),
        Err(status) => {
            drop(coordinator_end.sender);
            if ended.is_none() {
                _ = serving.await;
            }
            return Err(Problem::from(status).into());
        }
    };
    info!(coordinator = %endpoint.uri(), "connected");
    metrics.set_connected(true);
    let mut receiving = pin!(receive(incoming, coordinator_end.sender));
    let mut received = None;
    let end = loop {
        if let Some(end) = ended {
            break end;
        }
        tokio::select! {
            end = &mut serving => break end,
            lost = &mut receiving, if received.is_none() => received = Some(lost),
        }
    };
    metrics.set_connected(false);
    // The goodbye is on its way: the coordinator ends the session when it has it.
    let received = match received {
        Some(lost) => lost,
        None => tokio::time::timeout(FAREWELL, receiving).await.unwrap_or(Lost::NoFarewell),
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
            Ok(None) => return Lost::Closed,
            Err(status) => return Problem::from(status).into(),
        };
        match message {
            Ok(message) => _ = to_worker.send(message).await,
            Err(invalid) => return Problem::from(invalid).into(),
        }
    }
}
