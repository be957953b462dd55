//! HTTP responses for refused requests: a status code and a reason as JSON, or a page for people.

use axum::extract::Request;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::header::{ACCEPT, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::json;

use super::html::{Header, fill, framed};
pub(super) use crate::refusal::{RequestRefusal, find};

/// The largest body of a request in bytes. No valid body is longer than a line.
pub(super) const LARGEST_BODY: usize = 16 << 10;

/// The main part of the page of an error, with placeholders for its title and its text, which is HTML.
const MAIN: &str = include_str!("../../assets/missing.html");

/// The reason of a refusal. The response carries it to the audit log.
#[derive(Clone, Debug)]
pub(super) struct Reason(pub(super) String);

/// The response has the body `{"error": reason}`, and the price of an expensive job.
impl IntoResponse for RequestRefusal {
    fn into_response(self) -> Response {
        let body = Json(match self.confirm {
            None => json!({ "error": self.reason }),
            Some(price) => json!({ "error": self.reason, "confirm": price }),
        });
        let mut response = (self.status, Extension(Reason(self.reason)), body).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<JsonRejection> for RequestRefusal {
    fn from(rejection: JsonRejection) -> Self {
        let status = match rejection {
            // JSON of the wrong shape is as bad a request as invalid JSON.
            JsonRejection::JsonDataError(_) | JsonRejection::JsonSyntaxError(_) => StatusCode::BAD_REQUEST,
            _ => rejection.status(),
        };
        let reason = match rejection.body_text() {
            _ if status == StatusCode::PAYLOAD_TOO_LARGE => {
                format!("the body is longer than {LARGEST_BODY} bytes")
            }
            // The name of a Rust type would not help the sender.
            text => text.split_once("target type: ").map_or(text.as_str(), |(_, reason)| reason).to_owned(),
        };
        Self::new(status, reason)
    }
}

impl From<QueryRejection> for RequestRefusal {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

/// Returns whether a browser asks for a page. Programs that accept anything don't count.
pub(super) fn is_of_a_person(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|wants| wants.contains("text/html"))
}

/// Returns a page with a message. Its texts are ours: nothing in them comes from a request, so nothing is escaped.
pub(super) fn error_page(status: StatusCode, title: &'static str, text: &str) -> Response {
    let page = framed(title, &[], Header::Links, "", MAIN);
    (status, Html(fill(&page, &[("title", title), ("text", text)]))).into_response()
}

/// The page for a job that does not exist.
pub(super) fn no_job_page() -> Response {
    let text = "The coordinator has no job of this number. Is it another coordinator, or another data directory? \
                <a href=\"/\">All jobs</a> are listed.";
    error_page(StatusCode::NOT_FOUND, "No such job", text)
}

/// The page for a worker that does not exist.
pub(super) fn no_worker_page() -> Response {
    let text = "No worker of this name is connected, or was lately. It has gone, or has never been here. What it has \
                counted is kept: the page of a job names who has counted it. <a href=\"/workers\">All workers</a> are \
                listed.";
    error_page(StatusCode::NOT_FOUND, "No such worker", text)
}

/// Answers a path without a route: a page for people, the API's error format for programs.
pub(super) async fn not_found(request: Request) -> Response {
    let is_of_pages = !request.uri().path().starts_with("/api/");
    if is_of_pages && is_of_a_person(request.headers()) {
        let text = "The coordinator has no page at this address. Is a letter of it wrong? All that there is can be \
                    reached from <a href=\"/\">the jobs</a> and <a href=\"/workers\">the workers</a>.";
        return error_page(StatusCode::NOT_FOUND, "No such page", text);
    }
    RequestRefusal::not_found("there is no such page").into_response()
}

/// The refusals, for the OpenAPI document.
#[cfg(test)]
#[expect(dead_code, reason = "only described")]
pub(super) mod described {
    use utoipa::{IntoResponses, ToSchema};

    /// Why a request was refused.
    #[derive(ToSchema)]
    pub(crate) struct Error {
        /// The reason, for people.
        error: String,
    }

    #[derive(IntoResponses)]
    pub(crate) enum InvalidRequest {
        /// A parameter is invalid.
        #[response(status = 400)]
        Query(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NoSuchJob {
        /// The job or part does not exist.
        #[response(status = 404)]
        Job(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NoDetails {
        /// The job has no plan yet.
        #[response(status = 409)]
        NoPlan(Error),
        /// The coordinator is busy or stopping.
        #[response(status = 503)]
        Busy(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NoCertificate {
        /// The job is not done, or it is the second pass of another, whose certificate has both.
        #[response(status = 409)]
        NotDone(Error),
        /// Another certificate is being sent, or the records can't be read now.
        #[response(status = 503)]
        Busy(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NoRecords {
        /// The records can't be read now.
        #[response(status = 503)]
        Records(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NoPublicPages {
        /// The coordinator has no public pages, or nobody of this name is shown.
        #[response(status = 404)]
        Public(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NotDecided {
        /// The body is invalid.
        #[response(status = 400)]
        Body(Error),
        /// A page of another site sent the request.
        #[response(status = 403)]
        Stranger(Error),
        /// The body is too large.
        #[response(status = 413)]
        TooLarge(Error),
        /// The content type is not JSON.
        #[response(status = 415)]
        NotJson(Error),
        /// The command was not executed: the store has an error, there are too many open jobs, or the coordinator is
        /// stopping.
        #[response(status = 503)]
        Unavailable(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NotJoined {
        /// The link is wrong or closed.
        #[response(status = 404)]
        Code(Error),
        /// The campaign is full, or the name is taken, also with a number.
        #[response(status = 409)]
        Full(Error),
        /// Too many people have joined from this address, or in all.
        #[response(status = 429)]
        TooMany(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NotLocated {
        /// No campaign has the link.
        #[response(status = 404)]
        Code(Error),
        /// The coordinator does not know its own URL, or can't read its store.
        #[response(status = 503)]
        NotNow(Error),
    }

    /// What the sender must confirm.
    #[derive(ToSchema)]
    pub(crate) struct Unconfirmed {
        /// The reason, for people.
        error: String,
        /// What the job takes, in words.
        confirm: String,
    }

    #[derive(IntoResponses)]
    pub(crate) enum IsExpensive {
        /// The job takes a year of core time or more, and the request does not confirm it.
        #[response(status = 409)]
        Expensive(Unconfirmed),
    }

    #[derive(IntoResponses)]
    pub(crate) enum IsOver {
        /// The job is over and stays so.
        #[response(status = 409)]
        Over(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NoSuchWorker {
        /// No worker has this name.
        #[response(status = 404)]
        Worker(Error),
    }
}
