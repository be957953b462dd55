//! HTTP responses for refused requests: a status code and a reason.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::json;

pub(super) use crate::refusal::RequestRefusal;

/// The largest body of a request in bytes. No valid body is longer than a line.
pub(super) const LARGEST_BODY: usize = 16 << 10;

/// The reason of a refusal. The response carries it to the audit log.
#[derive(Clone, Debug)]
pub(super) struct Reason(pub(super) String);

impl RequestRefusal {
    pub(super) fn method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this method is not allowed here: the header Allow names those that are",
        )
    }
}

/// The response has the body `{"error": reason}`, and the price of an expensive job.
impl IntoResponse for RequestRefusal {
    fn into_response(self) -> Response {
        let body = Json(match self.confirm {
            None => json!({ "error": self.reason }),
            Some(price) => json!({ "error": self.reason, "confirm": price }),
        });
        (self.status, Extension(Reason(self.reason)), body).into_response()
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
