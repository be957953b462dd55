//! Authenticates and authorizes HTTP requests.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::error_pages;
use super::refusal::{Reason, RequestRefusal};
use crate::access::{Authenticator, Protocol, Requirement};

/// HTTP, as browsers and programs speak it.
struct Http;

impl Protocol for Http {
    fn refuse(&self, request: &Request, status: StatusCode, reason: String) -> Response {
        let is_browser = *request.method() == Method::GET && error_pages::is_of_a_person(request.headers());
        if status == StatusCode::UNAUTHORIZED && is_browser {
            return Redirect::to("/login").into_response();
        }
        refused(status, reason)
    }

    fn outcome(&self, response: &Response) -> Option<Result<(), String>> {
        let status = response.status();
        if status.is_success() {
            return Some(Ok(()));
        }
        let reason = response.extensions().get::<Reason>().map(|Reason(reason)| reason.clone());
        Some(Err(reason.unwrap_or_else(|| status.to_string())))
    }
}

/// The authenticator, and what each route requires.
pub(super) type Gate = Arc<(Authenticator, HashMap<(&'static str, &'static str), Requirement>)>;

pub(super) async fn authorize(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    // A path without a route needs no permission to be answered 404.
    let Some(path) = path else { return next.run(request).await };
    // HTTP clients may send HEAD to every GET route.
    let method = if request.method() == Method::HEAD { "GET" } else { request.method().as_str() };
    let (authenticator, requirements) = &*gate;
    let requirement = requirements.get(&(method, path.as_str())).copied();
    authenticator.handle(&Http, requirement, path.as_str(), request, next).await
}

/// Returns the answer to a request without valid credentials, without permission or beyond a quota.
pub(super) fn refused(status: StatusCode, reason: String) -> Response {
    let mut response = RequestRefusal::new(status, reason).into_response();
    let (header, value) = match status {
        StatusCode::UNAUTHORIZED => (WWW_AUTHENTICATE, "Bearer"),
        StatusCode::TOO_MANY_REQUESTS => (RETRY_AFTER, "1"),
        _ => return response,
    };
    response.headers_mut().insert(header, HeaderValue::from_static(value));
    response
}
