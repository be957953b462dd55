//! Why a request is not answered as it wished.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::LARGEST_BODY;
use crate::Stopped;
use crate::connections::REQUEST;
use queens_ledger::TooManyJobs;
use queens_ledger::{JobRefusal, UnknownJob, UnknownWorker};

/// A status and a reason, which is sent as `{"error": reason}`.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    reason: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
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

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.reason }))).into_response()
    }
}

impl From<JsonRejection> for Refusal {
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

impl From<QueryRejection> for Refusal {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl From<Stopped> for Refusal {
    fn from(_: Stopped) -> Self {
        Self::unavailable("the coordinator is stopping")
    }
}

impl From<TooManyJobs> for Refusal {
    fn from(refusal: TooManyJobs) -> Self {
        Self::unavailable(refusal.to_string())
    }
}

impl From<UnknownJob> for Refusal {
    fn from(unknown: UnknownJob) -> Self {
        Self::not_found(unknown.to_string())
    }
}

impl From<UnknownWorker> for Refusal {
    fn from(unknown: UnknownWorker) -> Self {
        Self::not_found(unknown.to_string())
    }
}

impl From<JobRefusal> for Refusal {
    fn from(refusal: JobRefusal) -> Self {
        let status = match refusal {
            JobRefusal::Unknown(_) => StatusCode::NOT_FOUND,
            JobRefusal::Over { .. } => StatusCode::CONFLICT,
        };
        Self::new(status, refusal.to_string())
    }
}
