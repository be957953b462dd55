//! A port: accepts connections within its limits, and shakes hands by TLS.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info;
use axum::serve::{IncomingStream, Listener};
use queens_auth::tls_reason;
use queens_platform::LogThrottle;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};
use tokio_stream::Stream;
use tokio_util::either::Either;

use super::connection::Connection;
use super::connection_info::{ConnectionInfo, PortLog};
use super::connection_limits::{Limits, Places};
use super::forwarded::Network;
use super::tls::{AppProtocol, Tls};

/// Timeout of the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How long to wait after a failed accept: file descriptors, mostly, may be free then.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// A listening port. Accepts connections while it is polled.
#[derive(Debug)]
pub(crate) struct Port {
    app_protocol: AppProtocol,
    listener: TcpListener,
    /// `None` for a port without TLS.
    tls: Option<Arc<Tls>>,
    proxies: Arc<[Network]>,
    places: Arc<Places>,
    log: Arc<PortLog>,
    /// Accepted connections, most of them in their TLS handshake; `None` if that failed.
    shaking: JoinSet<Option<Connection>>,
    /// Ends when accepting is tried again.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Port {
    /// Serves on `listener`. Must be called in a runtime.
    pub(crate) fn new(
        app_protocol: AppProtocol,
        listener: TcpListener,
        limits: Limits,
        tls: Option<Arc<Tls>>,
        proxies: Arc<[Network]>,
    ) -> Self {
        let port = match app_protocol {
            AppProtocol::Grpc => "workers and operators",
            AppProtocol::Pages => "pages",
        };
        let log = PortLog { port, refusals: LogThrottle::default(), closings: LogThrottle::default() };
        Self {
            app_protocol,
            listener,
            tls,
            proxies,
            places: Places::new(limits),
            log: Arc::new(log),
            shaking: JoinSet::new(),
            pause: None,
        }
    }

    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<Connection> {
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
            match ready!(self.listener.poll_accept(context)) {
                Ok((stream, peer)) => self.admit(stream, peer.ip()),
                Err(error) => {
                    self.log.say_failed(&error);
                    // Without the pause, this would be a busy loop while the error lasts.
                    self.pause = Some(Box::pin(sleep(ACCEPT_AGAIN)));
                }
            }
        }
    }

    /// Begins the handshake of a connection if there is a place for it, and closes it otherwise.
    fn admit(&mut self, stream: TcpStream, peer: IpAddr) {
        // A failure costs only latency.
        _ = stream.set_nodelay(true);
        // All visitors of a proxy come from its address.
        let is_proxy = self.proxies.iter().any(|network| network.contains(peer));
        let place = match self.places.take((!is_proxy).then_some(peer)) {
            Ok(place) => place,
            Err(reason) => return self.log.say_refused(peer, reason),
        };
        let tls = self.tls.as_ref().map(|tls| tls.acceptor(self.app_protocol));
        let (proxies, log) = (self.proxies.clone(), self.log.clone());
        self.shaking.spawn(async move {
            let (stream, key) = match tls {
                None => (Either::Left(stream), None),
                Some(tls) => match timeout(HANDSHAKE, tls.accept(stream)).await {
                    Ok(Ok(stream)) => {
                        let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                        let key = shown.and_then(queens_auth::Pin::of);
                        (Either::Right(Box::new(stream)), key)
                    }
                    Ok(Err(error)) => {
                        let reason = error.to_string();
                        log.say_refused(peer, &format!("its TLS handshake failed ({})", tls_reason(&reason)));
                        return None;
                    }
                    Err(_) => {
                        log.say_closed(peer, "the TLS handshake took too long");
                        return None;
                    }
                },
            };
            Some(Connection::new(stream, ConnectionInfo::new(peer, key, proxies), log, place))
        });
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
        let peer = connection.info().address();
        (connection, peer)
    }

    fn local_addr(&self) -> io::Result<IpAddr> {
        self.listener.local_addr().map(|address| address.ip())
    }
}

impl connect_info::Connected<IncomingStream<'_, Port>> for ConnectionInfo {
    fn connect_info(stream: IncomingStream<'_, Port>) -> Self {
        stream.io().info().clone()
    }
}
