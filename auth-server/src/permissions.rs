//! The permission that each request requires, by gRPC and by HTTP.

use queens_auth::Permission;
use queens_auth::Permission::{Audit, Count, Decide, Export, Public, Read};

/// Method, path and permission of every route. A request for any other route is refused.
const TABLE: &[(&str, &str, Permission)] = &[
    ("POST", "/queens.v1.Workers/Session", Count),
    ("POST", "/queens.v1.Jobs/Submit", Decide),
    ("POST", "/queens.v1.Jobs/List", Read),
    ("POST", "/queens.v1.Jobs/Get", Read),
    ("POST", "/queens.v1.Jobs/Watch", Read),
    ("POST", "/queens.v1.Jobs/Cancel", Decide),
    ("POST", "/queens.v1.Jobs/Pause", Decide),
    ("POST", "/queens.v1.Jobs/Resume", Decide),
    ("POST", "/queens.v1.Jobs/SetPriority", Decide),
    ("POST", "/queens.v1.Jobs/VerifyMore", Decide),
    ("POST", "/queens.v1.Jobs/ListContributions", Read),
    ("POST", "/queens.v1.Jobs/ListVerdicts", Read),
    ("POST", "/queens.v1.Jobs/GetProgressHistory", Read),
    ("POST", "/queens.v1.Jobs/Export", Export),
    ("POST", "/queens.v1.Jobs/ListWorkers", Read),
    ("POST", "/queens.v1.Jobs/DrainWorkers", Decide),
    ("POST", "/queens.v1.Jobs/BlockWorkers", Decide),
    ("POST", "/queens.v1.Jobs/UnblockWorkers", Decide),
    ("POST", "/queens.v1.Jobs/ListEvents", Read),
    ("POST", "/queens.v1.Jobs/ListAuditEntries", Audit),
    ("POST", "/queens.v1.Jobs/GetCoordinator", Read),
    ("POST", "/grpc.health.v1.Health/Check", Public),
    ("POST", "/grpc.health.v1.Health/List", Public),
    ("POST", "/grpc.health.v1.Health/Watch", Public),
    ("POST", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Read),
    ("GET", "/healthz", Public),
    ("GET", "/readyz", Public),
    ("GET", "/metrics", Read),
    ("GET", "/api/v1/openapi.json", Read),
    ("GET", "/api/v1/live", Read),
    ("GET", "/api/v1/coordinator", Read),
    ("GET", "/api/v1/jobs", Read),
    ("POST", "/api/v1/jobs", Decide),
    ("GET", "/api/v1/jobs/{job}", Read),
    ("GET", "/api/v1/jobs/{job}/history", Read),
    ("GET", "/api/v1/jobs/{job}/contributions", Read),
    ("GET", "/api/v1/jobs/{job}/verdicts", Read),
    ("GET", "/api/v1/jobs/{job}/cells", Read),
    ("GET", "/api/v1/jobs/{job}/count.svg", Read),
    ("GET", "/api/v1/jobs/{job}/parts", Read),
    ("GET", "/api/v1/jobs/{job}/parts/{part}", Read),
    ("GET", "/api/v1/jobs/{job}/parts/{part}/board.svg", Read),
    ("GET", "/api/v1/board/{n}", Read),
    ("GET", "/api/v1/events", Read),
    ("GET", "/api/v1/history", Read),
    ("POST", "/api/v1/jobs/{job}/pause", Decide),
    ("POST", "/api/v1/jobs/{job}/resume", Decide),
    ("POST", "/api/v1/jobs/{job}/cancel", Decide),
    ("POST", "/api/v1/jobs/{job}/priority", Decide),
    ("POST", "/api/v1/jobs/{job}/verify-more", Decide),
    ("GET", "/api/v1/workers", Read),
    ("POST", "/api/v1/workers/drain", Decide),
    ("POST", "/api/v1/workers/block", Decide),
    ("POST", "/api/v1/workers/unblock", Decide),
    ("GET", "/api/v1/audit", Audit),
    ("GET", "/audit", Read),
    ("GET", "/assets/audit.js", Public),
    ("GET", "/login", Public),
    ("POST", "/api/v1/login", Public),
    ("POST", "/api/v1/logout", Public),
    ("GET", "/api/v1/me", Read),
    ("GET", "/assets/login.js", Public),
    ("GET", "/", Read),
    ("GET", "/workers", Read),
    ("GET", "/workers/{name}", Read),
    ("GET", "/jobs/{job}", Read),
    ("GET", "/jobs/{job}/parts/{part}", Read),
    ("GET", "/board", Read),
    ("GET", "/assets/board.js", Public),
    ("GET", "/assets/crown.svg", Public),
    ("GET", "/assets/style.css", Public),
    ("GET", "/assets/queen.svg", Public),
    ("GET", "/assets/page.js", Public),
    ("GET", "/assets/jobs.js", Public),
    ("GET", "/assets/job.js", Public),
    ("GET", "/assets/heat.js", Public),
    ("GET", "/assets/picture.js", Public),
    ("GET", "/assets/chart.js", Public),
    ("GET", "/assets/workers.js", Public),
    ("GET", "/assets/worker.js", Public),
    ("GET", "/assets/fleet.js", Public),
    ("GET", "/assets/list.js", Public),
    ("GET", "/assets/part.js", Public),
];

/// Returns the permission that a request requires; `None` for an unknown route.
pub(super) fn permission(method: &str, path: &str) -> Option<Permission> {
    // HTTP clients may send HEAD to every GET route.
    let method = if method == "HEAD" { "GET" } else { method };
    TABLE.iter().find(|(known, at, _)| (*known, *at) == (method, path)).map(|(_, _, permission)| *permission)
}

/// The kind of a request, for its quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A worker's session.
    Session,
    /// A new job.
    Submission,
    /// A stream of health states.
    Watch,
    /// A health check: supervisors send it, and it can't be kept open.
    Probe,
    Other,
}

/// Returns the kind of a request.
pub(super) fn kind(method: &str, path: &str) -> Kind {
    match (method, path) {
        (_, "/queens.v1.Workers/Session") => Kind::Session,
        (_, "/queens.v1.Jobs/Submit") | ("POST", "/api/v1/jobs") => Kind::Submission,
        (_, "/grpc.health.v1.Health/Watch") => Kind::Watch,
        (_, "/healthz" | "/readyz") => Kind::Probe,
        _ => Kind::Other,
    }
}

/// Returns the method and the path of every route.
pub fn requests() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|(method, path, _)| (*method, *path))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PROTOCOL: &str = include_str!("../../proto/proto/queens/v1/queens.proto");

    /// Returns the methods of the protocol's services, parsed from its text.
    fn methods() -> BTreeSet<String> {
        let (mut service, mut found) = ("", BTreeSet::new());
        for line in PROTOCOL.lines().map(str::trim) {
            let named = |line: &'static str| line.split([' ', '(', '{']).nth(1).unwrap_or_default();
            if line.starts_with("service ") {
                service = named(line);
            } else if line.starts_with("rpc ") {
                found.insert(format!("/queens.v1.{service}/{}", named(line)));
            }
        }
        found
    }

    #[test]
    fn every_method_of_the_protocol_is_in_the_table_and_no_other() {
        let ours = TABLE.iter().filter(|(_, path, _)| path.starts_with("/queens.v1."));
        let ours: BTreeSet<String> = ours.map(|(_, path, _)| (*path).to_owned()).collect();
        assert_eq!(ours, methods());
        assert!(ours.len() >= 19);
    }

    #[test]
    fn whatever_is_in_the_table_is_there_once() {
        let all: BTreeSet<_> = TABLE.iter().map(|(method, path, _)| (method, path)).collect();
        assert_eq!(all.len(), TABLE.len());
        assert_eq!(permission("HEAD", "/metrics"), Some(Read));
        for (method, path) in
            [("PUT", "/metrics"), ("POST", "/"), ("GET", "/queens.v1.Jobs/List"), ("GET", "/x")]
        {
            assert_eq!(permission(method, path), None, "{method} {path}");
        }
    }
}
