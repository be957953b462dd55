//! The peer of a connection, its place in the connection table, and the state that a port shares.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderMap;
use queens_auth::Pin;
use queens_platform::LogThrottle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::warn;

use super::connection_table::{ConnectionTable, QueueLimits};
use super::forwarded::{Network, forwarded_for};

/// Shared state of a port and its connections.
#[derive(Debug)]
pub(super) struct Shared {
    /// For the log.
    name: &'static str,
    /// Proxies that tell the addresses of their visitors.
    proxies: Arc<[Network]>,
    table: Mutex<ConnectionTable>,
    refusals: LogThrottle,
    closings: LogThrottle,
}

impl Shared {
    pub(super) fn new(
        name: &'static str,
        proxies: Arc<[Network]>,
        shaking: QueueLimits,
        waiting: QueueLimits,
    ) -> Self {
        let table = Mutex::new(ConnectionTable::new(shaking, waiting));
        Self { name, proxies, table, refusals: LogThrottle::default(), closings: LogThrottle::default() }
    }

    pub(super) fn table<T>(&self, change: impl FnOnce(&mut ConnectionTable) -> T) -> T {
        // A panic leaves no inconsistent state: each change leaves the table valid.
        change(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn say_refused(&self, peer: IpAddr, reason: &str) {
        if let Some(left_out) = self.refusals.allows() {
            warn!(port = self.name, %peer, left_out, "a connection was closed at once: {reason}");
        }
    }

    pub(super) fn say_failed(&self, error: &io::Error) {
        if let Some(left_out) = self.refusals.allows() {
            warn!(port = self.name, left_out, %error, "cannot accept a connection");
        }
    }

    pub(super) fn say_closed(&self, connections: usize, reason: &str) {
        if let Some(left_out) = self.closings.allows() {
            warn!(port = self.name, connections, left_out, "closed: {reason}");
        }
    }
}

/// The peer of a connection; an extension of its requests.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    shared: Arc<Shared>,
    number: u64,
    peer: IpAddr,
    /// The key of its TLS certificate, if it has presented one.
    key: Option<Pin>,
}

impl Peer {
    pub(super) fn new(shared: Arc<Shared>, number: u64, peer: IpAddr) -> Self {
        Self { shared, number, peer, key: None }
    }

    /// Returns the peer that sent a request; `None` in a simulated network.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        request.extensions().get::<ConnectInfo<Self>>().map(|ConnectInfo(peer)| peer.clone())
    }

    /// Returns the peer of a request: with the address of the visitor for whom a trusted proxy sends it.
    pub(super) fn with_visitor(self, headers: &HeaderMap) -> Self {
        let proxies = &self.shared.proxies;
        let is_proxy = proxies.iter().any(|network| network.contains(self.peer));
        let visitor = is_proxy.then(|| forwarded_for(proxies, headers)).flatten();
        Self { peer: visitor.unwrap_or(self.peer), ..self }
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.peer
    }

    /// Returns the key of the verified TLS certificate, if there is one.
    pub(crate) fn key(&self) -> Option<Pin> {
        self.key
    }

    /// Notes the end of the TLS handshake; `false` if the connection must close.
    pub(super) fn end_handshake(&self) -> bool {
        self.shared.table(|table| table.end_handshake(Instant::now(), self.number))
    }

    pub(super) fn say_no_handshake(&self, error: &io::Error) {
        self.shared.say_refused(self.peer, &format!("its TLS handshake failed ({error})"));
    }

    /// Notes a request.
    pub(super) fn ask(&self) {
        self.shared.table(|table| table.ask(Instant::now(), self.number));
    }

    /// Notes that an answer is in progress.
    pub(super) fn begin_work(&self) {
        self.shared.table(|table| table.begin_work(self.number));
    }

    /// Notes that an answer has ended.
    pub(super) fn end_work(&self) {
        self.shared.table(|table| table.end_work(Instant::now(), self.number));
    }

    /// Logs that the connection is closed because the peer does not read.
    pub(super) fn say_unread(&self) {
        self.shared.say_closed(1, "it does not read the messages sent to it");
    }
}

/// A connection's slot at its port; released on drop.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    peer: Peer,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlot {
    pub(super) fn new(peer: Peer, permit: OwnedSemaphorePermit) -> Self {
        Self { peer, _permit: permit }
    }

    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Sets the key of the peer's TLS certificate.
    pub(super) fn know(&mut self, key: Option<Pin>) {
        self.peer.key = key;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let Peer { shared, number, .. } = &self.peer;
        shared.table(|table| table.leave(*number));
    }
}
