//! A worker's gRPC session: forwards messages between the stream and the event loop.

use std::collections::BTreeSet;
use std::error::Error;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use queens_auth_server::{AuthContext, Authenticator, NameError, REVOKED};
use queens_connections::{NotYetAtWork, RequestGuard};
use queens_event_loop::Handle;
use queens_ledger::WorkerRefusal;
use queens_model::{LeaseId, Notice, Report, ToCoordinator, ToWorker};
use queens_platform::LogThrottle;
use queens_proto::convert::InvalidMessage;
use queens_proto::pb::coordinator_message;
use queens_proto::pb::workers_server::Workers;
use queens_proto::{link, pb};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinError;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use tracing::{debug, warn};

use super::own_contribution::own_contribution;
use super::refusal::{invalid_message, peer};
use super::worker_news::WorkerNews;

/// Messages to a worker that may be queued for its connection.
const OUTGOING: usize = 64;

/// How long a session may take to end after its connection is lost.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an ended session still counts towards its invitation's quota.
const LINGER: Duration = Duration::from_secs(5);

/// How long a worker is idle before it is told why.
const IDLE: Duration = Duration::from_secs(1);

/// The most leases that a session knows of its worker: two for each of the most threads.
const MOST_HELD: usize = 8192;

/// How long a session may take until its Hello.
const HELLO: Duration = Duration::from_secs(10);

/// The gRPC service for workers.
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
        let peer = peer(request.extensions().get());
        let worker = Arc::new(OnceLock::new());
        let heard = Heard {
            visit: request.extensions().get().cloned(),
            auth: request.extensions().get().cloned(),
            name: worker.clone(),
            news: self.news.clone(),
            held: Held::default(),
            outgoing: outgoing.clone(),
        };
        let (handle, refusals) = (self.handle.clone(), self.refusals.clone());
        let auth = heard.auth.clone();
        tokio::spawn(async move {
            let ended = run_session(handle, request.into_inner(), heard, outgoing).await;
            if let Some(auth) = auth.filter(|_| worker.get().is_some()) {
                // The ledger keeps a disconnected worker's leases for a while: reconnecting must not circumvent the
                // quota.
                tokio::spawn(async move {
                    tokio::time::sleep(LINGER).await;
                    drop(auth);
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
        let mut response = Response::new(ReceiverStream::new(stream));
        response.extensions_mut().insert(NotYetAtWork);
        Ok(response)
    }

    async fn get_own_contribution(
        &self,
        request: Request<pb::GetOwnContributionRequest>,
    ) -> Result<Response<pb::OwnContribution>, Status> {
        let (auth, asked) = (request.extensions().get::<AuthContext>().cloned(), request.get_ref());
        let own = own_contribution(&self.handle, &self.authenticator, auth.as_ref(), asked).await?;
        Ok(Response::new(own))
    }
}

/// What a session knows about its worker.
struct Heard {
    /// The session's request; its connection counts as active from the Hello on.
    visit: Option<RequestGuard>,
    /// Determines the names under which the worker may report.
    auth: Option<AuthContext>,
    /// The worker's name, after its Hello.
    name: Arc<OnceLock<String>>,
    news: WorkerNews,
    /// The leases that its worker holds, as far as the session has seen; absent before its Hello.
    held: Held,
    outgoing: Outgoing,
}

/// The leases that a worker holds; cheap to clone.
#[derive(Clone, Default)]
struct Held(Arc<watch::Sender<Option<BTreeSet<LeaseId>>>>);

impl Held {
    /// Adds a lease, unless there are more than an honest worker holds.
    fn insert(&self, lease: LeaseId) {
        self.change(|held| {
            if held.len() < MOST_HELD {
                held.insert(lease);
            }
        });
    }

    /// Changes the leases. Wakes waiters only when the first one comes or the last one goes.
    fn change(&self, change: impl FnOnce(&mut BTreeSet<LeaseId>)) {
        self.0.send_if_modified(|held| {
            let before = held.as_ref().map(BTreeSet::is_empty);
            let held = held.get_or_insert_default();
            change(held);
            before != Some(held.is_empty())
        });
    }

    /// Waits until the worker holds a lease. Cancel safe.
    async fn busy(&self) {
        _ = self.0.subscribe().wait_for(|held| held.as_ref().is_some_and(|held| !held.is_empty())).await;
    }

    /// Waits until the worker has introduced itself and holds no lease. Cancel safe.
    async fn idle(&self) {
        _ = self.0.subscribe().wait_for(|held| held.as_ref().is_some_and(BTreeSet::is_empty)).await;
    }
}

/// Messages to a worker, and the reason why they end.
type Outgoing = mpsc::Sender<Result<pb::CoordinatorMessage, Status>>;

/// Forwards messages of one session until either side ends it. Returns the reason, unless the worker ended it.
async fn run_session(
    handle: Handle,
    incoming: Streaming<pb::WorkerMessage>,
    heard: Heard,
    outgoing: Outgoing,
) -> Option<Status> {
    let (worker_end, coordinator_end) = link();
    let party = heard.auth.as_ref().and_then(AuthContext::party);
    let mut serving = tokio::spawn(async move { handle.serve(coordinator_end, party).await });
    let forwarding = forward(worker_end.receiver, heard.held.clone(), outgoing.clone(), heard.news.clone());
    let mut forwarding = tokio::spawn(forwarding);
    let mut served = None;
    let (auth, news) = (heard.auth.clone(), heard.news.clone());
    let mut telling = pin!(tell(news.clone(), heard.held.clone(), outgoing.clone()));
    let put_out = async {
        match &auth {
            Some(auth) => auth.ended().await,
            None => std::future::pending().await,
        }
    };
    let reason = tokio::select! {
        // This must not wait for pending answers, which a stalled worker may never read.
        () = put_out => Some(Status::permission_denied(REVOKED)),
        () = &mut telling => None,
        // Both of these drop the worker's end of the link, so that the event loop ends the session.
        received = receive(incoming, heard, worker_end.sender) => received.err(),
        () = outgoing.closed() => None,
        end = &mut serving => {
            served = Some(());
            let refusal = refusal(end, &news);
            if refusal.is_none() {
                // The worker has said goodbye. The last pending message is the answer to that.
                _ = tokio::time::timeout(DRAIN_TIMEOUT, &mut forwarding).await;
            }
            refusal
        }
        // The event loop has closed the session. If it has refused the worker, the reason follows at once.
        _ = &mut forwarding => {
            let end = tokio::time::timeout(DRAIN_TIMEOUT, &mut serving).await;
            served = end.is_ok().then_some(());
            let closed = || Status::aborted("the coordinator has closed this session");
            Some(end.ok().and_then(|end| refusal(end, &news)).unwrap_or_else(closed))
        }
    };
    if let Some(status) = &reason {
        // A worker that does not read the earlier messages would not read this one either.
        _ = tokio::time::timeout(DRAIN_TIMEOUT, outgoing.send(Err(status.clone()))).await;
    }
    forwarding.abort();
    // While the store can't write, the session waits in the event loop. Abandoned sessions must not pile up meanwhile;
    // the event loop notices at its next message.
    if served.is_none() && tokio::time::timeout(DRAIN_TIMEOUT, &mut serving).await.is_err() {
        serving.abort();
    }
    reason
}

fn refusal(end: Result<Result<(), WorkerRefusal>, JoinError>, news: &WorkerNews) -> Option<Status> {
    let refusal = end.ok().and_then(Result::err)?;
    let status = refused(&refusal);
    Some(match refusal {
        WorkerRefusal::Decomposition { .. } => news.unsupported(&status),
        _ => status,
    })
}

/// Tells an idle worker why it has nothing to count, until the session is gone. A worker with leases is told when it has
/// none.
async fn tell(mut news: WorkerNews, held: Held, outgoing: Outgoing) {
    news.begin();
    loop {
        news.changed().await;
        // Between two leases, and after its Hello, a worker has none for a moment.
        loop {
            held.idle().await;
            if tokio::time::timeout(IDLE, held.busy()).await.is_err() {
                break;
            }
        }
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

/// Receives messages until the worker ends the session.
///
/// # Errors
/// If the stream breaks, a message is invalid or too large, or no Hello arrives in time.
async fn receive(
    mut incoming: Streaming<pb::WorkerMessage>,
    heard: Heard,
    to_coordinator: mpsc::Sender<ToCoordinator>,
) -> Result<(), Status> {
    let hello = tokio::time::timeout(HELLO, incoming.message()).await;
    let no_hello = |_| Status::deadline_exceeded(format!("no Hello came within {} s", HELLO.as_secs()));
    let mut next = hello.map_err(no_hello)??;
    while let Some(message) = next {
        let message = ToCoordinator::try_from(message).map_err(|invalid| match invalid {
            InvalidMessage::Protocol { .. } => heard.news.unsupported(&invalid_message(&invalid)),
            _ => invalid_message(&invalid),
        })?;
        if let ToCoordinator::Hello(hello) = &message {
            _ = heard.name.set(hello.name.to_string());
            // Active before the name is bound: binding takes a while when thousands of workers connect at once.
            heard.visit.iter().for_each(RequestGuard::begin_work);
            if let Some(auth) = &heard.auth {
                auth.use_name(&hello.name).await.map_err(not_bound)?;
            }
            heard.held.change(|held| held.extend(hello.held.iter().map(|held| held.lease)));
            if let Some(notice) = heard.news.of_version(hello.build.as_str()) {
                _ = heard.outgoing.send(Ok(message_of(notice))).await;
            }
        }
        if let ToCoordinator::Report(Report { finished, .. }) = &message
            && !finished.is_empty()
        {
            heard.held.change(|held| finished.iter().for_each(|lease| _ = held.remove(lease)));
        }
        if to_coordinator.send(message).await.is_err() {
            return Ok(());
        }
        if let Some(session_budget) =
            heard.auth.as_ref().and_then(AuthContext::session_budget).filter(|it| it.is_taken())
        {
            // The queue is empty, so this message has been processed.
            _ = to_coordinator.reserve_many(to_coordinator.max_capacity()).await;
            session_budget.give_back();
        }
        next = incoming.message().await?;
    }
    Ok(())
}

fn not_bound(reason: NameError) -> Status {
    match reason {
        NameError::Refused(reason) => Status::permission_denied(reason),
        NameError::Unknown(reason) => Status::unavailable(reason),
    }
}

/// Sends messages until the event loop closes the session or the stream is gone.
async fn forward(mut to_worker: mpsc::Receiver<ToWorker>, held: Held, outgoing: Outgoing, news: WorkerNews) {
    while let Some(message) = to_worker.recv().await {
        match &message {
            ToWorker::Lease(lease) => held.insert(lease.id),
            ToWorker::Cancel(lease) => held.change(|held| _ = held.remove(lease)),
            _ => {}
        }
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
