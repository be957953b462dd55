//! The middleware that every request passes, by gRPC and by HTTP: authentication, permission, quota and audit log.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http_body::Frame;
use queens_auth::{Permission, Role};
use queens_event_loop::AuditAction;
use queens_model::AuditEntry;
use tonic::{Code, Status};

use super::audit_log::{LONGEST, entry};
use super::authenticator::Authenticator;
use super::caller::Caller;
use super::invitation_cache::InvitationCache;
use super::requirement::Requirement;
use crate::net::ConnectionInfo;
use crate::refusal::RequestRefusal;

/// How a protocol words the answers of the middleware.
pub(crate) trait Protocol {
    /// Returns the answer to a refused request. The status is 401 without valid credentials, 403 without permission,
    /// 429 beyond a quota, and 503 if the coordinator can't tell.
    fn refuse(&self, request: &Request, refusal: RequestRefusal) -> Response;

    /// Returns the outcome of an answered request: success, or the reason of the refusal. `None` if only the end of
    /// the answer tells.
    fn outcome(&self, response: &Response) -> Option<Result<(), String>>;
}

impl Authenticator {
    /// Answers a request by its handler if the sender has the permission for it, and records actions in the audit log.
    /// `path` is the path as the server's table of operations has it. The handler finds the
    /// [`Caller`] in the request's extensions.
    pub(crate) async fn handle(
        &self,
        protocol: &impl Protocol,
        requirement: Option<Requirement>,
        path: &str,
        mut request: Request,
        next: Next,
    ) -> Response {
        let connection = ConnectionInfo::of(&request);
        let admitted = self.authorize(requirement, path, request.headers(), connection.as_ref()).await;
        let caller = match admitted {
            Ok(caller) => caller,
            Err(error) => return protocol.refuse(&request, error.into()),
        };
        request.extensions_mut().insert(caller.clone());
        let Some(audit_guard) = self.audit_guard(&caller, requirement, path) else {
            return caller.revocable(next.run(request).await);
        };
        let audit_action = audit_guard.audit_action.clone();
        let response = audit_action.scope_of(next.run(request)).await;
        let response = match protocol.outcome(&response) {
            Some(outcome) => {
                audit_guard.answered(outcome).await;
                response
            }
            None => {
                let audit_guard = Some(audit_guard);
                response.map(|body| Body::new(AuditedBody { body, audit_guard, recording: None }))
            }
        };
        caller.revocable(response)
    }

    /// Returns a guard that records the request's outcome, if the request must be audited.
    fn audit_guard(
        &self,
        caller: &Caller,
        requirement: Option<Requirement>,
        path: &str,
    ) -> Option<AuditGuard> {
        let decides = match requirement.map(|requirement| requirement.permission) {
            Some(Permission::Decide) => true,
            Some(Permission::Export) => caller.decides(),
            _ => false,
        };
        let invitations = self.store().filter(|_| decides)?.clone();
        let role = caller.role().map(Role::name).unwrap_or_default();
        let entry = entry(caller.to_string(), role, caller.address(), path);
        let audit_entry = Some(AuditEntry { party: caller.party(), ..entry });
        Some(AuditGuard { invitations, audit_entry, audit_action: AuditAction::default() })
    }
}

/// Audit entry of a request in progress. If dropped before the outcome is known, the entry is recorded anyway: the
/// action may have taken effect.
#[derive(Debug)]
struct AuditGuard {
    invitations: InvitationCache,
    audit_entry: Option<AuditEntry>,
    /// What the request's handler fills in.
    audit_action: AuditAction,
}

impl AuditGuard {
    /// Records the entry before the answer is sent. The answer may be an error with its reason.
    async fn answered(mut self, answer: Result<(), String>) {
        if let Some(audit_entry) = self.take(Some(&answer)) {
            self.invitations.note(audit_entry).await;
        }
    }

    fn take(&mut self, answer: Option<&Result<(), String>>) -> Option<AuditEntry> {
        let mut audit_entry = self.audit_entry.take()?;
        if let Some(what) = self.audit_action.text() {
            what.clone_into(&mut audit_entry.what);
        }
        audit_entry.outcome = self.audit_action.outcome(answer).chars().take(LONGEST).collect();
        Some(audit_entry)
    }
}

impl Drop for AuditGuard {
    fn drop(&mut self) {
        if let Some(audit_entry) = self.take(None) {
            self.invitations.note_soon(audit_entry, false);
        }
    }
}

/// The result of polling a body: a frame, an error, or the end.
type NextFrame = Option<Result<Frame<Bytes>, axum::Error>>;

/// A pending write to the audit log.
type Recording = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The body of a streamed gRPC answer, such as a certificate. The outcome is recorded before its end is sent.
struct AuditedBody {
    body: Body,
    audit_guard: Option<AuditGuard>,
    /// The pending write, and the end of the body that waits for it.
    recording: Option<(Recording, NextFrame)>,
}

impl HttpBody for AuditedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<NextFrame> {
        loop {
            if let Some((recording, _)) = &mut self.recording {
                ready!(recording.as_mut().poll(context));
                return Poll::Ready(self.recording.take().and_then(|(_, end)| end));
            }
            let next = ready!(Pin::new(&mut self.body).poll_frame(context));
            match (ending(&next), self.audit_guard.take()) {
                (Some(answer), Some(audit_guard)) => {
                    self.recording = Some((Box::pin(audit_guard.answered(answer)), next));
                }
                (_, audit_guard) => {
                    self.audit_guard = audit_guard;
                    return Poll::Ready(next);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.audit_guard.is_none() && self.recording.is_none() && self.body.is_end_stream()
    }
}

/// Returns the outcome if the body ends here, or `None` if it continues.
fn ending(next: &NextFrame) -> Option<Result<(), String>> {
    match next {
        Some(Ok(frame)) => {
            let status = Status::from_header_map(frame.trailers_ref()?);
            let refusal = status.filter(|status| status.code() != Code::Ok);
            Some(refusal.map_or(Ok(()), |status| Err(status.message().to_owned())))
        }
        Some(Err(error)) => Some(Err(error.to_string())),
        None => Some(Ok(())),
    }
}
