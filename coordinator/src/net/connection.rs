//! An accepted connection, with its timeouts.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::ConnectInfo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tonic::transport::server::Connected;

use super::connection_info::{ConnectionInfo, PortLog};
use super::connection_limits::Place;

/// Timeout of the first request: the HTTP/2 greeting and the request's head. `hyper` limits neither the time of a
/// greeting nor, as `axum` serves it, that of a head.
const FIRST_REQUEST: Duration = Duration::from_secs(10);

/// How long a connection may then be without a request; at most twice as long.
const IDLE: Duration = Duration::from_secs(30);

/// How long the peer may not read while data is pending.
const UNREAD: Duration = Duration::from_secs(20);

/// A timeout that is noticed this late is not enforced: the process was suspended and has not read what clients sent.
const STANDSTILL: Duration = Duration::from_secs(3);

/// TCP, or TLS over TCP.
pub(super) type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// An accepted connection. Reads fail after a timeout without a request, writes after one without a reader.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    info: ConnectionInfo,
    log: Arc<PortLog>,
    /// Ends when the connection must have had a request.
    idle: Pin<Box<Sleep>>,
    /// Running while the peer does not read; ends with the timeout.
    unread: Option<Pin<Box<Sleep>>>,
    /// Released after the stream is closed: fields are dropped in order.
    _place: Place,
}

impl Connection {
    pub(super) fn new(stream: Stream, info: ConnectionInfo, log: Arc<PortLog>, place: Place) -> Self {
        Self { stream, info, log, idle: Box::pin(sleep(FIRST_REQUEST)), unread: None, _place: place }
    }

    pub(super) fn info(&self) -> &ConnectionInfo {
        &self.info
    }

    /// Returns when nothing was asked for in time.
    fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.idle.as_mut().poll(context));
            let now = Instant::now();
            let was_suspended = now.duration_since(self.idle.deadline()) >= STANDSTILL;
            if !was_suspended && !self.info.activity.is_busy() {
                return Poll::Ready(());
            }
            self.idle.as_mut().reset(now + IDLE);
        }
    }

    /// Returns the result of a write, or an error if the peer has not read for too long.
    fn written<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.unread = None;
            return written;
        }
        let unread = self.unread.get_or_insert_with(|| Box::pin(sleep(UNREAD)));
        ready!(unread.as_mut().poll(context));
        self.log.say_closed(self.info.address(), "it does not read the messages sent to it");
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.poll_idle(context).is_ready() {
            self.log.say_closed(self.info.address(), "nothing was asked for in time");
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Connected for Connection {
    type ConnectInfo = ConnectInfo<ConnectionInfo>;

    fn connect_info(&self) -> ConnectInfo<ConnectionInfo> {
        ConnectInfo(self.info.clone())
    }
}
