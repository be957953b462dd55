//! The connections to a port: how many there may be, how long each may keep silent, and which goes when there is no
//! room.
//!
//! A connection is *at work* while an answer on it goes on: a session that has begun with a Hello, a watched job, a
//! page that is told news. All others *wait*, whatever half of a request has come. Whoever waits is closed after some
//! time, and earlier if others need the place; whoever is at work stays until it ends by itself, or does not read.
//! Both servers take their connections from a [`Port`] and pass their requests through `attend`. A port with TLS hands
//! out none that is not encrypted: handshakes go on beside each other, have a line of their own, and little time.

mod connection;
mod connection_table;
mod http_requests;
mod listener;
mod peer;
mod stream;

pub use self::connection::Connection;
pub(crate) use self::connection_table::neighbourhood;
pub(crate) use self::http_requests::{NotYetAtWork, REQUEST, TooLate, Visit, attend};
pub use self::listener::{Limits, Most, Port};
pub use self::peer::Peer;
