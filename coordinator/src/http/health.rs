//! Liveness and readiness probes, and the metrics for Prometheus.

use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use prometheus_client::registry::Registry;
use queens_program::service::exposition;

use super::app::App;

/// Checks whether the process answers.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/healthz",
    responses((status = 200, description = "It does.", body = String)),
))]
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// Checks whether jobs are making progress.
///
/// They are while the event loop runs, keeps up, and can make its changes durable.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/readyz",
    responses(
        (status = 200, description = "They are.", body = String),
        (status = 503, description = "They are not, and why.", body = String),
    )
))]
pub(super) async fn readiness(State(app): State<App>) -> Result<&'static str, (StatusCode, String)> {
    let snapshot = app.handle.snapshot();
    let reason = if app.handle.is_stopped() {
        "the coordinator has stopped".to_owned()
    } else if let Some(error) = &snapshot.store_error {
        error.clone()
    } else if let Some(busy) = app.handle.loop_monitor.busy() {
        format!("the coordinator has been busy with one step for {:.2} s", busy.as_secs_f64())
    } else {
        return Ok("ready\n");
    };
    Err((StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")))
}

/// Metrics in Prometheus's text format, or in the OpenMetrics format if the header Accept names it.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/metrics",
    responses(
        (status = 200, description = "The numbers.", body = String, content_type = "application/openmetrics-text"),
    ),
))]
pub(super) async fn metrics(State(app): State<App>, headers: HeaderMap) -> Response {
    exposed(&app.handle.metrics.registry, &headers)
}

/// Answers with the metrics of a registry.
pub(super) fn exposed(registry: &Registry, headers: &HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    match exposition(registry, accept) {
        Ok(numbers) => ([(CONTENT_TYPE, numbers.content_type)], numbers.text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
