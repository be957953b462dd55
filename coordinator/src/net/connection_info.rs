//! Whom a connection belongs to, the requests on it with their time limit, and the log of its port.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use queens_platform::LogThrottle;
use tracing::warn;

use super::forwarded::{Network, forwarded_for};

/// Timeout of a request, from its head to the beginning of its answer, including its body.
const REQUEST: Duration = Duration::from_secs(15);

/// Creates the answer after a timeout, with this reason.
pub(crate) type TooLate = fn(String) -> Response;

/// What a port says in the log.
#[derive(Debug)]
pub(super) struct PortLog {
    pub(super) port: &'static str,
    pub(super) refusals: LogThrottle,
    pub(super) closings: LogThrottle,
}

impl PortLog {
    pub(super) fn say_refused(&self, peer: IpAddr, reason: &str) {
        if let Some(left_out) = self.refusals.allows() {
            warn!(port = self.port, %peer, left_out, "a connection was closed at once: {reason}");
        }
    }

    pub(super) fn say_failed(&self, error: &io::Error) {
        if let Some(left_out) = self.refusals.allows() {
            warn!(port = self.port, left_out, %error, "cannot accept a connection");
        }
    }

    pub(super) fn say_closed(&self, peer: IpAddr, reason: &str) {
        if let Some(left_out) = self.closings.allows() {
            warn!(port = self.port, %peer, left_out, "a connection was closed: {reason}");
        }
    }
}

/// The requests on a connection.
#[derive(Debug, Default)]
pub(super) struct Activity {
    n_requests: AtomicUsize,
    /// Whether a request has begun since the last look.
    has_asked: AtomicBool,
}

impl Activity {
    /// Returns whether a request is in progress or has begun since the last call.
    pub(super) fn is_busy(&self) -> bool {
        self.has_asked.swap(false, Ordering::Relaxed) || self.n_requests.load(Ordering::Relaxed) > 0
    }
}

/// Whom a connection belongs to, and its requests; an extension of these.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionInfo {
    address: IpAddr,
    /// The key of its TLS certificate, if it has presented one.
    key: Option<queens_auth::Pin>,
    /// Proxies that tell the addresses of their visitors.
    proxies: Arc<[Network]>,
    pub(super) activity: Arc<Activity>,
}

impl ConnectionInfo {
    pub(super) fn new(address: IpAddr, key: Option<queens_auth::Pin>, proxies: Arc<[Network]>) -> Self {
        Self { address, key, proxies, activity: Arc::default() }
    }

    /// Returns the connection of a request; `None` in a simulated network.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        request.extensions().get::<ConnectInfo<Self>>().map(|ConnectInfo(info)| info.clone())
    }

    /// Returns the same with the address of the visitor for whom a trusted proxy sends a request.
    pub(super) fn with_visitor(self, headers: &HeaderMap) -> Self {
        let is_proxy = self.proxies.iter().any(|network| network.contains(self.address));
        let visitor = is_proxy.then(|| forwarded_for(&self.proxies, headers)).flatten();
        Self { address: visitor.unwrap_or(self.address), ..self }
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns the key of the verified TLS certificate, if there is one.
    pub(crate) fn key(&self) -> Option<queens_auth::Pin> {
        self.key
    }

    /// Counts a request until the result is dropped.
    pub(super) fn begin_request(&self) -> RequestGuard {
        self.activity.has_asked.store(true, Ordering::Relaxed);
        self.activity.n_requests.fetch_add(1, Ordering::Relaxed);
        RequestGuard(self.activity.clone())
    }
}

/// A request in progress, from its head to the end of its answer.
#[derive(Debug)]
pub(super) struct RequestGuard(Arc<Activity>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.has_asked.store(true, Ordering::Relaxed);
        self.0.n_requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Passes a request to its handler with a timeout, and counts it for its connection.
pub(crate) async fn attend(State(too_late): State<TooLate>, mut request: Request, next: Next) -> Response {
    // Connections of a simulated network are not counted.
    let info = ConnectionInfo::of(&request).map(|info| info.with_visitor(request.headers()));
    let guard = info.as_ref().map(ConnectionInfo::begin_request);
    if let Some(info) = info {
        request.extensions_mut().insert(ConnectInfo(info));
    }
    let response = tokio::time::timeout(REQUEST, next.run(request)).await;
    let response = response.unwrap_or_else(|_| {
        too_late(format!("the request was not there or not answered after {} s", REQUEST.as_secs()))
    });
    response.map(|body| Body::new(Attended { body, _guard: guard }))
}

/// The body of an answer, which is in progress until it is dropped.
struct Attended {
    body: Body,
    _guard: Option<RequestGuard>,
}

impl HttpBody for Attended {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
