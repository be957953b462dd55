//! Who is at the other end of a connection, and the port that it came to.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;
use tracing::warn;

use super::register::Register;
use crate::seldom::Seldom;

/// What a port and its connections have in common.
#[derive(Debug)]
pub(super) struct Shared {
    /// For the log.
    name: &'static str,
    register: Mutex<Register>,
    refusals: Seldom,
    closings: Seldom,
}

impl Shared {
    pub(super) fn new(name: &'static str, most_waiting: usize) -> Self {
        let register = Mutex::new(Register::new(most_waiting));
        Self { name, register, refusals: Seldom::default(), closings: Seldom::default() }
    }

    pub(super) fn register<T>(&self, change: impl FnOnce(&mut Register) -> T) -> T {
        // Nothing is left half done in there.
        change(&mut self.register.lock().unwrap_or_else(PoisonError::into_inner))
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

/// Who is at the other end of a connection: requests carry it.
#[derive(Clone, Debug)]
pub struct Caller {
    shared: Arc<Shared>,
    number: u64,
    peer: IpAddr,
}

impl Caller {
    pub(super) fn new(shared: Arc<Shared>, number: u64, peer: IpAddr) -> Self {
        Self { shared, number, peer }
    }

    /// Its address.
    pub(crate) fn peer(&self) -> IpAddr {
        self.peer
    }

    /// A request has come.
    pub(super) fn ask(&self) {
        self.shared.register(|register| register.ask(Instant::now(), self.number));
    }

    /// Its answer goes on for long.
    pub(super) fn begin_work(&self) {
        self.shared.register(|register| register.begin_work(self.number));
    }

    /// It does not any more.
    pub(super) fn end_work(&self) {
        self.shared.register(|register| register.end_work(Instant::now(), self.number));
    }

    /// The connection is closed.
    pub(super) fn leave(&self) {
        self.shared.register(|register| register.leave(self.number));
    }

    /// The connection is closed, because the other end does not read.
    pub(super) fn say_unread(&self) {
        self.shared.say_closed(1, "it does not read what it is sent");
    }
}
