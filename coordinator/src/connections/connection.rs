//! One accepted connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::ConnectInfo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

use super::peer::{ConnectionSlot, Peer};
use super::stream::Stream;

/// How long the other end may not read while something is to be sent to it.
const UNREAD: Duration = Duration::from_secs(20);

/// An accepted connection. What is read from or written to it fails when it has to go.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    /// While nothing can be written because the other end does not read: ends when that is too long.
    unread: Option<Pin<Box<Sleep>>>,
    /// Given back after the stream is closed.
    place: ConnectionSlot,
}

impl Connection {
    /// One that goes when `close` is cancelled, and gives its place back then.
    pub(super) fn new(stream: Stream, close: CancellationToken, place: ConnectionSlot) -> Self {
        Self { stream, closed: Box::pin(close.cancelled_owned()), unread: None, place }
    }

    /// Who is at the other end.
    pub(super) fn peer(&self) -> &Peer {
        self.place.peer()
    }

    /// Fails if the connection has to go.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.closed.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }

    /// What becomes of an attempt to write, which fails when the other end has not read for too long.
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
