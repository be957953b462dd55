//! Runs a worker's sessions with coordinators in a network, and reconnects.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use queens_model::ToWorker;
use queens_proto::client::{Attempt, Connection, Problem, Route, Routes, Search};
use queens_proto::convert::in_pieces;
use queens_proto::pb;
use queens_proto::pb::coordinator_message::Message;
use queens_proto::pb::workers_client::WorkersClient;
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};
use tracing::{Instrument, Span, error, info, info_span, warn};

use queens_counting::{Departure, End, LeaveRequests, Worker};

pub use crate::backoff::Backoff;
use crate::lost_session::{Lost, Refusals};
use crate::news::News;
use crate::own_numbers::OwnNumbers;
use crate::sleep_monitor::slept;

/// The duration of a good session: after it, attempts begin with short pauses again.
const GOOD_SESSION: Duration = Duration::from_secs(30);

/// The duration of a good session with several coordinators, one of which should lead soon.
const GOOD_SESSION_OF_SEVERAL: Duration = Duration::from_secs(5);

/// The timeout for the coordinator to end a session after the worker has ended it.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest accepted message, in bytes.
const LARGEST_MESSAGE: usize = 16 << 20;

/// A coordinator can't use this worker, now or later. The worker loses no counts by ending, unless no coordinator
/// supports its version.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the coordinator at {coordinator} refused this worker: {reason}")]
pub struct Refused {
    coordinator: String,
    /// In words, with the page that the coordinator named last.
    reason: String,
}

/// Runs sessions of all workers of this process, each with connections of its own, until all have left. Returns the
/// least fortunate departure. If one is refused, the others go on.
///
/// Each has sessions with the leading coordinator until it is requested to leave for good or the coordinator dismisses
/// it. Without a connection, it goes on counting and retries without limit, also when `routes` change. A refused worker
/// also retries while it has counts that are not acknowledged, and so does a paused one.
///
/// # Errors
/// If a coordinator can't use any of the workers.
pub async fn serve_all(
    workers: &mut [(String, Worker)],
    routes: &watch::Receiver<Routes>,
    news: &News,
    requests: &LeaveRequests,
    own: &OwnNumbers,
) -> Result<Departure, Refused> {
    let are_several = workers.len() > 1;
    let serve_one = async |worker: &mut Worker| {
        let served =
            serve_by(worker, routes.clone(), async |route| route.open().await, news, requests, own).await;
        match &served {
            Ok(departure) if are_several => info!(?departure, "left"),
            Err(reason) if are_several => error!(%reason, "the other workers of this process go on"),
            _ => {}
        }
        served
    };
    let served = workers.iter_mut().map(|(name, worker)| {
        let span = if are_several { info_span!("worker", %name) } else { Span::none() };
        serve_one(worker).instrument(span)
    });
    let (left, refused): (Vec<_>, Vec<_>) = join_all(served).await.into_iter().partition(Result::is_ok);
    match (left.into_iter().flatten().max(), refused.into_iter().find_map(Result::err)) {
        (None, Some(refused)) => Err(refused),
        (departure, _) => Ok(departure.unwrap_or(Departure::Recorded)),
    }
}

/// Runs sessions over connections that `connect` makes.
///
/// # Errors
/// If a coordinator can't use this worker.
pub async fn serve_through(
    worker: &mut Worker,
    routes: Routes,
    connect: impl AsyncFn(&Endpoint) -> Result<Channel, tonic::transport::Error>,
    requests: &LeaveRequests,
    own: &OwnNumbers,
) -> Result<Departure, Refused> {
    let (_known, routes) = watch::channel(routes);
    let connect = async |route: &Route| Ok(connect(route.endpoint()).await?.into());
    serve_by(worker, routes, connect, &News::default(), requests, own).await
}

async fn serve_by(
    worker: &mut Worker,
    mut routes: watch::Receiver<Routes>,
    connect: impl AsyncFn(&Route) -> Result<Connection, Problem>,
    news: &News,
    requests: &LeaveRequests,
    own: &OwnNumbers,
) -> Result<Departure, Refused> {
    let drain = &requests.drain;
    let mut search = Search::new(routes.borrow_and_update().clone());
    let mut are_several = search.routes().are_several();
    let (mut pauses, mut since) = (Backoff::new(are_several), Instant::now());
    let mut refusals = Refusals::default();
    // The failed attempts of this round.
    let mut in_vain: Vec<(Route, Lost)> = Vec::new();
    loop {
        if routes.has_changed().unwrap_or(false) {
            search = Search::new(routes.borrow_and_update().clone());
            are_several = search.routes().are_several();
            (pauses, since) = (Backoff::new(are_several), Instant::now());
            refusals = Refusals::default();
            in_vain.clear();
        }
        if requests.pause.is_set() {
            worker.pause();
            if !worker.has_counted() {
                tokio::select! {
                    () = requests.pause.cleared() => {}
                    () = drain.cancelled() => return Ok(departure_of_paused(worker)),
                }
                since = Instant::now();
                continue;
            }
        } else {
            worker.resume();
        }
        let Some(attempt) = search.next(pauses.are_short(since.elapsed())) else {
            let pause = pauses.next(since.elapsed());
            tell(&in_vain, pause, news);
            if rest(worker, pause, &routes, requests).await {
                (pauses, since) = (Backoff::new(are_several), Instant::now());
            }
            in_vain.clear();
            search.begin();
            continue;
        };
        let (began, mut was_open) = (Instant::now(), false);
        let mut open = || {
            search.leads(&attempt.route);
            news.connected();
            was_open = true;
        };
        let lost = match session(worker, &attempt, &connect, &mut open, news, requests, own).await {
            Ok(Some(departure)) => return Ok(departure),
            Ok(None) => {
                info!("paused; everything it counted is recorded");
                // Its next session, however soon, begins like the first.
                (pauses, since) = (Backoff::new(are_several), Instant::now());
                in_vain.clear();
                search.begin();
                continue;
            }
            Err(lost) => lost,
        };
        let route = attempt.route;
        if matches!(lost, Lost::Problem(Problem::NumberTaken(_))) {
            warn!(reason = %lost, "another worker has this one's number there; drawing another and going on");
            worker.renumber();
        }
        if let Some(reason) = refusals.second(&route, lost.refusal()) {
            if !worker.has_counted() || refusals.is_of_no_use(&lost) {
                let reason = news.with_page(&reason.to_string());
                return Err(Refused { coordinator: route.uri().to_string(), reason });
            }
            warn!(
                coordinator = %route.uri(), %reason,
                "refused; unacknowledged counts are kept, and offered again until this worker is stopped"
            );
            news.keep(format!("refused: {reason}"));
        }
        if drain.is_cancelled() {
            info!("leaving without a connection");
            return Ok(if worker.has_something() { Departure::Unreported } else { Departure::Unanswered });
        }
        if are_several && was_open {
            warn!(coordinator = %route.uri(), reason = %lost, "lost the coordinator; looking for the one that leads");
        }
        search.failed(&route, &lost.problem());
        let good_session = if are_several { GOOD_SESSION_OF_SEVERAL } else { GOOD_SESSION };
        if began.elapsed() >= good_session || matches!(lost, Lost::Slept(_)) {
            (pauses, since) = (Backoff::new(are_several), Instant::now());
            if are_several {
                refusals = Refusals::default();
                in_vain.clear();
                // Thousands of workers may have lost it at this moment.
                rest(worker, pauses.next(since.elapsed()), &routes, requests).await;
                // The lost coordinator may still lead.
                search.begin();
                continue;
            }
        }
        in_vain.push((route, lost));
    }
}

/// Returns how a paused worker leaves that has no session.
fn departure_of_paused(worker: &Worker) -> Departure {
    if worker.has_counted() { Departure::Unreported } else { Departure::Recorded }
}

/// Waits for this time, for other routes, or for a request to leave. A request to pause stops the counting. Returns
/// whether the machine slept meanwhile: the network may be another one now.
async fn rest(
    worker: &mut Worker,
    time: Duration,
    routes: &watch::Receiver<Routes>,
    LeaveRequests { drain, pause }: &LeaveRequests,
) -> bool {
    // A clone, as the caller has to notice the change, too.
    let mut routes = routes.clone();
    let changed = async {
        if routes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = changed => {}
        _ = slept() => return true,
        () = drain.cancelled() => {}
        () = pause.set(), if !worker.begins_nothing() => worker.pause(),
    }
    false
}

/// Logs the failed attempts of a round, unless they failed for the same reasons as those before.
fn tell(in_vain: &[(Route, Lost)], pause: Duration, news: &News) {
    let reasons: Vec<String> = match in_vain {
        [(_, lost)] => vec![lost.to_string()],
        several => several.iter().map(|(route, lost)| format!("{}: {lost}", route.uri())).collect(),
    };
    let reasons = reasons.join("; ");
    if !news.is_new_failure(&reasons) {
        return;
    }
    match in_vain {
        [(route, lost)] => warn!(
            coordinator = %route.uri(), reason = %lost, hint = lost.hint(), next_attempt = ?pause,
            "no connection to the coordinator"
        ),
        _ => warn!(%reasons, next_attempt = ?pause, "no connection to a coordinator that leads"),
    }
}

/// Connects and runs one session. Calls `opened` when it is open. Returns how the worker has left; `None` if it has
/// left for a while.
async fn session(
    worker: &mut Worker,
    attempt: &Attempt,
    connect: &impl AsyncFn(&Route) -> Result<Connection, Problem>,
    opened: &mut impl FnMut(),
    news: &News,
    requests: &LeaveRequests,
    own: &OwnNumbers,
) -> Result<Option<Departure>, Lost> {
    let LeaveRequests { drain, pause } = requests;
    let mut too_late = pin!(too_late(attempt.patience));
    let mut connecting = pin!(connect(&attempt.route));
    let connection = loop {
        tokio::select! {
            connection = &mut connecting => break connection?,
            () = &mut too_late => return Err(Problem::Silent.into()),
            () = drain.cancelled() => return Err(Lost::ToldToLeave),
            () = pause.set(), if !worker.begins_nothing() => worker.pause(),
        }
    };
    let mut client = WorkersClient::new(connection).max_decoding_message_size(LARGEST_MESSAGE);
    let asker = client.clone();
    let is_connected = worker.is_connected();
    let (serving, from_worker, to_worker) = worker.begin(requests);
    let outgoing = ReceiverStream::new(from_worker);
    let outgoing = outgoing.flat_map(|message| tokio_stream::iter(in_pieces(message)));
    let mut serving = pin!(serving);
    // The Hello goes out with the request. Some proxies hold back the beginning of a response until its next bytes, and
    // none follow before the Hello.
    let mut opening = pin!(client.session(outgoing));
    let mut ended = None;
    let answer = loop {
        tokio::select! {
            answer = &mut opening => break answer.map_err(Lost::from),
            time = slept() => break Err(Lost::Slept(time)),
            () = &mut too_late => break Err(Problem::Silent.into()),
            end = &mut serving, if ended.is_none() => ended = Some(end),
            () = tokio::time::sleep(DRAIN_TIMEOUT), if ended.is_some() => return Err(Lost::NoFarewell),
        }
    };
    let incoming = match answer {
        Ok(answer) => answer.into_inner(),
        Err(problem) => {
            drop(to_worker);
            if ended.is_none() {
                // The worker may wait for capacity on a link without a reader.
                _ = tokio::time::timeout(DRAIN_TIMEOUT, serving).await;
            }
            return Err(problem);
        }
    };
    info!(coordinator = %attempt.route.uri(), "connected");
    opened();
    is_connected.store(true, Ordering::Relaxed);
    let mut receiving = pin!(receive(incoming, news, to_worker));
    let mut asking = pin!(own.ask_by(asker));
    let mut received = None;
    let end = loop {
        if let Some(end) = ended {
            break end;
        }
        tokio::select! {
            end = &mut serving => break end,
            lost = &mut receiving, if received.is_none() => received = Some(lost),
            never = &mut asking => match never {},
        }
    };
    is_connected.store(false, Ordering::Relaxed);
    match end {
        End::Left(departure) => Ok(Some(departure)),
        End::Paused => Ok(None),
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

/// Passes messages from the network to the worker until the stream ends. Returns why it ended.
async fn receive(
    mut incoming: Streaming<pb::CoordinatorMessage>,
    news: &News,
    to_worker: mpsc::Sender<ToWorker>,
) -> Lost {
    let mut slept = pin!(slept());
    loop {
        let received = tokio::select! {
            received = incoming.message() => received,
            time = &mut slept => return Lost::Slept(time),
        };
        let message = match received {
            Ok(Some(pb::CoordinatorMessage { message: Some(Message::Notice(notice)) })) => {
                news.hear(&notice.into());
                continue;
            }
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
