//! Refused requests, for both servers: a status code of HTTP and a reason.

use axum::http::StatusCode;
use queens_event_loop::{NoExport, QueryError, Snapshot, Stopped};
use queens_ledger::{JobRefusal, SubmissionRefusal, UnknownWorker};
use queens_model::{JobId, JobStatus};
use queens_proto::convert::InvalidMessage;
use queens_store::certificate::ExportError;
use tonic::{Code, Status};

/// A status code and a reason. An expensive job adds what the sender must confirm.
#[derive(Clone, Debug)]
pub(crate) struct RequestRefusal {
    pub(crate) status: StatusCode,
    pub(crate) reason: String,
    /// What the sender must confirm, for people.
    pub(crate) confirm: Option<String>,
    /// After how many seconds the sender may try again.
    pub(crate) retry_after_s: Option<u32>,
}

impl RequestRefusal {
    pub(crate) fn new(status: StatusCode, reason: impl ToString) -> Self {
        let retry_after_s = (status == StatusCode::TOO_MANY_REQUESTS).then_some(1);
        Self { status, reason: reason.to_string(), confirm: None, retry_after_s }
    }

    pub(crate) fn not_found(reason: impl ToString) -> Self {
        Self::new(StatusCode::NOT_FOUND, reason)
    }

    pub(crate) fn unknown_job(job: JobId) -> Self {
        Self::not_found(format!("there is no job {job}"))
    }

    pub(crate) fn bad_request(reason: impl ToString) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason)
    }

    pub(crate) fn unavailable(reason: impl ToString) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, reason)
    }
}

/// Finds a job.
pub(crate) fn find(snapshot: &Snapshot, id: JobId) -> Result<&JobStatus, RequestRefusal> {
    snapshot.job(id).ok_or_else(|| RequestRefusal::unknown_job(id))
}

/// Returns the status code of gRPC for one of HTTP.
fn grpc_code(status: StatusCode) -> Code {
    match status {
        StatusCode::BAD_REQUEST => Code::InvalidArgument,
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::CONFLICT => Code::FailedPrecondition,
        StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        _ => Code::PermissionDenied,
    }
}

impl From<RequestRefusal> for Status {
    fn from(refusal: RequestRefusal) -> Self {
        Self::new(grpc_code(refusal.status), refusal.reason)
    }
}

impl From<Stopped> for RequestRefusal {
    fn from(_: Stopped) -> Self {
        Self::unavailable("the coordinator is stopping")
    }
}

impl From<QueryError> for RequestRefusal {
    fn from(error: QueryError) -> Self {
        Self::unavailable(error)
    }
}

impl From<InvalidMessage> for RequestRefusal {
    fn from(invalid: InvalidMessage) -> Self {
        match invalid {
            InvalidMessage::Protocol { .. } => Self::new(StatusCode::CONFLICT, invalid),
            _ => Self::bad_request(invalid),
        }
    }
}

impl From<NoExport> for RequestRefusal {
    fn from(error: NoExport) -> Self {
        match error {
            NoExport::Failed(ExportError::Unknown(job)) => Self::unknown_job(job),
            NoExport::Unkept | NoExport::Failed(ExportError::NotDone(_) | ExportError::Second(..)) => {
                Self::new(StatusCode::CONFLICT, error)
            }
            NoExport::Busy | NoExport::Failed(_) => Self::unavailable(error),
        }
    }
}

impl From<SubmissionRefusal> for RequestRefusal {
    fn from(refusal: SubmissionRefusal) -> Self {
        match refusal {
            SubmissionRefusal::TooMany(_) => Self::unavailable(refusal),
            SubmissionRefusal::Expensive { .. } => {
                let price = refusal.to_string();
                let reason = format!("{price}; if you mean it, add \"confirm\": true (by gRPC, 'confirmed')");
                Self { confirm: Some(price), ..Self::new(StatusCode::CONFLICT, reason) }
            }
            SubmissionRefusal::PartRange { .. } | SubmissionRefusal::Second(_) => Self::bad_request(refusal),
        }
    }
}

impl From<UnknownWorker> for RequestRefusal {
    fn from(unknown: UnknownWorker) -> Self {
        Self::not_found(unknown)
    }
}

impl From<JobRefusal> for RequestRefusal {
    fn from(refusal: JobRefusal) -> Self {
        let status = match refusal {
            JobRefusal::Unknown(_) => StatusCode::NOT_FOUND,
            JobRefusal::TooMany(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::CONFLICT,
        };
        Self::new(status, refusal)
    }
}
