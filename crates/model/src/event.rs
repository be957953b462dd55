//! Events that operators see.

use serde::{Serialize, Serializer};

use crate::id::JobId;

/// An event that operators see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Event {
    /// Increasing number of the event within a data directory. After a crash, some of the last numbers are reused.
    pub number: u64,
    /// Time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The subject of the event.
    #[cfg_attr(feature = "schema", schema(schema_with = kind))]
    pub kind: EventKind,
    /// The job, if the event is about one.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub job: Option<JobId>,
    /// Description of the event, in words.
    pub text: String,
}

#[cfg(feature = "schema")]
fn kind() -> utoipa::openapi::Object {
    crate::json::schema::one_of("What it is about.", EventKind::ALL.map(EventKind::name))
}

/// The subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A job has begun or ended, or an operator has changed a job or workers.
    Job,
    /// A worker could not count a span, or has lost a lease; another worker will count it.
    Lease,
    /// Counts or stored data contradict each other: a dispute, a verdict, or a damaged job.
    Failure,
    /// The coordinator itself: it has started, was slow, or lost or regained its store.
    Store,
    /// A worker has joined or left, or says something.
    Worker,
}

impl Serialize for EventKind {
    /// Serializes the name.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Job, Self::Lease, Self::Failure, Self::Store, Self::Worker];

    /// Whether workers cause such events, as many as they like.
    #[must_use]
    pub const fn is_by_workers(self) -> bool {
        matches!(self, Self::Lease | Self::Worker)
    }

    /// Returns the name that people and programs see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Lease => "lease",
            Self::Failure => "failure",
            Self::Store => "store",
            Self::Worker => "worker",
        }
    }
}
