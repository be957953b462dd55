//! The authenticating middleware by gRPC, with the table of all operations by gRPC.

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tonic::{Code, Status};

use crate::access::{Authenticator, Protocol, Requirement};
use crate::refusal::grpc_code;

/// gRPC.
struct Grpc;

impl Protocol for Grpc {
    fn refuse(&self, _: &Request, status: StatusCode, reason: String) -> Response {
        Status::new(grpc_code(status), reason).into_http()
    }

    fn outcome(&self, response: &Response) -> Option<Result<(), String>> {
        // An answer with a body has its status after the body.
        let status = Status::from_header_map(response.headers())?;
        Some(if status.code() == Code::Ok { Ok(()) } else { Err(status.message().to_owned()) })
    }
}

/// Returns what an operation requires of the sender; `None` for an unknown path.
fn requirement(path: &str) -> Option<Requirement> {
    Some(match path {
        "/queens.v1.Workers/Session" => Requirement::SESSION,
        "/queens.v1.Workers/GetOwnContribution" => Requirement::OWN,
        "/queens.v1.Jobs/Submit" => Requirement::SUBMIT,
        "/queens.v1.Jobs/ChangeJob" | "/queens.v1.Jobs/ChangeWorkers" => Requirement::DECIDE,
        "/queens.v1.Jobs/List"
        | "/queens.v1.Jobs/Get"
        | "/queens.v1.Jobs/Watch"
        | "/queens.v1.Jobs/ListContributions"
        | "/queens.v1.Jobs/ListVerdicts"
        | "/queens.v1.Jobs/ListWorkers"
        | "/queens.v1.Jobs/ListEvents"
        | "/queens.v1.Jobs/GetCoordinator"
        | "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo" => Requirement::READ,
        "/queens.v1.Jobs/Export" => Requirement::EXPORT,
        "/queens.v1.Jobs/ListAuditEntries" => Requirement::AUDIT,
        "/grpc.health.v1.Health/Check" | "/grpc.health.v1.Health/List" => Requirement::PUBLIC,
        "/grpc.health.v1.Health/Watch" => Requirement::WATCH,
        _ => return None,
    })
}

pub(super) async fn authorize(
    State(authenticator): State<Authenticator>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let requirement = requirement(&path).filter(|_| request.method() == Method::POST);
    authenticator.handle(&Grpc, requirement, &path, request, next).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_protocol_requires_something() {
        let protocol = include_str!("../../../proto/proto/queens/v1/queens.proto");
        let (mut service, mut n_operations) = ("", 0);
        for line in protocol.lines().map(str::trim) {
            let name = line.split([' ', '(', '{']).nth(1).unwrap_or_default();
            if line.starts_with("service ") {
                service = name;
            } else if line.starts_with("rpc ") {
                assert!(requirement(&format!("/queens.v1.{service}/{name}")).is_some(), "{service}/{name}");
                n_operations += 1;
            }
        }
        assert!(n_operations >= 15, "{n_operations}");
        assert_eq!(requirement("/queens.v1.Jobs/Erase"), None);
    }
}
