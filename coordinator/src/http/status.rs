//! Handlers for the coordinator's status, recent events, the audit log, and the live stream of summaries.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::header::CONNECTION;
use axum::response::IntoResponse;
use axum::response::sse::{self, Sse};
use queens_model::json::Coordinator;
use queens_model::{AuditEntry, Event, JobId};
use serde::{Deserialize, Serialize};
use tokio_stream::StreamExt;

use super::app::{Answer, App, Page, Queried, names};
#[cfg(test)]
use super::refusal::described::{InvalidRequest, NoRecords, NoSuchJob};
use super::refusal::find;
#[cfg(test)]
use super::summaries::Summary;

/// The status of the coordinator itself.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/coordinator",
    responses((status = 200, description = "The answer.", body = Coordinator)),
))]
pub(super) async fn coordinator(State(app): State<App>) -> Json<Coordinator> {
    Json(app.handle.status().into())
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    /// Only events of this job, and those that belong to no job.
    job: Option<u64>,
    /// Only events whose text contains this worker's name.
    worker: Option<String>,
    /// Number of events to return; at most 1000, which is the default.
    limit: Option<usize>,
}

/// Recent events, the latest first.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Events {
    events: Vec<Event>,
}

/// Recent events, the latest first.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/events",
    params(EventQuery),
    responses((status = 200, description = "The answer.", body = Events), InvalidRequest, NoSuchJob),
))]
pub(super) async fn events(State(app): State<App>, query: Queried<EventQuery>) -> Answer<Events> {
    let Query(EventQuery { job, worker, limit }) = query?;
    let snapshot = app.handle.snapshot();
    if let Some(job) = job {
        find(&snapshot, JobId(job))?;
    }
    let concerns = |event: &&Arc<Event>| {
        let of_job = job.is_none() || event.job.is_none() || event.job.map(|id| id.0) == job;
        of_job && worker.as_deref().is_none_or(|worker| names(&event.text, worker))
    };
    let events = Page { offset: 0, limit }.of(snapshot.events.iter().rev().filter(concerns));
    Ok(Json(Events { events: events.map(|event| Event::clone(event)).collect() }))
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    /// Only entries before the one with this number; without it, the latest.
    before: Option<u64>,
    /// Whether to include refused log-ins and requests; true by default.
    refusals: Option<bool>,
}

/// Entries of the audit log, the latest first.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct AuditLog {
    audit_entries: Vec<AuditEntry>,
}

/// The audit log, the latest entries first, at most a thousand. Only for operators.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/audit",
    params(AuditQuery),
    responses((status = 200, description = "The answer.", body = AuditLog), InvalidRequest, NoRecords),
))]
pub(super) async fn audit_entries(State(app): State<App>, query: Queried<AuditQuery>) -> Answer<AuditLog> {
    let Query(AuditQuery { before, refusals }) = query?;
    let audit_entries = app.authenticator.audit_entries(before, refusals.unwrap_or(true)).await?;
    Ok(Json(AuditLog { audit_entries }))
}

/// A stream of server-sent events: one named summary twice a second, whose data is a Summary.
///
/// At most 256 streams are open. One more closes a stream that is not being read, or else the oldest. A stream also
/// closes when the coordinator stops. The pages reconnect by themselves.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/live",
    responses((status = 200, description = "The stream.", body = Summary, content_type = "text/event-stream")),
))]
pub(super) async fn follow(State(app): State<App>) -> impl IntoResponse {
    let subscriber = app.summary_stream.subscribe();
    let events = app.summary_stream.summaries().map_while(move |summary| {
        let event = sse::Event::default().event("summary").data(&*summary);
        subscriber.reads().then_some(Ok::<_, Infallible>(event))
    });
    // Closes the connection with the stream, which frees the connection's slot too.
    ([(CONNECTION, "close")], Sse::new(events))
}
