//! Events.

use serde::Serialize;

/// Something that has happened.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Event {
    /// Numbers the events of a data directory upwards. After a crash, some of the last numbers are given again.
    number: u64,
    /// When, in milliseconds since 1970.
    at_ms: u64,
    /// What it is about.
    #[cfg_attr(feature = "schema", schema(schema_with = kind))]
    kind: &'static str,
    /// The job, if it is about one.
    #[cfg_attr(feature = "schema", schema(required))]
    job: Option<String>,
    /// What has happened, in words.
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
