//! The table of all operations by HTTP.

use axum::routing::{get, post};

use super::app::{App, Route};
use super::{
    certificate, document, health, history, job_list, jobs, join, log_in, pages, part, part_map, parts,
    public, search_steps, solution_map, status, workers,
};
use crate::access::Requirement;

/// Returns all routes. The middleware refuses a request for any other method or path.
pub(super) fn routes() -> Vec<Route<App>> {
    const AUDIT: Requirement = Requirement::AUDIT;
    const DECIDE: Requirement = Requirement::DECIDE;
    const EXPORT: Requirement = Requirement::EXPORT;
    const PROBE: Requirement = Requirement::PROBE;
    const PUBLIC: Requirement = Requirement::PUBLIC;
    const READ: Requirement = Requirement::READ;
    const SUBMIT: Requirement = Requirement::SUBMIT;
    let mut routes = vec![
        ("GET", "/healthz", PROBE, get(health::health)),
        ("GET", "/readyz", PROBE, get(health::readiness)),
        ("GET", "/metrics", READ, get(health::metrics)),
        ("GET", "/api/v1/openapi.json", READ, get(document::document)),
        ("GET", "/api/v1/live", READ, get(status::follow)),
        ("GET", "/api/v1/coordinator", READ, get(status::coordinator)),
        ("GET", "/api/v1/jobs", READ, get(job_list::list_jobs)),
        ("POST", "/api/v1/jobs", SUBMIT, post(jobs::submit)),
        ("GET", "/api/v1/jobs/{job}", READ, get(jobs::job)),
        ("GET", "/api/v1/jobs/{job}/history", READ, get(history::history)),
        ("GET", "/api/v1/jobs/{job}/contributions", READ, get(jobs::contributions)),
        ("GET", "/api/v1/jobs/{job}/verdicts", READ, get(jobs::verdicts)),
        ("GET", "/api/v1/jobs/{job}/certificate", EXPORT, get(certificate::download)),
        ("GET", "/api/v1/jobs/{job}/cells", READ, get(part_map::cells)),
        ("GET", "/api/v1/jobs/{job}/count.svg", READ, get(solution_map::draw_count)),
        ("GET", "/api/v1/jobs/{job}/parts", READ, get(parts::list_parts)),
        ("GET", "/api/v1/jobs/{job}/parts/{part}", READ, get(part::explain)),
        ("GET", "/api/v1/jobs/{job}/parts/{part}/board.svg", READ, get(part::draw)),
        ("GET", "/api/v1/board/{n}", READ, get(search_steps::search)),
        ("GET", "/api/v1/events", READ, get(status::events)),
        ("GET", "/api/v1/history", READ, get(history::fleet_history)),
        ("POST", "/api/v1/jobs/{job}/pause", DECIDE, post(jobs::pause)),
        ("POST", "/api/v1/jobs/{job}/resume", DECIDE, post(jobs::resume)),
        ("POST", "/api/v1/jobs/{job}/cancel", DECIDE, post(jobs::cancel)),
        ("POST", "/api/v1/jobs/{job}/priority", DECIDE, post(jobs::set_priority)),
        ("POST", "/api/v1/jobs/{job}/verify-more", DECIDE, post(jobs::verify_more)),
        ("POST", "/api/v1/jobs/{job}/end-verification", DECIDE, post(jobs::end_verification)),
        ("GET", "/api/v1/audit", AUDIT, get(status::audit_entries)),
        ("POST", "/api/v1/login", PUBLIC, post(log_in::log_in)),
        ("POST", "/api/v1/logout", PUBLIC, post(log_in::log_out)),
        ("POST", "/api/v1/join/{code}", PUBLIC, post(join::join)),
        ("GET", "/api/v1/public", PUBLIC, get(public::summary)),
        ("GET", "/api/v1/people", PUBLIC, get(public::list_people)),
        ("GET", "/api/v1/people/{name}", PUBLIC, get(public::person)),
        ("GET", "/api/v1/join/{code}", PUBLIC, get(join::location)),
        ("GET", "/api/v1/me", READ, get(log_in::me)),
        ("GET", "/api/v1/workers", READ, get(workers::list_workers)),
        ("GET", "/api/v1/workers/{worker}/history", READ, get(history::worker_history)),
        ("POST", "/api/v1/workers/drain", DECIDE, post(workers::drain)),
        ("POST", "/api/v1/workers/block", DECIDE, post(workers::block)),
        ("POST", "/api/v1/workers/unblock", DECIDE, post(workers::unblock)),
    ];
    routes.extend(pages::routes());
    routes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn each_route_is_there_once() {
        let all: BTreeSet<_> = routes().into_iter().map(|(method, path, ..)| (method, path)).collect();
        assert_eq!(all.len(), routes().len());
    }

    /// Only a router's own response shows its methods: the table lists a router with two methods once.
    #[test]
    fn every_route_has_the_method_it_is_listed_with_and_no_other() {
        for (method, path, _, router) in routes() {
            let shown = format!("{router:?}");
            let has = |method: &str| !shown.contains(&format!("{method}: None"));
            let methods = ["get", "post", "put", "delete", "patch", "options", "trace", "connect", "head"];
            let found: Vec<_> = methods.into_iter().filter(|method| has(method)).collect();
            assert_eq!(found, [method.to_ascii_lowercase()], "{path}");
        }
    }

    #[test]
    fn the_document_names_all_paths_that_are_not_pages() {
        let document: Value = serde_json::from_str(document::OPENAPI).expect("JSON");
        let described = document["paths"].as_object().expect("paths").keys().cloned();
        let pages: BTreeSet<_> = pages::routes().into_iter().map(|(_, path, ..)| path).collect();
        let served = routes().into_iter().map(|(_, path, ..)| path).filter(|path| !pages.contains(path));
        let served: BTreeSet<String> = served.map(str::to_owned).collect();
        assert_eq!(described.collect::<BTreeSet<_>>(), served);
    }
}
