//! Types that all handlers share, and the call that waits for the event loop to execute a command.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::routing::MethodRouter;
use queens_event_loop::Stopped;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::refusal::RequestRefusal;
use super::state::App;
use crate::access::Requirement;

/// How long a request waits for the event loop to execute a command. The connection ends requests after 15 s. On a
/// loaded machine, a plan of ten thousand parts keeps the event loop busy for seconds.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(12);

/// The most entries of a list in one answer.
const MOST_ENTRIES: usize = 1000;

/// A request body that must be a JSON object.
pub(super) type Body<T> = Result<Json<Object<T>>, JsonRejection>;
/// The parameters in a request's query string.
pub(super) type Queried<T> = Result<Query<T>, QueryRejection>;
/// The result of a handler: a JSON value or a refusal.
pub(super) type Answer<T> = Result<Json<T>, RequestRefusal>;

/// An operation by HTTP: method, path, what it requires of the sender, and its handler.
pub(super) type Route<S> = (&'static str, &'static str, Requirement, MethodRouter<S>);

/// A page of a list.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    /// Number of entries to skip.
    #[serde(default)]
    pub(super) offset: usize,
    /// Number of entries to return; at most 1000, which is the default.
    pub(super) limit: Option<usize>,
}

impl Page {
    pub(super) fn of<T>(self, list: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        list.skip(self.offset).take(self.limit.unwrap_or(MOST_ENTRIES).min(MOST_ENTRIES))
    }
}

/// Waits for a command with a timeout. Refuses at once while the store has an error, since nothing can become durable.
pub(super) async fn carried_out<T>(
    app: &App,
    command: impl Future<Output = Result<T, Stopped>>,
) -> Result<T, RequestRefusal> {
    if let Some(error) = &app.handle.snapshot().store_error {
        return Err(RequestRefusal::unavailable(format!("nothing was changed: {error}")));
    }
    match tokio::time::timeout(COMMAND_TIMEOUT, command).await {
        Ok(result) => Ok(result?),
        Err(_) => {
            let error = app.handle.snapshot().store_error.clone();
            let why = error.unwrap_or_else(|| "the coordinator has too much to do".to_owned());
            Err(RequestRefusal::unavailable(format!("not carried out yet, but it may still be: {why}")))
        }
    }
}

/// A value read from an object. Serde itself also reads a struct from an array, field by field: `[8, 0]` would be a job
/// for n = 8.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}
