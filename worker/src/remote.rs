//! Sessions with coordinators across a network.

use std::pin::pin;
use std::time::Duration;

use queens_model::ToWorker;
use queens_proto::client::{Attempt, Connection, Problem, Route, Routes, Search};
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

use queens_counting::{Departure, End, Worker};

pub use crate::backoff::Backoff;

/// A session that lasted this long was a good one: the next attempts begin with short pauses again.
const GOOD_SESSION: Duration = Duration::from_secs(30);

/// The same where there are other coordinators, of which one should soon lead.
const GOOD_SESSION_OF_SEVERAL: Duration = Duration::from_secs(5);

/// How long the coordinator may take to end a session after the worker has.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a worker whose version a coordinator can't use offers what it has counted, before it ends.
const VERSION_PATIENCE: Duration = Duration::from_secs(60);

/// How many coordinators' refusals are remembered.
const MOST_REFUSALS: usize = 32;

/// The largest message accepted.
const LARGEST_MESSAGE: usize = 16 << 20;

/// A coordinator can't use this worker, now or later, and nothing that it has counted is lost by its end, unless no
/// coordinator of this version is there to take it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the coordinator at {coordinator} refused this worker: {reason}")]
pub struct Refused {
    coordinator: String,
    reason: Problem,
}

/// Holds sessions of a worker with whichever of these coordinators leads until `drain` is cancelled or it sends the
/// worker away.
/// Tries again for as long as it takes when there is no connection, and goes on counting meanwhile. So it does when it is
/// refused and has counted something that is not acknowledged.
///
/// # Errors
/// If a coordinator can't use this worker.
pub async fn serve(
    worker: &mut Worker,
    routes: Routes,
    drain: &CancellationToken,
) -> Result<Departure, Refused> {
    serve_by(worker, routes, async |route| route.open().await, drain).await
}

/// The same with connections made otherwise.
///
/// # Errors
/// If a coordinator can't use this worker.
pub async fn serve_through(
    worker: &mut Worker,
    routes: Routes,
    connect: impl AsyncFn(&Endpoint) -> Result<Channel, tonic::transport::Error>,
    drain: &CancellationToken,
) -> Result<Departure, Refused> {
    serve_by(worker, routes, async |route| Ok(connect(route.endpoint()).await?.into()), drain).await
}

async fn serve_by(
    worker: &mut Worker,
    routes: Routes,
    connect: impl AsyncFn(&Route) -> Result<Connection, Problem>,
    drain: &CancellationToken,
) -> Result<Departure, Refused> {
    let are_several = routes.are_several();
    let good_session = if are_several { GOOD_SESSION_OF_SEVERAL } else { GOOD_SESSION };
    let mut search = Search::new(routes);
    let (mut pauses, mut since) = (Backoff::new(are_several), Instant::now());
    let mut refusals = Refusals::default();
    // What has come of the attempts of this round.
    let mut in_vain: Vec<(Route, Lost)> = Vec::new();
    loop {
        let Some(attempt) = search.next(pauses.are_short(since.elapsed())) else {
            let pause = pauses.next(since.elapsed());
            tell(&in_vain, pause);
            rest(pause, drain).await;
            in_vain.clear();
            search.begin();
            continue;
        };
        let (began, mut was_open) = (Instant::now(), false);
        let mut open = || {
            search.leads(&attempt.route);
            was_open = true;
        };
        let lost = match session(worker, &attempt, &connect, &mut open, drain).await {
            Ok(departure) => return Ok(departure),
            Err(lost) => lost,
        };
        let route = attempt.route;
        if matches!(lost, Lost::Problem(Problem::NumberTaken(_))) {
            warn!(reason = %lost, "another worker has this one's number there; drawing another and going on");
            worker.renumber();
        }
        if let Some(reason) = refusals.second(&route, lost.refusal()) {
            if !worker.has_counted() || refusals.is_of_no_use(&lost) {
                return Err(Refused { coordinator: route.uri().to_string(), reason });
            }
            warn!(
                coordinator = %route.uri(), %reason,
                "refused; what is counted and not acknowledged is kept and offered again until this worker is stopped"
            );
        }
        if drain.is_cancelled() {
            info!("leaving without a connection");
            return Ok(if worker.has_something() { Departure::Unreported } else { Departure::Unanswered });
        }
        if are_several && was_open {
            warn!(coordinator = %route.uri(), reason = %lost, "lost the coordinator; looking for the one that leads");
        }
        search.failed(&route, &lost.problem());
        if began.elapsed() >= good_session {
            (pauses, since) = (Backoff::new(are_several), Instant::now());
            if are_several {
                refusals = Refusals::default();
                in_vain.clear();
                // Thousands may have lost it at this moment.
                rest(pauses.next(since.elapsed()), drain).await;
                // It may still lead.
                search.begin();
                continue;
            }
        }
        in_vain.push((route, lost));
    }
}

/// Waits so long, or until the worker is to leave.
async fn rest(pause: Duration, drain: &CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = drain.cancelled() => {}
    }
}

/// Says that nobody was found.
fn tell(in_vain: &[(Route, Lost)], pause: Duration) {
    match in_vain {
        [(route, lost)] => warn!(
            coordinator = %route.uri(), reason = %lost, hint = lost.hint(), next_attempt = ?pause,
            "no connection to the coordinator"
        ),
        several => {
            let reasons: Vec<String> =
                several.iter().map(|(route, lost)| format!("{}: {lost}", route.uri())).collect();
            let reasons = reasons.join("; ");
            warn!(%reasons, next_attempt = ?pause, "no connection to a coordinator that leads");
        }
    }
}

/// What each coordinator had against this worker when it was tried last, if that is why it did not work.
#[derive(Debug, Default)]
struct Refusals {
    last: Vec<(Route, Problem)>,
    /// Since when coordinators refuse its version, if they do.
    unfit_since: Option<Instant>,
}

impl Refusals {
    /// Remembers what has come of an attempt; the reason, if that is the second refusal for it from this coordinator.
    /// What was garbled on its way may be refused once.
    fn second(&mut self, route: &Route, refusal: Option<&Problem>) -> Option<Problem> {
        let before = self.last.iter().position(|(other, _)| other.uri() == route.uri());
        let before = before.map(|place| self.last.remove(place).1);
        let refusal = refusal?;
        if before.as_ref() == Some(refusal) {
            return before;
        }
        if self.last.len() == MOST_REFUSALS {
            self.last.remove(0);
        }
        self.last.push((route.clone(), refusal.clone()));
        None
    }

    /// Whether its version is refused and has been for long: what it has counted can be told to nobody here, and another
    /// version of its program waits to be started in its place.
    fn is_of_no_use(&mut self, lost: &Lost) -> bool {
        if !matches!(lost, Lost::Unfit(_)) {
            self.unfit_since = None;
            return false;
        }
        self.unfit_since.get_or_insert_with(Instant::now).elapsed() >= VERSION_PATIENCE
    }
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
    /// The coordinator can't work with this version of the worker.
    #[error("{0}")]
    Unfit(Problem),
    /// Something went wrong.
    #[error(transparent)]
    Problem(#[from] Problem),
}

impl From<Status> for Lost {
    fn from(status: Status) -> Self {
        // What the coordinator itself has said has no source.
        let is_unfit =
            status.code() == Code::FailedPrecondition && std::error::Error::source(&status).is_none();
        let problem = Problem::from(status);
        if is_unfit { Self::Unfit(problem) } else { Self::Problem(problem) }
    }
}

impl Lost {
    /// What the coordinator has against this worker, if that is why.
    fn refusal(&self) -> Option<&Problem> {
        match self {
            Self::Unfit(problem)
            | Self::Problem(problem @ (Problem::Refused(_) | Problem::Unimplemented)) => Some(problem),
            _ => None,
        }
    }

    /// The same as anybody meets it.
    fn problem(&self) -> Problem {
        match self {
            Self::Unfit(problem) | Self::Problem(problem) => problem.clone(),
            // Or the worker was stuck, and no answers came.
            Self::NoFarewell => Problem::Silent,
            Self::Closed | Self::ToldToLeave => Problem::Connection(self.to_string()),
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

/// Connects and holds one session, and says when it is open; how the worker has left, if it has.
async fn session(
    worker: &mut Worker,
    attempt: &Attempt,
    connect: &impl AsyncFn(&Route) -> Result<Connection, Problem>,
    opened: &mut impl FnMut(),
    drain: &CancellationToken,
) -> Result<Departure, Lost> {
    let mut too_late = pin!(too_late(attempt.patience));
    let connection = tokio::select! {
        connection = connect(&attempt.route) => connection?,
        () = &mut too_late => return Err(Problem::Silent.into()),
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
    let answer = loop {
        tokio::select! {
            answer = &mut opening => break answer.map_err(Lost::from),
            () = &mut too_late => break Err(Problem::Silent.into()),
            end = &mut serving, if ended.is_none() => ended = Some(end),
            () = tokio::time::sleep(DRAIN_TIMEOUT), if ended.is_some() => return Err(Lost::NoFarewell),
        }
    };
    let incoming = match answer {
        Ok(answer) => answer.into_inner(),
        Err(problem) => {
            drop(coordinator_end.sender);
            if ended.is_none() {
                // It may wait for room on a link that nobody reads.
                _ = tokio::time::timeout(DRAIN_TIMEOUT, serving).await;
            }
            return Err(problem);
        }
    };
    info!(coordinator = %attempt.route.uri(), "connected");
    opened();
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
    match end {
        End::Left(departure) => Ok(departure),
        End::LinkLost => Err(match received {
            Some(lost) => lost,
            None => tokio::time::timeout(DRAIN_TIMEOUT, receiving).await.unwrap_or(Lost::NoFarewell),
        }),
    }
}

/// Returns when an attempt has taken too long, if there is a limit.
async fn too_late(patience: Option<Duration>) {
    match patience {
        Some(patience) => tokio::time::sleep(patience).await,
        None => std::future::pending().await,
    }
}

/// Takes messages off the wire until it ends, and says why it did.
async fn receive(mut incoming: Streaming<pb::CoordinatorMessage>, to_worker: mpsc::Sender<ToWorker>) -> Lost {
    loop {
        let message = match incoming.message().await {
            Ok(Some(message)) => ToWorker::try_from(message),
            Ok(None) => return Lost::Closed,
            Err(status) => return status.into(),
        };
        match message {
            Ok(message) => _ = to_worker.send(message).await,
            Err(invalid) => return Problem::from(invalid).into(),
        }
    }
}
