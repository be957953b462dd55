//! Lets requests in that their senders may make.

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::missing;
use super::refusal::{Reason, RequestRefusal};
use crate::access::{Admission, NotLetIn};
use crate::connections::Caller;

pub(super) async fn let_in(State(admission): State<Admission>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<ConnectInfo<Caller>>().map(|ConnectInfo(caller)| caller.clone());
    let peer = caller.as_ref().map(Caller::peer);
    let path = request.extensions().get::<MatchedPath>().cloned();
    // What is not there, nobody has to ask for permission to be told that it is not.
    let Some(path) = path else { return next.run(request).await };
    match admission.admit(request.method().as_str(), path.as_str(), request.headers(), caller.as_ref()).await
    {
        Ok(pass) => {
            let noting = admission.noting(&pass, request.method().as_str(), path.as_str(), peer);
            request.extensions_mut().insert(pass.clone());
            let Some(noting) = noting else { return pass.bound(next.run(request).await) };
            let deed = noting.deed().clone();
            let response = deed.noted(next.run(request)).await;
            noting.answered(answer(&response)).await;
            response
        }
        Err(refusal) if is_of_a_person(&request, &refusal) => Redirect::to("/login").into_response(),
        Err(refusal) => refused(refusal),
    }
}

/// What a response tells whoever has asked, or the reason of a refusal.
fn answer(response: &Response) -> Result<(), String> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let reason = response.extensions().get::<Reason>().map(|Reason(reason)| reason.clone());
    Err(reason.unwrap_or_else(|| status.to_string()))
}

/// Whether somebody is looking at a page who can log in.
fn is_of_a_person(request: &Request, refusal: &NotLetIn) -> bool {
    *request.method() == Method::GET
        && missing::is_of_a_person(request.headers())
        && !matches!(
            refusal,
            NotLetIn::NotPermitted { .. } | NotLetIn::NotInTable | NotLetIn::TooMuch(_) | NotLetIn::Unread
        )
}

pub(super) fn refused(refusal: NotLetIn) -> Response {
    let reason = refusal.to_string();
    match refusal {
        NotLetIn::NoToken
        | NotLetIn::NoSuchThing
        | NotLetIn::LoggedOut
        | NotLetIn::Gone(_)
        | NotLetIn::NotAdmitted(_) => {
            let mut response = RequestRefusal::new(StatusCode::UNAUTHORIZED, reason).into_response();
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
        NotLetIn::TooMuch(_) => {
            let mut response = RequestRefusal::new(StatusCode::TOO_MANY_REQUESTS, reason).into_response();
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
        NotLetIn::Unread | NotLetIn::NoRandomNumbers => RequestRefusal::unavailable(reason).into_response(),
        NotLetIn::NotPermitted { .. } | NotLetIn::NotInTable => {
            RequestRefusal::new(StatusCode::FORBIDDEN, reason).into_response()
        }
    }
}
