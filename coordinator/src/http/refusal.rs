//! Why a request is not answered as it wished.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use queens_event_loop::Stopped;
use queens_ledger::{JobRefusal, SubmissionRefusal, UnknownWorker};
use serde_json::json;

use crate::connections::REQUEST;

/// The largest body of a request: all that is ever sent is a line.
pub(super) const LARGEST_BODY: usize = 16 << 10;

/// A status and a reason, which is sent as `{"error": reason}`, with what has to be confirmed, if that is why.
#[derive(Debug)]
pub(super) struct RequestRefusal {
    status: StatusCode,
    reason: String,
    /// What has to be confirmed, for people.
    confirm: Option<String>,
}

/// The reason of a refusal, which its response carries along for the records.
#[derive(Clone, Debug)]
pub(super) struct Reason(pub(super) String);

impl RequestRefusal {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), confirm: None }
    }

    pub(super) fn not_found(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, reason)
    }

    pub(super) fn bad_request(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason)
    }

    pub(super) fn unavailable(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, reason)
    }

    pub(super) fn too_late() -> Self {
        let reason = format!("the request was not there or not answered after {} s", REQUEST.as_secs());
        Self::new(StatusCode::REQUEST_TIMEOUT, reason)
    }

    pub(super) fn method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this method is not allowed here: the header Allow names those that are",
        )
    }
}

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
            // What is JSON but makes no sense is as bad a request as what is none.
            JsonRejection::JsonDataError(_) | JsonRejection::JsonSyntaxError(_) => StatusCode::BAD_REQUEST,
            _ => rejection.status(),
        };
        let reason = match rejection.body_text() {
            _ if status == StatusCode::PAYLOAD_TOO_LARGE => {
                format!("the body is longer than {LARGEST_BODY} bytes")
            }
            // What type of the program it does not fit is of no use to whoever sent it.
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

impl From<Stopped> for RequestRefusal {
    fn from(_: Stopped) -> Self {
        Self::unavailable("the coordinator is stopping")
    }
}

impl From<SubmissionRefusal> for RequestRefusal {
    fn from(refusal: SubmissionRefusal) -> Self {
        match refusal {
            SubmissionRefusal::TooMany(_) => Self::unavailable(refusal.to_string()),
            SubmissionRefusal::Expensive { .. } => {
                let price = refusal.to_string();
                let reason = format!("{price}; if you mean it, add \"confirm\": true");
                Self { confirm: Some(price), ..Self::new(StatusCode::CONFLICT, reason) }
            }
            SubmissionRefusal::Crosses { .. } | SubmissionRefusal::Second(_) => {
                Self::bad_request(refusal.to_string())
            }
        }
    }
}

impl From<UnknownWorker> for RequestRefusal {
    fn from(unknown: UnknownWorker) -> Self {
        Self::not_found(unknown.to_string())
    }
}

impl From<JobRefusal> for RequestRefusal {
    fn from(refusal: JobRefusal) -> Self {
        let status = match refusal {
            JobRefusal::Unknown(_) => StatusCode::NOT_FOUND,
            JobRefusal::TooMany(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::CONFLICT,
        };
        Self::new(status, refusal.to_string())
    }
}

/// What is refused, for the document.
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
    pub(crate) enum Senseless {
        /// What was asked for makes no sense.
        #[response(status = 400)]
        Query(Error),
    }

    #[derive(IntoResponses)]
    pub(crate) enum NoSuchJob {
        /// There is no such job or cross.
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
    pub(crate) enum NotDecided {
        /// The body is not what was expected.
        #[response(status = 400)]
        Body(Error),
        /// The request was sent by a page of another site.
        #[response(status = 403)]
        Stranger(Error),
        /// The body is too large.
        #[response(status = 413)]
        TooLarge(Error),
        /// The body is not said to be JSON.
        #[response(status = 415)]
        NotJson(Error),
        /// It was not carried out: nothing can be made durable at present, there are too many jobs that are not over,
        /// or the coordinator is stopping.
        #[response(status = 503)]
        Unavailable(Error),
    }

    /// What has to be confirmed.
    #[derive(ToSchema)]
    pub(crate) struct Unconfirmed {
        /// The reason, for people.
        error: String,
        /// What the job takes, in words.
        confirm: String,
    }

    #[derive(IntoResponses)]
    pub(crate) enum IsExpensive {
        /// The job takes a year of core time or more, and nobody has said that it is meant.
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
