//! A worker's HTTP server: metrics and a health check.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use queens_counting::Metrics;
use queens_program::service::exposition;
use tokio::net::TcpListener;
use tracing::error;

/// Serves `/metrics` and `/healthz` until it is dropped.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>) {
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/metrics", get(numbers))
        .fallback(async || (StatusCode::NOT_FOUND, "there is only /metrics and /healthz\n"))
        .with_state(metrics);
    if let Err(error) = axum::serve(listener, router).await {
        error!(%error, "metrics are not served any more");
    }
}

async fn numbers(State(metrics): State<Arc<Metrics>>, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    match exposition(metrics.registry(), accept) {
        Ok(numbers) => ([(CONTENT_TYPE, numbers.content_type)], numbers.text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
