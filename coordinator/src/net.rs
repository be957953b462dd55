//! The connections of the ports: limits, timeouts, and TLS.
//!
//! Both servers accept their connections from a [`Port`] and pass their requests through `attend`. A port has a limit
//! of connections, in all and for each address, and closes what goes beyond. A connection without a request is closed
//! after a timeout. One with an answer in progress, such as a worker's session, stays until it ends by itself, or stops
//! reading. A port with TLS returns encrypted connections only; handshakes run concurrently, with a short timeout.

mod connection;
mod connection_info;
mod connection_limits;
mod forwarded;
mod listener;
mod tls;

pub(crate) use self::connection_info::{ConnectionInfo, TooLate, attend};
pub(crate) use self::connection_limits::{ConnectionLimits, Limits, neighbourhood};
pub(crate) use self::forwarded::Network;
pub(crate) use self::listener::Port;
pub(crate) use self::tls::{AppProtocol, Tls};
