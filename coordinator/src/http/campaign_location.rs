//! Where the coordinators of a campaign are, for workers that have joined it and reach none.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::join::{Sender, address};
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::NotLocated;
use super::state::App;
use crate::access::JoinRefusal;

/// Where a worker of a campaign finds its coordinators.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct CampaignLocation {
    /// The URL of the coordinator; for several coordinators of one database, the URLs of all, separated by commas.
    coordinator: String,
    /// The pins of their keys, separated by commas; null if a proxy encrypts, whose key is not known.
    pin: Option<String>,
}

/// Where the coordinators of a campaign are. A worker that reaches none of them asks this. Closed campaigns tell it, too.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/join/{code}",
    params(("code" = String, Path, description = "The join code, from the link.")),
    responses((status = 200, description = "The answer.", body = CampaignLocation), NotLocated),
))]
pub(super) async fn location(
    State(app): State<App>,
    Path(code): Path<String>,
    sender: Sender,
) -> Result<Response, RequestRefusal> {
    let found = app.authenticator.location(&code, address(&sender)).await;
    let found = found.map_err(|refusal| match refusal {
        JoinRefusal::Unknown => RequestRefusal::not_found("no campaign has this link"),
        refusal => RequestRefusal::unavailable(refusal.to_string()),
    })?;
    let told = Json(CampaignLocation { coordinator: found.coordinators, pin: found.pins });
    Ok(([(CACHE_CONTROL, "no-store")], told).into_response())
}
