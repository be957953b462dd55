//! The table of all HTTP routes.

use axum::routing::{MethodRouter, get, post};

use super::state::App;
use super::{
    document, event_stream, health, history, job_list, jobs, log_in, metrics, pages, part_map, part_text,
    parts, search_steps, solution_map, worker_list, workers,
};

/// Returns the method, path and handler of each route.
pub(super) fn routes() -> Vec<(&'static str, &'static str, MethodRouter<App>)> {
    let mut routes = vec![
        ("GET", "/healthz", get(health::health)),
        ("GET", "/readyz", get(health::readiness)),
        ("GET", "/metrics", get(metrics::metrics)),
        ("GET", "/api/v1/openapi.json", get(document::document)),
        ("GET", "/api/v1/live", get(event_stream::follow)),
        ("GET", "/api/v1/coordinator", get(event_stream::coordinator)),
        ("GET", "/api/v1/jobs", get(job_list::list_jobs)),
        ("POST", "/api/v1/jobs", post(jobs::submit)),
        ("GET", "/api/v1/jobs/{job}", get(jobs::job)),
        ("GET", "/api/v1/jobs/{job}/history", get(history::history)),
        ("GET", "/api/v1/jobs/{job}/contributions", get(jobs::contributions)),
        ("GET", "/api/v1/jobs/{job}/verdicts", get(jobs::verdicts)),
        ("GET", "/api/v1/jobs/{job}/cells", get(part_map::cells)),
        ("GET", "/api/v1/jobs/{job}/count.svg", get(solution_map::draw_count)),
        ("GET", "/api/v1/jobs/{job}/parts", get(parts::list_parts)),
        ("GET", "/api/v1/jobs/{job}/parts/{part}", get(part_text::explain)),
        ("GET", "/api/v1/jobs/{job}/parts/{part}/board.svg", get(part_text::draw)),
        ("GET", "/api/v1/board/{n}", get(search_steps::search)),
        ("GET", "/api/v1/events", get(event_stream::events)),
        ("GET", "/api/v1/history", get(history::fleet_history)),
        ("POST", "/api/v1/jobs/{job}/pause", post(jobs::pause)),
        ("POST", "/api/v1/jobs/{job}/resume", post(jobs::resume)),
        ("POST", "/api/v1/jobs/{job}/cancel", post(jobs::cancel)),
        ("POST", "/api/v1/jobs/{job}/priority", post(jobs::set_priority)),
        ("POST", "/api/v1/jobs/{job}/verify-more", post(jobs::verify_more)),
        ("GET", "/api/v1/audit", get(event_stream::audit_entries)),
        ("POST", "/api/v1/login", post(log_in::log_in)),
        ("POST", "/api/v1/logout", post(log_in::log_out)),
        ("GET", "/api/v1/me", get(log_in::me)),
        ("GET", "/api/v1/workers", get(worker_list::list_workers)),
        ("POST", "/api/v1/workers/drain", post(workers::drain)),
        ("POST", "/api/v1/workers/block", post(workers::block)),
        ("POST", "/api/v1/workers/unblock", post(workers::unblock)),
    ];
    routes.extend(pages::routes());
    routes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use queens_auth_server::requests;

    #[test]
    fn what_is_served_is_what_the_table_of_permits_has() {
        let served: BTreeSet<_> = routes().into_iter().map(|(method, path, _)| (method, path)).collect();
        let permitted =
            requests().filter(|(_, path)| !path.starts_with("/queens.") && !path.starts_with("/grpc."));
        assert_eq!(permitted.collect::<BTreeSet<_>>(), served);
    }

    /// Only a router's own response shows its methods: the table lists a router with two methods once.
    #[test]
    fn every_route_has_the_method_it_is_listed_with_and_no_other() {
        for (method, path, router) in routes() {
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
        let pages: BTreeSet<_> = pages::routes().into_iter().map(|(_, path, _)| path).collect();
        let served = routes().into_iter().map(|(_, path, _)| path).filter(|path| !pages.contains(path));
        let served: BTreeSet<String> = served.map(str::to_owned).collect();
        assert_eq!(described.collect::<BTreeSet<_>>(), served);
    }
}
