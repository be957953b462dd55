//! Records the outcome of a streamed gRPC answer, such as a certificate, when its body ends.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use http_body::Frame;
use tonic::{Code, Status};

use super::audit_guard::AuditGuard;

/// The result of polling a body: a frame, an error, or the end.
type Next = Option<Result<Frame<Bytes>, axum::Error>>;

/// A pending write to the audit log.
type Recording = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The body of a gRPC answer. The outcome is recorded before the end of the body is sent.
struct AuditedBody {
    body: Body,
    audit_guard: Option<AuditGuard>,
    /// The pending write, and the end of the body that waits for it.
    recording: Option<(Recording, Next)>,
}

impl AuditGuard {
    /// Records the action when the body of the answer ends.
    pub(super) fn at_end_of(self, response: Response) -> Response {
        response.map(|body| Body::new(AuditedBody { body, audit_guard: Some(self), recording: None }))
    }
}

impl HttpBody for AuditedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Next> {
        loop {
            if let Some((recording, _)) = &mut self.recording {
                ready!(recording.as_mut().poll(context));
                return Poll::Ready(self.recording.take().and_then(|(_, end)| end));
            }
            let next = ready!(Pin::new(&mut self.body).poll_frame(context));
            match (ending(&next), self.audit_guard.take()) {
                (Some(answer), Some(audit_guard)) => {
                    self.recording = Some((Box::pin(audit_guard.answered(answer)), next));
                }
                (_, audit_guard) => {
                    self.audit_guard = audit_guard;
                    return Poll::Ready(next);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.audit_guard.is_none() && self.recording.is_none() && self.body.is_end_stream()
    }
}

/// Returns the outcome if the body ends here, or `None` if it continues.
fn ending(next: &Next) -> Option<Result<(), String>> {
    match next {
        Some(Ok(frame)) => {
            let status = Status::from_header_map(frame.trailers_ref()?);
            let refusal = status.filter(|status| status.code() != Code::Ok);
            Some(refusal.map_or(Ok(()), |status| Err(status.message().to_owned())))
        }
        Some(Err(error)) => Some(Err(error.to_string())),
        None => Some(Ok(())),
    }
}
