//! Downloads of certificates.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::app::{App, job_id};
#[cfg(test)]
use super::refusal::described::{NoCertificate, NoSuchJob};
use super::refusal::{RequestRefusal, find};
use crate::access::Caller;

/// Marks an answer whose outcome is known only at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct IsDownload;

/// The certificate of a finished job, in pieces; an incomplete one breaks the connection off. When an operator has got
/// all of it, the job counts as exported. One certificate is made at a time.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/certificate",
    params(("job" = String, Path, description = "The job's number.")),
    responses(
        (status = 200, description = "A file.", body = String, content_type = "application/octet-stream"),
        NoSuchJob, NoCertificate,
    ),
))]
pub(super) async fn download(
    State(app): State<App>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, RequestRefusal> {
    let id = job_id(&id)?;
    let n = find(&app.handle.snapshot(), id)?.n;
    let mut pieces = app.handle.export(id, caller.decides())?;
    // Errors at the start become the status of the answer, before anything is sent.
    let first = pieces.recv().await.transpose()?;
    let stream = tokio_stream::iter(first.map(Ok)).chain(ReceiverStream::new(pieces));
    let name = format!("attachment; filename=\"q{n}-job-{id}.certificate\"");
    let headers = [(CONTENT_TYPE, "application/octet-stream".to_owned()), (CONTENT_DISPOSITION, name)];
    Ok((headers, Extension(IsDownload), Body::from_stream(stream)).into_response())
}
