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
use queens_auth::{Permission, Role};
use queens_model::{Name, Party};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::Status;

use super::invitation_cache::{InvitationCache, NameError, Principal};
use super::message_budget::SessionBudget;
use super::quota::Reservation;

/// What is said to whoever is put out.
pub(crate) const REVOKED: &str = "the invitation has ended";

/// What a request carries that was let in.
#[derive(Clone, Debug)]
pub(crate) struct AuthContext {
    /// `None` where nobody is asked who they are.
    principal: Option<(Principal, InvitationCache)>,
    /// What of their portion the request takes, until its answer ends.
    reservation: Option<Arc<Reservation>>,
    /// What may be said in a session of a worker.
    session_budget: Option<SessionBudget>,
}

impl AuthContext {
    /// Of a request whose sender was not asked.
    pub(super) fn anonymous() -> Self {
        Self { principal: None, reservation: None, session_budget: None }
    }

    pub(super) fn of(principal: Principal, invitations: InvitationCache) -> Self {
        Self { principal: Some((principal, invitations)), reservation: None, session_budget: None }
    }

    /// The same for a request that takes a share.
    pub(super) fn with_reservation(self, reservation: Option<Reservation>) -> Self {
        let session_budget = reservation.as_ref().and_then(Reservation::session_budget);
        Self { reservation: reservation.map(Arc::new), session_budget, ..self }
    }

    /// The same for a session in which so much may be said.
    pub(super) fn with_session_budget(self, session_budget: Option<SessionBudget>) -> Self {
        Self { session_budget, ..self }
    }

    /// What may be said in a session of a worker; `None` for other requests.
    pub(crate) fn session_budget(&self) -> Option<&SessionBudget> {
        self.session_budget.as_ref()
    }

    /// What its holder may do; `None` if all.
    pub(crate) fn role(&self) -> Option<Role> {
        self.principal.as_ref().map(|(principal, _)| principal.invitation.role)
    }

    /// Who its holder is; `None` where nobody is asked.
    pub(crate) fn party(&self) -> Option<Party> {
        self.principal.as_ref().map(|(principal, _)| principal.invitation.party)
    }

    /// Whether its holder may decide.
    pub(crate) fn decides(&self) -> bool {
        self.role().is_none_or(|role| role.may(Permission::Decide))
    }

    /// Sees to it that a worker may call itself so, now and later, and that nobody else may.
    ///
    /// # Errors
    /// If it may not.
    pub(crate) async fn use_name(&self, name: &Name) -> Result<(), NameError> {
        let Some((principal, invitations)) = &self.principal else { return Ok(()) };
        invitations.bind(principal.invitation.party, name).await
    }

    /// Waits until the invitation ends; for ever where nobody is asked.
    pub(crate) async fn ended(&self) {
        match &self.principal {
            Some((principal, _)) => principal.ended.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Lets an answer end when the invitation does, and its share be given back when it ends.
    pub(crate) fn revocable(&self, response: Response) -> Response {
        let ended =
            self.principal.as_ref().map(|(principal, _)| Box::pin(principal.ended.clone().cancelled_owned()));
        let reservation = self.reservation.clone();
        if ended.is_none() && reservation.is_none() {
            return response;
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_grpc = kind.is_some_and(|kind| kind.starts_with("application/grpc"));
        response.map(|body| {
            Body::new(RevocableBody { body, ended, is_grpc, is_over: false, _share: reservation })
        })
    }
}

impl fmt::Display for AuthContext {
    /// Who it is, for logs and records.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.principal.as_ref().map(|(principal, _)| &principal.invitation) {
            None => write!(f, "anybody"),
            Some(invitation) => write!(f, "{invitation}"),
        }
    }
}

/// The body of an answer, which ends with somebody's invitation.
struct RevocableBody {
    body: Body,
    ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// Then the end has a status, and words.
    is_grpc: bool,
    is_over: bool,
    _share: Option<Arc<Reservation>>,
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
