//! Middleware that tracks each request from its head to the end of its answer, and limits its time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};

use super::peer::Peer;

/// Timeout of a request, from its head to the beginning of its answer, including its body.
const REQUEST: Duration = Duration::from_secs(15);

/// A request in progress, from its head to the end of its answer. An extension of the request.
#[derive(Clone, Debug)]
pub(crate) struct RequestGuard(Arc<ActiveRequest>);

#[derive(Debug)]
struct ActiveRequest {
    peer: Peer,
    at_work: AtomicBool,
}

impl RequestGuard {
    fn begin(peer: Peer) -> Self {
        peer.ask();
        Self(Arc::new(ActiveRequest { peer, at_work: AtomicBool::new(false) }))
    }

    /// Marks the connection as at work until the answer ends.
    pub(crate) fn begin_work(&self) {
        let ActiveRequest { peer, at_work } = &*self.0;
        if !at_work.swap(true, Ordering::Relaxed) {
            peer.begin_work();
        }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        if *self.at_work.get_mut() {
            self.peer.end_work();
        }
    }
}

/// An extension of an answer: its handler decides later when the connection counts as at work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotYetAtWork;

/// Creates the answer after a timeout, with this reason.
pub(crate) type TooLate = fn(String) -> Response;

/// Passes a request to its handler with a timeout, and tracks it for its connection.
pub(crate) async fn attend(State(too_late): State<TooLate>, mut request: Request, next: Next) -> Response {
    // Connections of a simulated network are not tracked.
    let peer = Peer::of(&request).map(|peer| peer.with_visitor(request.headers()));
    if let Some(peer) = &peer {
        request.extensions_mut().insert(ConnectInfo(peer.clone()));
    }
    let visit = peer.map(RequestGuard::begin);
    if let Some(visit) = &visit {
        request.extensions_mut().insert(visit.clone());
    }
    let response = tokio::time::timeout(REQUEST, next.run(request)).await;
    let response = response.unwrap_or_else(|_| {
        too_late(format!("the request was not there or not answered after {} s", REQUEST.as_secs()))
    });
    let Some(visit) = visit else { return response };
    if response.extensions().get::<NotYetAtWork>().is_none() {
        visit.begin_work();
    }
    response.map(|body| Body::new(Attended { body, _visit: visit }))
}

/// The body of an answer, which is in progress until it is dropped.
struct Attended {
    body: Body,
    _visit: RequestGuard,
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
