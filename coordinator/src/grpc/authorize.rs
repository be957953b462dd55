//! The answers of the authenticating middleware by gRPC.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use queens_auth_server::{Authenticator, Protocol};
use tonic::{Code, Status};

/// gRPC.
struct Grpc;

impl Protocol for Grpc {
    fn refuse(&self, _: &Request, status: StatusCode, reason: String) -> Response {
        let code = match status {
            StatusCode::UNAUTHORIZED => Code::Unauthenticated,
            StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
            StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
            _ => Code::PermissionDenied,
        };
        Status::new(code, reason).into_http()
    }

    fn outcome(&self, response: &Response) -> Option<Result<(), String>> {
        // An answer with a body has its status after the body.
        let status = Status::from_header_map(response.headers())?;
        Some(if status.code() == Code::Ok { Ok(()) } else { Err(status.message().to_owned()) })
    }
}

pub(super) async fn authorize(
    State(authenticator): State<Authenticator>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    authenticator.handle(&Grpc, &path, request, next).await
}
