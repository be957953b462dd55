//! Events as JSON.

use serde::Serialize;

/// An event.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Event {
    /// Increasing number of the event within a data directory. After a crash, some of the last numbers are reused.
    number: u64,
    /// Time, in milliseconds since 1970.
    at_ms: u64,
    /// The subject of the event.
    #[cfg_attr(feature = "schema", schema(schema_with = kind))]
    kind: &'static str,
    /// The job, if the event is about one.
    #[cfg_attr(feature = "schema", schema(required))]
    job: Option<String>,
    /// Description of the event, in words.
    text: String,
}

impl From<&crate::Event> for Event {
    fn from(event: &crate::Event) -> Self {
        Self {
            number: event.number,
            at_ms: event.at_ms,
            kind: event.kind.name(),
            job: event.job.map(|job| job.to_string()),
            text: event.text.clone(),
        }
    }
}

#[cfg(feature = "schema")]
fn kind() -> utoipa::openapi::Object {
    crate::json::schema::one_of("What it is about.", crate::EventKind::ALL.map(|kind| kind.name()))
}
