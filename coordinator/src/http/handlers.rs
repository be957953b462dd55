//! What requests are made of, and how decisions are waited for.

use std::time::Duration;

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use queens_event_loop::Stopped;
use serde::Deserialize;

use super::json_object::Object;
use super::refusal::RequestRefusal;
use super::state::App;

/// How long the event loop may take to carry something out.
const PATIENCE: Duration = Duration::from_secs(5);

/// Entries of a list in one answer.
const MOST_ENTRIES: usize = 1000;

/// A body that should be an object.
pub(super) type Body<T> = Result<Json<Object<T>>, JsonRejection>;
/// What stands behind the path.
pub(super) type Queried<T> = Result<Query<T>, QueryRejection>;
/// What is told, or why not.
pub(super) type Answer<T> = Result<Json<T>, RequestRefusal>;

/// A part of a list.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    /// How many to leave out at the beginning.
    #[serde(default)]
    pub(super) offset: usize,
    /// How many to list; at most 1000, which is also what is listed if it is not given.
    pub(super) limit: Option<usize>,
}

impl Page {
    pub(super) fn of<T>(self, list: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        list.skip(self.offset).take(self.limit.unwrap_or(MOST_ENTRIES).min(MOST_ENTRIES))
    }
}

/// Waits for the event loop, but not long, and not at all if it is known that it can't make anything durable.
pub(super) async fn carried_out<T>(
    app: &App,
    command: impl Future<Output = Result<T, Stopped>>,
) -> Result<T, RequestRefusal> {
    if let Some(error) = &app.handle.snapshot().store_error {
        return Err(RequestRefusal::unavailable(format!("nothing was changed: {error}")));
    }
    match tokio::time::timeout(PATIENCE, command).await {
        Ok(result) => Ok(result?),
        Err(_) => {
            let error = app.handle.snapshot().store_error.clone();
            let why = error.unwrap_or_else(|| "the coordinator has too much to do".to_owned());
            Err(RequestRefusal::unavailable(format!("not carried out yet, but it may still be: {why}")))
        }
    }
}
