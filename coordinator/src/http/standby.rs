//! The HTTP server of a standby: it redirects browsers and programs to the leader.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;
use queens_event_loop::metrics::register_leading;
use queens_store::postgres::{LeaderView, Standby};

use super::error_pages::{self, is_of_a_person};
use super::health;
use super::pages;
use super::refusal::RequestRefusal;
use super::security_headers::{self, Hosts};

pub(super) fn router(standby: Standby, hosts: Hosts) -> Router {
    let mut router = Router::new();
    for (_, path, _, methods) in pages::looks() {
        router = router.route(path, methods);
    }
    router
        .route("/healthz", get(health::health))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .fallback(send_on)
        .with_state(standby)
        .layer(from_fn_with_state(hosts, security_headers::check_request))
        .layer(from_fn(security_headers::secure))
}

async fn readiness(State(standby): State<Standby>) -> (StatusCode, String) {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", standby.leader()))
}

async fn metrics(headers: HeaderMap) -> Response {
    let mut registry = Registry::with_prefix("queens");
    register_leading(&mut registry, false);
    health::exposed(&registry, &headers)
}

/// Redirects to the same path of the leader, keeping the method.
async fn send_on(State(standby): State<Standby>, request: Request) -> Response {
    let leader = standby.leader();
    let pages = match &leader {
        LeaderView::Led(leader) => leader.pages.as_ref(),
        LeaderView::Unled(_) => None,
    };
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut response = match pages {
        Some(pages) => Redirect::temporary(&format!("{pages}{path}")).into_response(),
        None if is_of_a_person(request.headers()) && !path.starts_with("/api/") => {
            let text = "This coordinator stands by, and has no pages of its own. At present it knows of none that leads \
                        and has pages. If that one is gone, another takes its place within seconds. \
                        <a href=\"\">Try again</a>.";
            error_pages::page(StatusCode::SERVICE_UNAVAILABLE, "Standing by", text)
        }
        None => RequestRefusal::unavailable(leader.to_string()).into_response(),
    };
    // The leader may have changed by the next request.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
