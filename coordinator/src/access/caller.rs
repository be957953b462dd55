//! The caller of a request and its reserved quota. A response ends when the caller's invitation ends.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Extensions, HeaderMap};
use axum::response::Response;
use http_body::{Frame, SizeHint};
use queens_auth::{Invitation, Permission, Role};
use queens_model::Party;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::Status;

use super::known_invitations::CachedInvitation;
use super::quota::{Reservation, Usage};

/// The message to a caller whose invitation was revoked or has expired.
pub(crate) const REVOKED: &str = "the invitation has ended";

/// The caller of a request that the middleware has admitted.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The address that the request comes from; `None` in a simulated network.
    address: Option<IpAddr>,
    /// `None` for strangers, and without authentication.
    invited: Option<CachedInvitation>,
    usage: Arc<Usage>,
    /// The part of the caller's quota that the request holds until its answer ends.
    reservation: Option<Arc<Reservation>>,
}

impl Caller {
    /// Returns the caller of a request, from its extensions.
    pub(crate) fn of(extensions: &Extensions) -> Result<&Self, Status> {
        extensions.get().ok_or_else(|| Status::internal("nobody has authorized the request"))
    }

    /// Returns a caller without an invitation.
    pub(super) fn uninvited(address: Option<IpAddr>, usage: Arc<Usage>) -> Self {
        Self { address, invited: None, usage, reservation: None }
    }

    pub(super) fn invited(address: Option<IpAddr>, invited: CachedInvitation) -> Self {
        Self { address, usage: invited.usage.clone(), invited: Some(invited), reservation: None }
    }

    pub(super) fn with_reservation(self, reservation: Reservation) -> Self {
        Self { reservation: Some(Arc::new(reservation)), ..self }
    }

    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Waits until no other Hello of the caller is put together from pieces. Without authentication, all workers are
    /// one caller.
    pub(crate) async fn hello_turn(&self) -> OwnedMutexGuard<()> {
        self.usage.hello_turn.clone().lock_owned().await
    }

    /// Returns the caller's role; `None` if the caller may do everything.
    pub(crate) fn role(&self) -> Option<Role> {
        self.invitation().map(|invitation| invitation.role)
    }

    /// Returns the caller's party; `None` without authentication.
    pub(crate) fn party(&self) -> Option<Party> {
        self.invitation().map(|invitation| invitation.party)
    }

    fn invitation(&self) -> Option<&Invitation> {
        self.invited.as_ref().map(|it| &*it.invitation)
    }

    /// Returns whether the caller has the permission [`Permission::Decide`].
    pub(crate) fn decides(&self) -> bool {
        self.role().is_none_or(|role| role.may(Permission::Decide))
    }

    /// Waits until the invitation ends; for ever without authentication.
    pub(crate) async fn ended(&self) {
        match &self.invited {
            Some(invited) => invited.ended.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Ends the answer when the invitation ends, and releases the reserved quota when the answer ends. An answer that
    /// is complete already is sent.
    pub(super) fn revocable(&self, response: Response) -> Response {
        let ended = self.invited.as_ref().map(|invited| invited.ended.clone());
        revocable(response, ended, self.reservation.clone())
    }
}

fn revocable(
    response: Response,
    ended: Option<CancellationToken>,
    reservation: Option<Arc<Reservation>>,
) -> Response {
    let is_complete = response.body().size_hint().exact().is_some();
    let ended = ended.filter(|_| !is_complete).map(|ended| Box::pin(ended.cancelled_owned()));
    if ended.is_none() && reservation.is_none() {
        return response;
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_grpc = kind.is_some_and(|kind| kind.starts_with("application/grpc"));
    response.map(|body| {
        Body::new(RevocableBody { body, ended, is_grpc, is_over: false, _reservation: reservation })
    })
}

impl fmt::Display for Caller {
    /// Formats the caller for logs and the audit log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.invitation() {
            None => write!(f, "anybody"),
            Some(invitation) => write!(f, "{invitation}"),
        }
    }
}

/// The body of an answer that ends with the caller's invitation.
struct RevocableBody {
    body: Body,
    ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// Whether the body ends with a gRPC status and message.
    is_grpc: bool,
    is_over: bool,
    _reservation: Option<Arc<Reservation>>,
}

impl HttpBody for RevocableBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if self.ended.as_mut().is_some_and(|ended| ended.as_mut().poll(context).is_ready()) {
            self.is_over = true;
            let status = Status::permission_denied(REVOKED);
            let mut trailers = HeaderMap::new();
            return Poll::Ready(Some(match status.add_header(&mut trailers) {
                Ok(()) if self.is_grpc => Ok(Frame::trailers(trailers)),
                _ => Err(axum::Error::new(io::Error::new(io::ErrorKind::PermissionDenied, REVOKED))),
            }));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use axum::response::IntoResponse;
    use tokio_stream::pending;

    use super::*;

    #[tokio::test]
    async fn a_stream_ends_with_its_invitation_and_a_complete_answer_is_sent() {
        let ended = CancellationToken::new();
        ended.cancel();
        let read = async |response: Response| {
            to_bytes(revocable(response, Some(ended.clone()), None).into_body(), 100).await
        };
        assert_eq!(read("complete".into_response()).await.expect("it is sent"), "complete");
        let stream = Body::from_stream(pending::<Result<Bytes, io::Error>>());
        read(stream.into_response()).await.expect_err("it is ended");
    }
}
