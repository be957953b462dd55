//! A worker's gRPC session: forwards messages between the stream and the event loop.

use std::error::Error;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use queens_event_loop::{Handle, OpenSession, Stopped};
use queens_ledger::WorkerRefusal;
use queens_model::{Hello, Notice, ToCoordinator, ToWorker};
use queens_platform::LogThrottle;
use queens_proto::convert::{HeldPieces, InvalidMessage};
use queens_proto::pb;
use queens_proto::pb::workers_server::Workers;
use queens_proto::pb::{coordinator_message, worker_message};
use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};
use tracing::{debug, warn};

use super::own_contribution::own_contribution;
use super::worker_news::WorkerNews;
use crate::access::{Authenticator, Caller, REVOKED};
use crate::refusal::RequestRefusal;

/// Messages to a worker that may be queued for its connection.
const OUTGOING: usize = 64;

/// How long a session may take to end after its connection is lost.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an ended session still counts towards its invitation's quota.
const LINGER: Duration = Duration::from_secs(5);

/// How long after a change workers are told why they may have nothing to count: the leases of a new job come first.
const SETTLING: Duration = Duration::from_millis(500);

/// How long a session may take until its Hello, and how long the rest of the held leases may then take.
const HELLO: Duration = Duration::from_secs(10);
const HELD: Duration = Duration::from_secs(30);

pub(super) struct WorkersService {
    handle: Handle,
    authenticator: Authenticator,
    news: WorkerNews,
    refusals: Arc<LogThrottle>,
}

impl WorkersService {
    pub(super) fn new(
        handle: Handle,
        authenticator: Authenticator,
        news: WorkerNews,
        refusals: Arc<LogThrottle>,
    ) -> Self {
        Self { handle, authenticator, news, refusals }
    }
}

#[tonic::async_trait]
impl Workers for WorkersService {
    type SessionStream = ReceiverStream<Result<pb::CoordinatorMessage, Status>>;

    async fn session(
        &self,
        request: Request<Streaming<pb::WorkerMessage>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let (outgoing, stream) = mpsc::channel(OUTGOING);
        let caller = Caller::of(request.extensions())?.clone();
        let peer = caller.address().map_or_else(|| "unknown".to_owned(), |address| address.to_string());
        let worker = Arc::new(OnceLock::new());
        let heard = Heard {
            authenticator: self.authenticator.clone(),
            caller: caller.clone(),
            name: worker.clone(),
            news: self.news.clone(),
            outgoing,
        };
        let (handle, refusals) = (self.handle.clone(), self.refusals.clone());
        tokio::spawn(async move {
            let ended = run_session(handle, request.into_inner(), heard).await;
            if worker.get().is_some() {
                // The ledger keeps a disconnected worker's leases for a while: reconnecting must not circumvent the
                // quota.
                tokio::spawn(async move {
                    sleep(LINGER).await;
                    drop(caller);
                });
            }
            let Some(status) = ended else { return };
            let worker = worker.get().map_or("unknown", String::as_str);
            // The event loop logs lost connections.
            if status.source().is_some() {
                debug!(peer, worker, reason = status.message(), "session broke off");
            } else if let Some(left_out) = refusals.allows() {
                warn!(peer, worker, reason = status.message(), left_out, "session ended");
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn get_own_contribution(
        &self,
        request: Request<pb::GetOwnContributionRequest>,
    ) -> Result<Response<pb::OwnContribution>, Status> {
        let (caller, asked) = (Caller::of(request.extensions())?, request.get_ref());
        Ok(Response::new(own_contribution(&self.handle, &self.authenticator, caller, asked).await?))
    }
}

/// What a session knows about its worker.
struct Heard {
    authenticator: Authenticator,
    /// Determines the names under which the worker may report.
    caller: Caller,
    /// The worker's name, after its Hello.
    name: Arc<OnceLock<String>>,
    news: WorkerNews,
    outgoing: Outgoing,
}

impl Heard {
    fn read(&self, message: pb::WorkerMessage) -> Result<ToCoordinator, Status> {
        ToCoordinator::try_from(message).map_err(|invalid| match invalid {
            InvalidMessage::Protocol { .. } => self.news.unsupported(&status(invalid)),
            _ => status(invalid),
        })
    }

    /// Notes who the worker is, and tells it if it is too old.
    ///
    /// # Errors
    /// If it may not have its name.
    async fn introduce(&self, hello: &Hello) -> Result<(), Status> {
        _ = self.name.set(hello.name.to_string());
        // Active before the name is bound: binding takes a while when thousands of workers connect at once.
        self.authenticator.use_name(&self.caller, &hello.name).await?;
        if let Some(notice) = self.news.of_version(hello.build.as_str()) {
            _ = self.outgoing.send(Ok(message_of(notice))).await;
        }
        Ok(())
    }

    /// Reads the Hello of a session, and further leases that the worker holds. What comes in pieces takes megabytes: a
    /// caller's sessions take turns, until the result is dropped.
    async fn hello(&self, incoming: &mut Streaming<pb::WorkerMessage>) -> Result<Option<FullHello>, Status> {
        let no_hello = |_| Status::deadline_exceeded(format!("no Hello came within {} s", HELLO.as_secs()));
        let Some(first) = timeout(HELLO, incoming.message()).await.map_err(no_hello)?? else {
            return Ok(None);
        };
        let more = has_more(&first);
        let ToCoordinator::Hello(hello) = self.read(first)? else {
            return Err(refused(&WorkerRefusal::NoHello));
        };
        if !more {
            return Ok(Some((hello, None)));
        }
        let rest = async {
            let turn = self.caller.hello_turn().await;
            let mut pieces = HeldPieces::of(hello);
            while let Some(message) = incoming.message().await? {
                if !pieces.add(message).map_err(status)? {
                    return Ok(Some((pieces.whole(), Some(turn))));
                }
            }
            Ok(None)
        };
        let too_late =
            || format!("the rest of the leases that it holds did not come within {} s", HELD.as_secs());
        timeout(HELD, rest).await.unwrap_or_else(|_| Err(Status::deadline_exceeded(too_late())))
    }

    fn refused(&self, refusal: &WorkerRefusal) -> Status {
        let status = refused(refusal);
        match refusal {
            WorkerRefusal::Decomposition { .. } => self.news.unsupported(&status),
            _ => status,
        }
    }
}

/// A Hello with all held leases, and the caller's turn if it came in pieces.
type FullHello = (Box<Hello>, Option<OwnedMutexGuard<()>>);

/// Returns whether more held leases follow a Hello.
fn has_more(hello: &pb::WorkerMessage) -> bool {
    let Some(worker_message::Message::Hello(hello)) = &hello.message else { return false };
    hello.held.as_ref().is_some_and(|held| held.more)
}

/// Messages to a worker, and the reason why they end.
type Outgoing = mpsc::Sender<Result<pb::CoordinatorMessage, Status>>;

/// Runs a session until either side ends it. Returns the reason, unless the worker ended it.
async fn run_session(handle: Handle, incoming: Streaming<pb::WorkerMessage>, heard: Heard) -> Option<Status> {
    let (caller, outgoing, stop) = (heard.caller.clone(), heard.outgoing.clone(), CancellationToken::new());
    let mut serving = tokio::spawn(serve(handle, incoming, heard, stop.clone()));
    let mut has_ended = false;
    let reason = tokio::select! {
        // This must not wait for pending answers, which a stalled worker may never read.
        () = caller.ended() => Some(Status::permission_denied(REVOKED)),
        () = outgoing.closed() => None,
        end = &mut serving => {
            has_ended = true;
            end.ok().and_then(Result::err)
        }
    };
    stop.cancel();
    if let Some(status) = &reason {
        // A worker that does not read the earlier messages would not read this one either.
        _ = timeout(DRAIN_TIMEOUT, outgoing.send(Err(status.clone()))).await;
    }
    // While the store can't write, the session waits for the event loop. Abandoned sessions must not pile up meanwhile;
    // the event loop notices at its next message.
    if !has_ended && timeout(DRAIN_TIMEOUT, &mut serving).await.is_err() {
        serving.abort();
    }
    reason
}

/// Passes messages between a worker and the event loop until the worker ends the session, or `stop` is cancelled.
///
/// # Errors
/// If the stream breaks, a message is invalid or too large, no Hello arrives in time, or the coordinator refuses the
/// worker or closes the session.
async fn serve(
    handle: Handle,
    mut incoming: Streaming<pb::WorkerMessage>,
    heard: Heard,
    stop: CancellationToken,
) -> Result<(), Status> {
    let hello = tokio::select! {
        hello = heard.hello(&mut incoming) => hello?,
        () = stop.cancelled() => None,
    };
    let Some((hello, turn)) = hello else { return Ok(()) };
    heard.introduce(&hello).await?;
    let opened = handle.open(*hello, heard.caller.party()).await.map_err(|Stopped| closed())?;
    let (session, messages) = opened.map_err(|refusal| heard.refused(&refusal))?;
    drop(turn);
    let forwarding = forward(messages, heard.outgoing.clone(), heard.news.clone());
    let end = tokio::select! {
        end = receive(incoming, &heard, &session, forwarding) => end,
        () = tell(heard.news.clone(), &heard.outgoing) => Ok(()),
        () = stop.cancelled() => Ok(()),
    };
    _ = timeout(DRAIN_TIMEOUT, session.disconnect()).await;
    end
}

/// Tells a worker at each change why it would have nothing to count, until the session is gone. The worker shows that
/// while it holds no lease.
async fn tell(mut news: WorkerNews, outgoing: &Outgoing) {
    news.begin();
    loop {
        news.changed().await;
        sleep(SETTLING).await;
        if let Some(notice) = news.reason_to_wait()
            && outgoing.send(Ok(message_of(notice))).await.is_err()
        {
            return;
        }
    }
}

fn message_of(notice: Notice) -> pb::CoordinatorMessage {
    pb::CoordinatorMessage { message: Some(coordinator_message::Message::Notice(notice.into())) }
}

/// Passes messages to the event loop until the worker ends the session, while `forwarding` passes those to the worker.
///
/// # Errors
/// See [`serve`].
async fn receive(
    mut incoming: Streaming<pb::WorkerMessage>,
    heard: &Heard,
    session: &OpenSession,
    forwarding: impl Future<Output = ()>,
) -> Result<(), Status> {
    let mut forwarding = pin!(forwarding);
    loop {
        let message = tokio::select! {
            message = incoming.message() => message?,
            () = &mut forwarding => return Err(closed()),
        };
        let Some(message) = message else { return Ok(()) };
        let message = heard.read(message)?;
        let is_goodbye = matches!(message, ToCoordinator::Goodbye);
        session.pass(message).await.map_err(|refusal| heard.refused(&refusal))?;
        if is_goodbye {
            // The last pending message is the answer to that.
            _ = timeout(DRAIN_TIMEOUT, forwarding).await;
            return Ok(());
        }
    }
}

fn closed() -> Status {
    Status::aborted("the coordinator has closed this session")
}

fn status(invalid: InvalidMessage) -> Status {
    RequestRefusal::from(invalid).into()
}

/// Sends messages until the event loop closes the session or the stream is gone.
async fn forward(mut to_worker: mpsc::Receiver<ToWorker>, outgoing: Outgoing, news: WorkerNews) {
    while let Some(message) = to_worker.recv().await {
        let notice = news.about(&message).map(message_of);
        let is_notice = matches!(message, ToWorker::Notice(_));
        let message = (!is_notice).then(|| message.into());
        for message in notice.into_iter().chain(message) {
            if outgoing.send(Ok(message)).await.is_err() {
                return;
            }
        }
    }
}

/// Maps a refusal to a status. Workers give up on a failed precondition, which a retry can't change. They react to the
/// code if another thread count would help.
fn refused(refusal: &WorkerRefusal) -> Status {
    let message = refusal.to_string();
    match refusal {
        WorkerRefusal::Decomposition { .. }
        | WorkerRefusal::NoThreads
        | WorkerRefusal::TooManyThreads { .. } => Status::failed_precondition(message),
        WorkerRefusal::Full { .. } => Status::resource_exhausted(message),
        WorkerRefusal::Unknown(_) => Status::aborted(message),
        WorkerRefusal::Another(_) => Status::already_exists(message),
        WorkerRefusal::NoHello
        | WorkerRefusal::SecondHello
        | WorkerRefusal::UnknownSpan { .. }
        | WorkerRefusal::Impossible(_) => Status::invalid_argument(message),
    }
}
