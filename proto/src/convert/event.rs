//! Conversions of events.

use queens_model::{Event, EventKind, JobId};

use super::check::{InvalidMessage, one_line};
use crate::pb;

impl From<&Event> for pb::Event {
    fn from(event: &Event) -> Self {
        let kind = match event.kind {
            EventKind::Job => pb::EventKind::Job,
            EventKind::Lease => pb::EventKind::Lease,
            EventKind::Failure => pb::EventKind::Failure,
            EventKind::Store => pb::EventKind::Store,
            EventKind::Worker => pb::EventKind::Worker,
        };
        Self {
            number: event.number,
            at_ms: event.at_ms,
            kind: kind.into(),
            job: event.job.map_or(0, |job| job.0),
            text: event.text.clone(),
        }
    }
}

impl TryFrom<pb::Event> for Event {
    type Error = InvalidMessage;

    fn try_from(event: pb::Event) -> Result<Self, InvalidMessage> {
        let kind = match pb::EventKind::try_from(event.kind) {
            Ok(pb::EventKind::Job) => EventKind::Job,
            Ok(pb::EventKind::Lease) => EventKind::Lease,
            Ok(pb::EventKind::Failure) => EventKind::Failure,
            Ok(pb::EventKind::Store) => EventKind::Store,
            Ok(pb::EventKind::Worker) => EventKind::Worker,
            Ok(pb::EventKind::Unspecified) | Err(_) => {
                return Err(InvalidMessage::Missing("an event's kind"));
            }
        };
        let job = (event.job != 0).then_some(JobId(event.job));
        Ok(Self { number: event.number, at_ms: event.at_ms, kind, job, text: one_line(&event.text) })
    }
}
