//! Middleware that counts each request from its head to the end of its answer, and limits its time.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};

use super::peer::{Peer, RequestGuard};

/// Timeout of a request, from its head to the beginning of its answer, including its body.
const REQUEST: Duration = Duration::from_secs(15);

/// Creates the answer after a timeout, with this reason.
pub(crate) type TooLate = fn(String) -> Response;

/// Passes a request to its handler with a timeout, and counts it for its connection.
pub(crate) async fn attend(State(too_late): State<TooLate>, mut request: Request, next: Next) -> Response {
    // Connections of a simulated network are not counted.
    let peer = Peer::of(&request).map(|peer| peer.with_visitor(request.headers()));
    let guard = peer.as_ref().map(Peer::begin_request);
    if let Some(peer) = peer {
        request.extensions_mut().insert(ConnectInfo(peer));
    }
    let response = tokio::time::timeout(REQUEST, next.run(request)).await;
    let response = response.unwrap_or_else(|_| {
        too_late(format!("the request was not there or not answered after {} s", REQUEST.as_secs()))
    });
    response.map(|body| Body::new(Attended { body, _guard: guard }))
}

/// The body of an answer, which is in progress until it is dropped.
struct Attended {
    body: Body,
    _guard: Option<RequestGuard>,
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
