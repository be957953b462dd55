//! Log-in and log-out of the web pages, and the authenticated caller.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use queens_auth::Role;
use serde::{Deserialize, Serialize};

use super::app::{Answer, App, Body, Object};
use super::jobs::EmptyBody;
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::NotDecided;
use crate::access::{COOKIE, Caller, LOGIN_LIFETIME};

/// The authenticated caller.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Me {
    /// The caller's name in logs and in the audit log.
    who: String,
    /// viewer, operator or worker; null if the coordinator does not authenticate, so that everybody may do everything.
    role: Option<&'static str>,
}

impl Me {
    fn of(caller: &Caller) -> Self {
        Self { who: caller.to_string(), role: caller.role().map(Role::name) }
    }
}

/// A token.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct LogIn {
    /// The line of the file that 'queens-coordinator invite --token-file' wrote, or what 'invite' printed as the token.
    token: String,
}

/// Logs in with a token. The cookie has the token's permissions for twelve hours; one hour without a request ends it.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/login",
    request_body = LogIn,
    responses((status = 200, description = "The answer.", body = Me), NotDecided),
))]
pub(super) async fn log_in(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Body<LogIn>,
) -> Result<Response, RequestRefusal> {
    let Json(Object(LogIn { token })) = body?;
    let (caller, secret) = app.authenticator.log_in(&token, caller).await?;
    let cookie = match secret {
        Some(secret) => set_cookie(&secret.reveal(), LOGIN_LIFETIME.as_secs()),
        // The coordinator does not authenticate.
        None => set_cookie("", 0),
    };
    Ok(with_cookie(cookie, Json(Me::of(&caller)).into_response()))
}

/// Logs out.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/logout",
    request_body = EmptyBody,
    responses((status = 204, description = "Done."), NotDecided),
))]
pub(super) async fn log_out(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body<EmptyBody>,
) -> Result<Response, RequestRefusal> {
    let Json(Object(EmptyBody {})) = body?;
    app.authenticator.log_out(&headers);
    Ok(with_cookie(set_cookie("", 0), StatusCode::NO_CONTENT.into_response()))
}

/// The authenticated caller.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/me",
    responses((status = 200, description = "The answer.", body = Me)),
))]
pub(super) async fn me(Extension(caller): Extension<Caller>) -> Answer<Me> {
    Ok(Json(Me::of(&caller)))
}

fn set_cookie(value: &str, seconds: u64) -> String {
    format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Strict")
}

fn with_cookie(cookie: String, mut response: Response) -> Response {
    let headers = response.headers_mut();
    if let Ok(mut cookie) = HeaderValue::try_from(cookie) {
        cookie.set_sensitive(true);
        headers.insert(SET_COOKIE, cookie);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
