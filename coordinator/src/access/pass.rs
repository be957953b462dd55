//! What somebody has who was let in.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use queens_access::{Permit, Role};
use queens_messages::{Name, Party};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::Status;

use super::keeper::{Guest, Keeper, NotBound};
use super::portions::Share;
use super::ration::Helping;

/// What is said to whoever is put out.
pub(crate) const OVER: &str = "the invitation has ended";

/// What a request carries that was let in.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    /// `None` where nobody is asked who they are.
    guest: Option<(Guest, Keeper)>,
    /// What of their portion the request takes, until its answer ends.
    share: Option<Arc<Share>>,
    /// What may be said in a session of a worker.
    helping: Option<Helping>,
}

impl Pass {
    /// Of a request whose sender was not asked.
    pub(super) fn unasked() -> Self {
        Self { guest: None, share: None, helping: None }
    }

    pub(super) fn of(guest: Guest, keeper: Keeper) -> Self {
        Self { guest: Some((guest, keeper)), share: None, helping: None }
    }

    /// The same for a request that takes a share.
    pub(super) fn with(self, share: Option<Share>) -> Self {
        let helping = share.as_ref().and_then(Share::helping);
        Self { share: share.map(Arc::new), helping, ..self }
    }

    /// The same for a session in which so much may be said.
    pub(super) fn saying(self, helping: Option<Helping>) -> Self {
        Self { helping, ..self }
    }

    /// What may be said in a session of a worker; `None` for other requests.
    pub(crate) fn helping(&self) -> Option<&Helping> {
        self.helping.as_ref()
    }

    /// What its holder may do; `None` if all.
    pub(crate) fn role(&self) -> Option<Role> {
        self.guest.as_ref().map(|(guest, _)| guest.invitation.role)
    }

    /// Who its holder is; `None` where nobody is asked.
    pub(crate) fn party(&self) -> Option<Party> {
        self.guest.as_ref().map(|(guest, _)| guest.invitation.party)
    }

    /// Whether its holder may decide.
    pub(crate) fn decides(&self) -> bool {
        self.role().is_none_or(|role| role.may(Permit::Decide))
    }

    /// Sees to it that a worker may call itself so, now and later, and that nobody else may.
    ///
    /// # Errors
    /// If it may not.
    pub(crate) async fn use_name(&self, name: &Name) -> Result<(), NotBound> {
        let Some((guest, keeper)) = &self.guest else { return Ok(()) };
        keeper.bind(guest.invitation.party, name).await
    }

    /// Waits until the invitation ends; for ever where nobody is asked.
    pub(crate) async fn ended(&self) {
        match &self.guest {
            Some((guest, _)) => guest.ended.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Lets an answer end when the invitation does, and its share be given back when it ends.
    pub(crate) fn bound(&self, response: Response) -> Response {
        let ended = self.guest.as_ref().map(|(guest, _)| Box::pin(guest.ended.clone().cancelled_owned()));
        let share = self.share.clone();
        if ended.is_none() && share.is_none() {
            return response;
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_grpc = kind.is_some_and(|kind| kind.starts_with("application/grpc"));
        response.map(|body| Body::new(Bounded { body, ended, is_grpc, is_over: false, _share: share }))
    }
}

impl fmt::Display for Pass {
    /// Who it is, for logs and records.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.guest.as_ref().map(|(guest, _)| &guest.invitation) {
            None => write!(f, "anybody"),
            Some(invitation) => write!(f, "{invitation}"),
        }
    }
}

/// The body of an answer, which ends with somebody's invitation.
struct Bounded {
    body: Body,
    ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// Then the end has a status, and words.
    is_grpc: bool,
    is_over: bool,
    _share: Option<Arc<Share>>,
}

impl HttpBody for Bounded {
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
            let status = Status::permission_denied(OVER);
            let mut trailers = HeaderMap::new();
            return Poll::Ready(Some(match status.add_header(&mut trailers) {
                Ok(()) if self.is_grpc => Ok(Frame::trailers(trailers)),
                _ => Err(axum::Error::new(io::Error::new(io::ErrorKind::PermissionDenied, OVER))),
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
