//! Connection management of the ports: limits, timeouts, and eviction of waiting connections.
//!
//! A connection is *at work* while an answer on it is in progress: a session after its Hello, a watched job, a page
//! with live updates. All others *wait*, even with half a request received.
//! A waiting connection is closed after a timeout, or earlier if others need its slot. A connection at work stays until
//! it ends by itself, or stops reading.
//! Both servers accept their connections from a [`Port`] and pass their requests through `attend`. A port with TLS
//! returns encrypted connections only. Handshakes run concurrently, with a limit of their own and a short timeout.

mod connection;
mod connection_table;
mod forwarded;
mod http_requests;
mod listener;
mod peer;
mod tls;

pub(crate) use self::connection_table::neighbourhood;
pub(crate) use self::forwarded::Network;
pub(crate) use self::http_requests::{NotYetAtWork, RequestGuard, TooLate, attend};
pub(crate) use self::listener::{ConnectionLimits, Limits, Port};
pub(crate) use self::peer::Peer;
pub(crate) use self::tls::Tls;
