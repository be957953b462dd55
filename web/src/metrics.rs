//! `/metrics`, for Prometheus.

use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use queens_service::metrics::exposition;

use super::state::App;

/// Metrics in Prometheus's text format, or in the OpenMetrics format if the header Accept names it.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/metrics",
    responses(
        (status = 200, description = "The numbers.", body = String, content_type = "application/openmetrics-text"),
    ),
))]
pub(super) async fn metrics(State(app): State<App>, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    match exposition(app.handle.metrics().registry(), accept) {
        Ok(numbers) => ([(CONTENT_TYPE, numbers.content_type)], numbers.text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
