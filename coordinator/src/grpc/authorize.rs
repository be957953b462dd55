//! Middleware that authenticates and authorises gRPC requests.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tonic::{Code, Status};

use crate::auth::{AuthError, Authenticator};
use crate::connections::Peer;

/// The audited request whose answer is a stream.
const EXPORT: &str = "/queens.v1.Jobs/Export";

pub(super) async fn authorize(
    State(authenticator): State<Authenticator>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = Peer::of(&request);
    let address = peer.as_ref().map(Peer::address);
    let (method, path) = (request.method().as_str(), request.uri().path());
    match authenticator.authorize(method, path, request.headers(), peer.as_ref()).await {
        Ok(auth) => {
            let is_stream = path == EXPORT;
            let audit_guard = authenticator.audit_guard(&auth, method, path, address);
            request.extensions_mut().insert(auth.clone());
            if let Some(session_budget) = auth.session_budget() {
                request = request.map(|body| session_budget.body(body));
            }
            let Some(audit_guard) = audit_guard else { return auth.revocable(next.run(request).await) };
            let audit_action = audit_guard.audit_action().clone();
            let response = audit_action.scope_of(next.run(request)).await;
            let status = Status::from_header_map(response.headers());
            // The outcome is known only at the end of the stream.
            if status.is_none() && response.status().is_success() && is_stream {
                return auth.revocable(audit_guard.at_end_of(response));
            }
            let refusal = status.filter(|status| status.code() != Code::Ok);
            audit_guard.answered(refusal.map_or(Ok(()), |status| Err(status.message().to_owned()))).await;
            response
        }
        Err(refusal) => refused(refusal).into_http(),
    }
}

fn refused(refusal: AuthError) -> Status {
    let reason = refusal.to_string();
    match refusal {
        AuthError::NoToken
        | AuthError::MalformedToken
        | AuthError::LoggedOut
        | AuthError::InvitationGone(_)
        | AuthError::InvitationError(_) => Status::unauthenticated(reason),
        AuthError::QuotaExceeded(_) => Status::resource_exhausted(reason),
        AuthError::Unavailable | AuthError::NoRandomNumbers => Status::unavailable(reason),
        AuthError::Forbidden { .. } | AuthError::UnknownRoute => Status::permission_denied(reason),
    }
}
