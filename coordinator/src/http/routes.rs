//! All that is served.

use axum::routing::{MethodRouter, get, post};

use super::app::App;
use super::{cells, crosses, document, explain, health, jobs, metrics, news, pages, workers};

/// Each path with its methods.
pub(super) fn routes() -> Vec<(&'static str, MethodRouter<App>)> {
    let mut routes = vec![
        ("/healthz", get(health::health)),
        ("/readyz", get(health::readiness)),
        ("/metrics", get(metrics::metrics)),
        ("/api/v1/openapi.json", get(document::document)),
        ("/api/v1/live", get(news::follow)),
        ("/api/v1/coordinator", get(news::coordinator)),
        ("/api/v1/jobs", get(jobs::list_jobs).post(jobs::submit)),
        ("/api/v1/jobs/{job}", get(jobs::job)),
        ("/api/v1/jobs/{job}/history", get(jobs::history)),
        ("/api/v1/jobs/{job}/contributions", get(jobs::contributions)),
        ("/api/v1/jobs/{job}/verdicts", get(jobs::verdicts)),
        ("/api/v1/jobs/{job}/cells", get(cells::cells)),
        ("/api/v1/jobs/{job}/crosses", get(crosses::list_crosses)),
        ("/api/v1/jobs/{job}/crosses/{cross}", get(explain::explain)),
        ("/api/v1/jobs/{job}/crosses/{cross}/board.svg", get(explain::draw)),
        ("/api/v1/events", get(news::events)),
        ("/api/v1/jobs/{job}/pause", post(jobs::pause)),
        ("/api/v1/jobs/{job}/resume", post(jobs::resume)),
        ("/api/v1/jobs/{job}/cancel", post(jobs::cancel)),
        ("/api/v1/jobs/{job}/priority", post(jobs::set_priority)),
        ("/api/v1/jobs/{job}/verify-more", post(jobs::verify_more)),
        ("/api/v1/workers", get(workers::list_workers)),
        ("/api/v1/workers/drain", post(workers::drain)),
        ("/api/v1/workers/block", post(workers::block)),
        ("/api/v1/workers/unblock", post(workers::unblock)),
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
    fn the_document_names_all_paths_that_are_not_pages() {
        let document: Value = serde_json::from_str(document::OPENAPI).expect("JSON");
        let described = document["paths"].as_object().expect("paths").keys().cloned();
        let pages: BTreeSet<_> = pages::routes().into_iter().map(|(path, _)| path).collect();
        let served = routes().into_iter().map(|(path, _)| path).filter(|path| !pages.contains(path));
        let served: BTreeSet<String> = served.map(str::to_owned).collect();
        assert_eq!(described.collect::<BTreeSet<_>>(), served);
    }
}
