//! An accepted connection, with its timeouts.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::ConnectInfo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

use super::peer::{ConnectionSlot, Peer};

/// How long the peer may not read while data is pending.
const UNREAD: Duration = Duration::from_secs(20);

/// TCP, or TLS over TCP.
pub(super) type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// An accepted connection. Reads and writes fail once it must close.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Running while the peer does not read; ends with the timeout.
    unread: Option<Pin<Box<Sleep>>>,
    /// Released after the stream is closed: fields are dropped in order.
    place: ConnectionSlot,
}

impl Connection {
    /// Creates a connection that closes when `close` is cancelled, and then releases its slot.
    pub(super) fn new(stream: Stream, close: CancellationToken, place: ConnectionSlot) -> Self {
        Self { stream, closed: Box::pin(close.cancelled_owned()), unread: None, place }
    }

    pub(super) fn peer(&self) -> &Peer {
        self.place.peer()
    }

    /// Fails if the connection must close.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.closed.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }

    /// Returns the result of a write, or an error if the peer has not read for too long.
    fn written<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.unread = None;
            return written;
        }
        let unread = self.unread.get_or_insert_with(|| Box::pin(tokio::time::sleep(UNREAD)));
        ready!(unread.as_mut().poll(context));
        self.peer().say_unread();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
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
    type ConnectInfo = ConnectInfo<Peer>;

    fn connect_info(&self) -> ConnectInfo<Peer> {
        ConnectInfo(self.peer().clone())
    }
}
