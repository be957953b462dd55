//! Middleware that authenticates each request and checks that its sender has the permission for the route.

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::not_found;
use super::refusal::{Reason, RequestRefusal};
use crate::auth::{AuthError, Authenticator};
use crate::connections::Peer;

pub(super) async fn authorize(
    State(authenticator): State<Authenticator>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = Peer::of(&request);
    let address = peer.as_ref().map(Peer::address);
    let path = request.extensions().get::<MatchedPath>().cloned();
    // A path without a route needs no permission to be answered 404.
    let Some(path) = path else { return next.run(request).await };
    match authenticator
        .authorize(request.method().as_str(), path.as_str(), request.headers(), peer.as_ref())
        .await
    {
        Ok(auth) => {
            let audit_guard =
                authenticator.audit_guard(&auth, request.method().as_str(), path.as_str(), address);
            request.extensions_mut().insert(auth.clone());
            let Some(audit_guard) = audit_guard else { return auth.revocable(next.run(request).await) };
            let audit_action = audit_guard.audit_action().clone();
            let response = audit_action.scope_of(next.run(request)).await;
            audit_guard.answered(answer(&response)).await;
            response
        }
        Err(refusal) if is_of_a_person(&request, &refusal) => Redirect::to("/login").into_response(),
        Err(refusal) => refused(refusal),
    }
}

/// Returns `Ok` if the response is a success, and otherwise the reason of the refusal, for the audit log.
fn answer(response: &Response) -> Result<(), String> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let reason = response.extensions().get::<Reason>().map(|Reason(reason)| reason.clone());
    Err(reason.unwrap_or_else(|| status.to_string()))
}

/// Returns whether a browser asks for a page that logging in would open.
fn is_of_a_person(request: &Request, refusal: &AuthError) -> bool {
    *request.method() == Method::GET
        && not_found::is_of_a_person(request.headers())
        && !matches!(
            refusal,
            AuthError::Forbidden { .. }
                | AuthError::UnknownRoute
                | AuthError::QuotaExceeded(_)
                | AuthError::Unavailable
        )
}

pub(super) fn refused(refusal: AuthError) -> Response {
    let reason = refusal.to_string();
    match refusal {
        AuthError::NoToken
        | AuthError::MalformedToken
        | AuthError::LoggedOut
        | AuthError::InvitationGone(_)
        | AuthError::InvitationError(_) => {
            let mut response = RequestRefusal::new(StatusCode::UNAUTHORIZED, reason).into_response();
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
        AuthError::QuotaExceeded(_) => {
            let mut response = RequestRefusal::new(StatusCode::TOO_MANY_REQUESTS, reason).into_response();
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
        AuthError::Unavailable | AuthError::NoRandomNumbers => {
            RequestRefusal::unavailable(reason).into_response()
        }
        AuthError::Forbidden { .. } | AuthError::UnknownRoute => {
            RequestRefusal::new(StatusCode::FORBIDDEN, reason).into_response()
        }
    }
}
