//! Liveness and readiness probes.

use axum::extract::State;
use axum::http::StatusCode;

use super::state::App;

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
    } else if let Some(busy) = app.handle.busy() {
        format!("the coordinator has been busy with one step for {:.2} s", busy.as_secs_f64())
    } else {
        return Ok("ready\n");
    };
    Err((StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")))
}
