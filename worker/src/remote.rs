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

/// What the sessions of all workers of a process share.
#[derive(Clone, Copy, Debug)]
struct Shared<'a> {
    news: &'a News,
    requests: &'a LeaveRequests,
    own: &'a OwnNumbers,
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
    let shared = Shared { news, requests, own };
    let serve_one = async |worker: &mut Worker| {
        let connect = async |route: &Route| route.open().await;
        let served = Reconnection::new(worker, routes.clone(), connect, shared).serve().await;
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
    let shared = Shared { news: &News::default(), requests, own };
    Reconnection::new(worker, routes, connect, shared).serve().await
}

/// Runs a worker's sessions one after another, and the attempts between them.
struct Reconnection<'a, C> {
    worker: &'a mut Worker,
    routes: watch::Receiver<Routes>,
    connect: C,
    shared: Shared<'a>,
    search: Search,
    pauses: Backoff,
    /// Since when there has been no good session, which `pauses` depend on.
    since: Instant,
    refusals: Refusals,
    /// The failed attempts of this round.
    failed: Vec<(Route, Lost)>,
}

impl<'a, C: AsyncFn(&Route) -> Result<Connection, Problem>> Reconnection<'a, C> {
    fn new(
        worker: &'a mut Worker,
        mut routes: watch::Receiver<Routes>,
        connect: C,
        shared: Shared<'a>,
    ) -> Self {
        let search = Search::new(routes.borrow_and_update().clone());
        let pauses = Backoff::new(search.routes().are_several());
        let (since, refusals, failed) = (Instant::now(), Refusals::default(), Vec::new());
        Self { worker, routes, connect, shared, search, pauses, since, refusals, failed }
    }

    fn are_several(&self) -> bool {
        self.search.routes().are_several()
    }

    /// Lets pauses be short again.
    fn restart_pauses(&mut self) {
        (self.pauses, self.since) = (Backoff::new(self.are_several()), Instant::now());
    }

    fn begin_round(&mut self) {
        self.failed.clear();
        self.search.begin();
    }

    async fn serve(mut self) -> Result<Departure, Refused> {
        let LeaveRequests { drain, pause } = self.shared.requests;
        loop {
            if self.routes.has_changed().unwrap_or(false) {
                self.search = Search::new(self.routes.borrow_and_update().clone());
                self.refusals = Refusals::default();
                self.failed.clear();
                self.restart_pauses();
            }
            if pause.is_set() {
                self.worker.pause();
            } else {
                self.worker.resume();
            }
            if pause.is_set() && !self.worker.has_counted() {
                tokio::select! {
                    () = pause.cleared() => self.since = Instant::now(),
                    () = drain.cancelled() => {
                        let has_counted = self.worker.has_counted();
                        return Ok(if has_counted { Departure::Unreported } else { Departure::Recorded });
                    }
                }
                continue;
            }
            let Some(attempt) = self.search.next(self.pauses.are_short(self.since.elapsed())) else {
                self.end_round().await;
                continue;
            };
            let began = Instant::now();
            let mut was_open = false;
            match self.session(&attempt, &mut was_open).await {
                Ok(Some(departure)) => return Ok(departure),
                Ok(None) => {
                    info!("paused; everything it counted is recorded");
                    // Its next session, however soon, begins like the first.
                    self.restart_pauses();
                    self.begin_round();
                }
                Err(lost) => {
                    self.check_refusal(&attempt.route, &lost)?;
                    if drain.is_cancelled() {
                        info!("leaving without a connection");
                        let has_something = self.worker.has_something();
                        return Ok(if has_something { Departure::Unreported } else { Departure::Unanswered });
                    }
                    self.note_loss(attempt.route, lost, began.elapsed(), was_open).await;
                }
            }
        }
    }

    /// Ends a round in which all attempts failed, and waits for the next.
    async fn end_round(&mut self) {
        let pause = self.pauses.next(self.since.elapsed());
        tell(&self.failed, pause, self.shared.news);
        if self.rest(pause).await {
            self.restart_pauses();
        }
        self.begin_round();
    }

    /// Checks whether a coordinator's refusal is final.
    fn check_refusal(&mut self, route: &Route, lost: &Lost) -> Result<(), Refused> {
        if matches!(lost, Lost::Problem(Problem::NumberTaken(_))) {
            warn!(reason = %lost, "another worker has this one's number there; drawing another and going on");
            self.worker.renumber();
        }
        let Some(reason) = self.refusals.second(route, lost.refusal()) else { return Ok(()) };
        if !self.worker.has_counted() || self.refusals.is_of_no_use(lost) {
            let reason = self.shared.news.with_page(&reason.to_string());
            return Err(Refused { coordinator: route.uri().to_string(), reason });
        }
        warn!(
            coordinator = %route.uri(), %reason,
            "refused; unacknowledged counts are kept, and offered again until this worker is stopped"
        );
        self.shared.news.keep(format!("refused: {reason}"));
        Ok(())
    }

    /// Records that an attempt or a session of this duration has failed. After a good session, pauses are short again.
    async fn note_loss(&mut self, route: Route, lost: Lost, duration: Duration, was_open: bool) {
        let are_several = self.are_several();
        if are_several && was_open {
            warn!(coordinator = %route.uri(), reason = %lost, "lost the coordinator; looking for the one that leads");
        }
        self.search.failed(&route, &lost.problem());
        let good_session = if are_several { GOOD_SESSION_OF_SEVERAL } else { GOOD_SESSION };
        let was_good = duration >= good_session || matches!(lost, Lost::Slept(_));
        if was_good {
            self.restart_pauses();
        }
        if was_good && are_several {
            self.refusals = Refusals::default();
            // Thousands of workers may have lost it at this moment.
            let pause = self.pauses.next(self.since.elapsed());
            self.rest(pause).await;
            // The lost coordinator may still lead.
            self.begin_round();
        } else {
            self.failed.push((route, lost));
        }
    }

    /// Waits for this time, for other routes, or for a request to leave. A request to pause stops the counting. Returns
    /// whether the machine slept meanwhile: the network may be another one now.
    async fn rest(&mut self, time: Duration) -> bool {
        let LeaveRequests { drain, pause } = self.shared.requests;
        // A clone, as the caller has to notice the change, too.
        let mut routes = self.routes.clone();
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
            () = pause.set(), if !self.worker.begins_nothing() => self.worker.pause(),
        }
        false
    }

    async fn connect(&mut self, route: &Route) -> Result<Connection, Lost> {
        let LeaveRequests { drain, pause } = self.shared.requests;
        let mut connecting = pin!((self.connect)(route));
        loop {
            tokio::select! {
                connection = &mut connecting => return Ok(connection?),
                () = drain.cancelled() => return Err(Lost::ToldToLeave),
                () = pause.set(), if !self.worker.begins_nothing() => self.worker.pause(),
            }
        }
    }

    /// Connects and runs one session. Sets `was_open` when it is open. Returns how the worker has left; `None` if it
    /// has left for a while.
    async fn session(&mut self, attempt: &Attempt, was_open: &mut bool) -> Result<Option<Departure>, Lost> {
        let mut too_late = pin!(too_late(attempt.patience));
        let connection = tokio::select! {
            connection = self.connect(&attempt.route) => connection?,
            () = &mut too_late => return Err(Problem::Silent.into()),
        };
        let Shared { news, requests, own } = self.shared;
        let mut client = WorkersClient::new(connection).max_decoding_message_size(LARGEST_MESSAGE);
        let asker = client.clone();
        let is_connected = self.worker.is_connected();
        let (serving, from_worker, to_worker) = self.worker.begin(requests);
        let outgoing = ReceiverStream::new(from_worker);
        let outgoing = outgoing.flat_map(|message| tokio_stream::iter(in_pieces(message)));
        let mut serving = pin!(serving);
        // The Hello goes out with the request. Some proxies hold back the beginning of a response until its next bytes,
        // and none follow before the Hello.
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
        self.search.leads(&attempt.route);
        news.connected();
        *was_open = true;
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
