//! The middleware that every request passes, by gRPC and by HTTP: authentication, permission, quota and audit log.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;

use super::authenticator::Authenticator;
use super::requirement::Requirement;
use crate::net::Peer;

/// How a protocol words the answers of the middleware.
pub(crate) trait Protocol {
    /// Returns the answer to a refused request. The status is 401 without valid credentials, 403 without permission, 429
    /// beyond a quota, and 503 if the coordinator can't tell.
    fn refuse(&self, request: &Request, status: StatusCode, reason: String) -> Response;

    /// Returns the outcome of an answered request: success, or the reason of the refusal. `None` if only the end of
    /// the answer tells.
    fn outcome(&self, response: &Response) -> Option<Result<(), String>>;
}

impl Authenticator {
    /// Answers a request by its handler if the sender has the permission for it, and records actions in the audit log.
    /// `path` is the path as the server's table of operations has it. The handler finds the
    /// [`AuthContext`](super::AuthContext) in the request's extensions.
    pub(crate) async fn handle(
        &self,
        protocol: &impl Protocol,
        requirement: Option<Requirement>,
        path: &str,
        mut request: Request,
        next: Next,
    ) -> Response {
        let peer = Peer::of(&request);
        let auth = match self.authorize(requirement, path, request.headers(), peer.as_ref()).await {
            Ok(auth) => auth,
            Err(error) => return protocol.refuse(&request, error.status(), error.to_string()),
        };
        let address = peer.as_ref().map(Peer::address);
        let audit_guard = self.audit_guard(&auth, requirement, path, address);
        request.extensions_mut().insert(auth.clone());
        let Some(audit_guard) = audit_guard else { return auth.revocable(next.run(request).await) };
        let audit_action = audit_guard.audit_action().clone();
        let response = audit_action.scope_of(next.run(request)).await;
        let response = match protocol.outcome(&response) {
            Some(outcome) => {
                audit_guard.answered(outcome).await;
                response
            }
            None => audit_guard.at_end_of(response),
        };
        auth.revocable(response)
    }
}
