//! The peer of a connection, the requests on it, and the log of its port.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderMap;
use queens_auth::Pin;
use queens_platform::LogThrottle;
use tracing::warn;

use super::forwarded::{Network, forwarded_for};

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

/// The peer of a connection; an extension of its requests.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    address: IpAddr,
    /// The key of its TLS certificate, if it has presented one.
    key: Option<Pin>,
    /// Proxies that tell the addresses of their visitors.
    proxies: Arc<[Network]>,
    pub(super) activity: Arc<Activity>,
}

impl Peer {
    pub(super) fn new(address: IpAddr, key: Option<Pin>, proxies: Arc<[Network]>) -> Self {
        Self { address, key, proxies, activity: Arc::default() }
    }

    /// Returns the peer that sent a request; `None` in a simulated network.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        request.extensions().get::<ConnectInfo<Self>>().map(|ConnectInfo(peer)| peer.clone())
    }

    /// Returns the peer of a request: with the address of the visitor for whom a trusted proxy sends it.
    pub(super) fn with_visitor(self, headers: &HeaderMap) -> Self {
        let is_proxy = self.proxies.iter().any(|network| network.contains(self.address));
        let visitor = is_proxy.then(|| forwarded_for(&self.proxies, headers)).flatten();
        Self { address: visitor.unwrap_or(self.address), ..self }
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns the key of the verified TLS certificate, if there is one.
    pub(crate) fn key(&self) -> Option<Pin> {
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
