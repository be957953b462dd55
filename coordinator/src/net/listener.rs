//! A port: accepts connections within its limits, and closes those that wait too long.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep};
use tokio_stream::Stream;
use tokio_util::either::Either;
use tokio_util::sync::{CancellationToken, PollSemaphore};

use super::connection::Connection;
use super::connection_table::{Admitted, ConnectionTable, Overdue, QueueLimits};
use super::forwarded::Network;
use super::peer::{ConnectionSlot, Peer, Shared};
use super::tls::{AppProtocol, Tls};

/// How often deadlines are checked. If a check is this late, deadlines are not enforced: the process was suspended and
/// has not read what clients sent.
const CHECK: Duration = Duration::from_secs(1);
const STANDSTILL: Duration = Duration::from_secs(3);

/// How long to wait after a failed accept: file descriptors, mostly, may be free then.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// File descriptors reserved for everything but connections, mostly for the database.
const FILES_KEPT: u64 = 32;

/// Maximal connections to the pages; also at most a quarter of all.
const MOST_TO_PAGES: usize = 1024;

/// Maximal waiting connections of one address; also at most half of all.
const MOST_WAITING: usize = 1024;

/// Maximal connections in their TLS handshake; also at most half of all. One address gets a quarter of that.
const MOST_SHAKING: usize = 1024;

/// Limits on connections that the operator has set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// In total, of all ports.
    pub(crate) connections: Option<NonZeroUsize>,
    /// Waiting connections of one address, for each port.
    pub(crate) waiting: Option<NonZeroUsize>,
    /// TLS handshakes, for each port.
    pub(crate) handshakes: Option<NonZeroUsize>,
}

impl ConnectionLimits {
    /// Returns how many connections `n_files` file descriptors allow, if that is below the set limit.
    pub(crate) fn too_many(self, n_files: u64) -> Option<usize> {
        let allowed = allowed(n_files);
        self.connections.filter(|most| most.get() > allowed).map(|_| allowed)
    }
}

/// Returns how many connections `n_files` file descriptors allow.
fn allowed(n_files: u64) -> usize {
    let n_files = n_files - FILES_KEPT.min(n_files / 2);
    usize::try_from(n_files).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}

/// The connection limits of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// In total.
    pub(crate) n_connections: usize,
    /// Waiting connections of one address.
    pub(crate) n_waiting: usize,
    /// TLS handshakes.
    n_shaking: usize,
}

impl Limits {
    /// Divides the file descriptors between the port for workers and operators, and the port for pages if there is one.
    pub(crate) fn share(n_files: u64, with_pages: bool, most: ConnectionLimits) -> (Self, Self) {
        let n_connections = allowed(n_files).min(most.connections.map_or(usize::MAX, NonZeroUsize::get));
        let n_pages = if with_pages { (n_connections / 4).min(MOST_TO_PAGES) } else { 0 };
        (Self::of(n_connections - n_pages, most), Self::of(n_pages, most))
    }

    fn of(n_connections: usize, most: ConnectionLimits) -> Self {
        let n_connections = n_connections.max(1);
        let half = n_connections.div_ceil(2);
        let n_waiting = most.waiting.map_or(half.min(MOST_WAITING), NonZeroUsize::get);
        let n_shaking = most.handshakes.map_or(half.min(MOST_SHAKING), NonZeroUsize::get);
        Self { n_connections, n_waiting, n_shaking }
    }
}

/// A listening port. Accepts connections while it is polled.
#[derive(Debug)]
pub(crate) struct Port {
    listener: TcpListener,
    /// `None` for a port without TLS.
    tls: Option<(Arc<Tls>, AppProtocol)>,
    /// TLS handshakes in progress; each returns a connection if it succeeds.
    shaking: JoinSet<Option<Connection>>,
    shared: Arc<Shared>,
    places: PollSemaphore,
    /// An accepted connection that waits for a slot, and whether another one was evicted for it.
    arrived: Option<((TcpStream, SocketAddr), bool)>,
    /// Ends when accepting is tried again.
    pause: Option<Pin<Box<Sleep>>>,
    checks: Interval,
    checked: Instant,
}

impl Port {
    /// Serves workers and operators on `listener`. Must be called in a runtime.
    pub(crate) fn for_workers(
        listener: TcpListener,
        limits: Limits,
        tls: Option<Arc<Tls>>,
        proxies: Arc<[Network]>,
    ) -> Self {
        Self::new("workers and operators", listener, limits, tls.map(|tls| (tls, AppProtocol::Grpc)), proxies)
    }

    /// Serves pages on `listener`. Must be called in a runtime.
    pub(crate) fn for_pages(
        listener: TcpListener,
        limits: Limits,
        tls: Option<Arc<Tls>>,
        proxies: Arc<[Network]>,
    ) -> Self {
        Self::new("pages", listener, limits, tls.map(|tls| (tls, AppProtocol::Pages)), proxies)
    }

    fn new(
        name: &'static str,
        listener: TcpListener,
        limits: Limits,
        tls: Option<(Arc<Tls>, AppProtocol)>,
        proxies: Arc<[Network]>,
    ) -> Self {
        let shaking = QueueLimits { in_all: limits.n_shaking, of_address: limits.n_shaking.div_ceil(4) };
        let waiting = QueueLimits { in_all: usize::MAX, of_address: limits.n_waiting };
        let mut checks = tokio::time::interval(CHECK);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            listener,
            tls,
            shaking: JoinSet::new(),
            shared: Arc::new(Shared::new(name, proxies, shaking, waiting)),
            places: PollSemaphore::new(Arc::new(Semaphore::new(limits.n_connections))),
            arrived: None,
            pause: None,
            checks,
            checked: Instant::now(),
        }
    }

    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<Connection> {
        while self.checks.poll_tick(context).is_ready() {
            self.check();
        }
        loop {
            // First, so that earlier clients are served first. This also wakes the task whenever a handshake ends.
            if let Poll::Ready(Some(shaken)) = self.shaking.poll_join_next(context) {
                match shaken {
                    Ok(Some(connection)) => return Poll::Ready(connection),
                    Ok(None) | Err(_) => continue,
                }
            }
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            if self.arrived.is_none() {
                match ready!(self.listener.poll_accept(context)) {
                    Ok(accepted) => self.arrived = Some((accepted, false)),
                    Err(error) => {
                        self.shared.say_failed(&error);
                        // Without the pause, this would be a busy loop while the error lasts.
                        self.pause = Some(Box::pin(tokio::time::sleep(ACCEPT_AGAIN)));
                        continue;
                    }
                }
            }
            let place = match self.places.poll_acquire(context) {
                Poll::Ready(place) => place,
                Poll::Pending => {
                    ready!(self.poll_room());
                    continue;
                }
            };
            if let (Some(((stream, peer), _)), Some(place)) = (self.arrived.take(), place)
                && let Some(connection) = self.admit(stream, peer.ip(), place)
            {
                return Poll::Ready(connection);
            }
        }
    }

    /// Evicts a connection for the new one, which waits for the slot. If none can be evicted, closes the new one.
    fn poll_room(&mut self) -> Poll<()> {
        let Some((_, makes_room)) = &mut self.arrived else { return Poll::Ready(()) };
        if !*makes_room {
            *makes_room = self.shared.table(|table| table.make_room(Instant::now()));
            if *makes_room {
                self.shared.say_closed(1, "there is no room for more, and it has waited longest");
            }
        }
        if *makes_room {
            return Poll::Pending;
        }
        if let Some(((_, peer), _)) = self.arrived.take() {
            self.shared.say_refused(peer.ip(), "there is no room for more");
        }
        Poll::Ready(())
    }

    /// Returns a connection that is ready at once; a TLS connection follows after its handshake.
    fn admit(&mut self, stream: TcpStream, peer: IpAddr, place: OwnedSemaphorePermit) -> Option<Connection> {
        // A failure costs only latency.
        _ = stream.set_nodelay(true);
        let (close, shakes) = (CancellationToken::new(), self.tls.is_some());
        let admit = |table: &mut ConnectionTable| table.admit(Instant::now(), peer, close.clone(), shakes);
        let what = if shakes { "too many TLS handshakes go on" } else { "too many of its address wait" };
        let Some(Admitted { number, instead }) = self.shared.table(admit) else {
            self.shared.say_refused(peer, what);
            return None;
        };
        if instead {
            self.shared.say_closed(1, &format!("{what}, and it has waited longest"));
        }
        let mut place = ConnectionSlot::new(Peer::new(self.shared.clone(), number, peer), place);
        let Some((tls, app_protocol)) = &self.tls else {
            return Some(Connection::new(Either::Left(stream), close, place));
        };
        let acceptor = tls.acceptor(*app_protocol);
        self.shaking.spawn(async move {
            match close.run_until_cancelled(acceptor.accept(stream)).await? {
                Ok(stream) if place.peer().end_handshake() => {
                    let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                    place.know(shown.and_then(queens_auth::Pin::of));
                    Some(Connection::new(Either::Right(Box::new(stream)), close, place))
                }
                Ok(_) => None,
                Err(error) => {
                    place.peer().say_no_handshake(&error);
                    None
                }
            }
        });
        None
    }

    fn check(&mut self) {
        let now = Instant::now();
        let late = now.duration_since(self.checked);
        self.checked = now;
        if late >= STANDSTILL {
            return;
        }
        let Overdue { n_shaking, n_waiting } = self.shared.table(|table| table.close_overdue(now));
        if n_shaking > 0 {
            self.shared.say_closed(n_shaking, "the TLS handshake took too long");
        }
        if n_waiting > 0 {
            self.shared.say_closed(n_waiting, "nothing was asked for in time");
        }
    }
}

impl Stream for Port {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_accept(context).map(|connection| Some(Ok(connection)))
    }
}

impl Listener for Port {
    type Io = Connection;
    type Addr = IpAddr;

    async fn accept(&mut self) -> (Connection, IpAddr) {
        let connection = std::future::poll_fn(|context| self.poll_accept(context)).await;
        let peer = connection.peer().address();
        (connection, peer)
    }

    fn local_addr(&self) -> io::Result<IpAddr> {
        self.listener.local_addr().map(|address| address.ip())
    }
}

impl connect_info::Connected<IncomingStream<'_, Port>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Port>) -> Self {
        stream.io().peer().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_all_files_is_kept_and_pages_get_a_quarter_of_the_rest() {
        let n_connections = |n_files, with_pages| {
            let (workers, pages) = Limits::share(n_files, with_pages, ConnectionLimits::default());
            (workers.n_connections, pages.n_connections)
        };
        assert_eq!(n_connections(64, true), (24, 8));
        assert_eq!(n_connections(1024, true), (744, 248));
        assert_eq!(n_connections(20_000, true), (18_944, 1024));
        assert_eq!(n_connections(20_000, false).0, 19_968);
        assert_eq!(n_connections(0, true), (1, 1));
        assert_eq!(n_connections(u64::MAX, true), (Semaphore::MAX_PERMITS - MOST_TO_PAGES, MOST_TO_PAGES));
        assert_eq!(Limits::share(20_000, true, ConnectionLimits::default()).0.n_waiting, MOST_WAITING);
    }

    #[test]
    fn what_was_said_is_the_most_as_far_as_files_go() {
        let some = |number| NonZeroUsize::new(number);
        let most = ConnectionLimits { connections: some(100), waiting: some(7), handshakes: some(5) };
        let (workers, pages) = Limits::share(1024, true, most);
        assert_eq!(workers, Limits { n_connections: 75, n_waiting: 7, n_shaking: 5 });
        assert_eq!(pages, Limits { n_connections: 25, n_waiting: 7, n_shaking: 5 });
        assert_eq!(most.too_many(1024), None);
        let most = ConnectionLimits { connections: some(1000), ..ConnectionLimits::default() };
        assert_eq!(most.too_many(1024), Some(992));
        assert_eq!(Limits::share(1024, false, most).0.n_connections, 992);
    }
}
