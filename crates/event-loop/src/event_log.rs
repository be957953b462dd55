//! The log of recent user-visible events.

use std::collections::VecDeque;
use std::sync::Arc;

use queens_model::{Event, EventKind, JobId};
use queens_store::unix_ms;

use crate::event_budget::EventBudgets;

/// The maximum number and size of kept events by workers, and the same of others. They are separate, so that workers
/// can't displace disputes, verdicts, operators' actions and errors of the store.
const MOST_EVENTS: usize = 1000;
const MOST_BYTES: usize = 100_000;

/// The recent events.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    /// The number of the last event.
    last: u64,
    by_workers: Newest,
    others: Newest,
    published: Arc<[Arc<Event>]>,
    changed: bool,
    /// The events that workers may still cause.
    pub(crate) budgets: EventBudgets,
}

impl EventLog {
    /// Continues after these events, which are in the order of their numbers.
    pub(crate) fn after(past: &[Arc<Event>]) -> Self {
        let mut event_log = Self::default();
        past.iter().for_each(|event| event_log.keep(event.clone()));
        event_log
    }

    pub(crate) fn add(&mut self, kind: EventKind, job: Option<JobId>, text: String) {
        let event = Event { number: self.last + 1, at_ms: unix_ms(), kind, job, text };
        self.keep(Arc::new(event));
    }

    fn keep(&mut self, event: Arc<Event>) {
        self.last = event.number;
        self.changed = true;
        let events = if event.kind.is_by_workers() { &mut self.by_workers } else { &mut self.others };
        events.push(event);
    }

    /// Returns the recent events, the oldest first.
    pub(crate) fn events(&mut self) -> Arc<[Arc<Event>]> {
        if std::mem::take(&mut self.changed) {
            let mut all: Vec<_> = self.others.events.iter().chain(&self.by_workers.events).cloned().collect();
            all.sort_by_key(|event| event.number);
            self.published = all.into();
        }
        self.published.clone()
    }
}

/// The newest events, limited in number and bytes.
#[derive(Debug, Default)]
struct Newest {
    events: VecDeque<Arc<Event>>,
    n_bytes: usize,
}

impl Newest {
    fn push(&mut self, event: Arc<Event>) {
        self.n_bytes += event.text.len();
        self.events.push_back(event);
        while self.events.len() > MOST_EVENTS || self.n_bytes > MOST_BYTES {
            let Some(oldest) = self.events.pop_front() else { return };
            self.n_bytes -= oldest.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_do_not_displace_other_events() {
        let mut event_log = EventLog::default();
        for kind in [EventKind::Job, EventKind::Failure, EventKind::Store] {
            event_log.add(kind, Some(JobId(1)), kind.name().to_owned());
        }
        for i in 0..10_000 {
            let kind = if i % 2 == 0 { EventKind::Worker } else { EventKind::Lease };
            event_log.add(kind, None, format!("event {i}"));
        }
        event_log.add(EventKind::Job, Some(JobId(1)), "done".to_owned());
        let events = event_log.events();
        let texts: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
        assert_eq!(texts.len(), MOST_EVENTS + 4);
        assert_eq!(texts[..4], ["job", "failure", "store", "event 9000"]);
        assert_eq!(texts.last(), Some(&"done"));
    }

    #[test]
    fn long_texts_do_not_take_more_room() {
        let mut event_log = EventLog::default();
        for i in 0..1000 {
            event_log.add(EventKind::Failure, Some(JobId(1)), format!("{i} {}", "ж".repeat(500)));
        }
        let events = event_log.events();
        let n_bytes: usize = events.iter().map(|event| event.text.len()).sum();
        assert!((MOST_BYTES - 2000..=MOST_BYTES).contains(&n_bytes), "{n_bytes} bytes");
        assert_eq!(events.last().map(|event| event.number), Some(1000));
    }

    #[test]
    fn numbers_go_on_after_a_restart() {
        let mut before = EventLog::default();
        (0..3).for_each(|_| before.add(EventKind::Worker, None, "joined".to_owned()));
        let mut event_log = EventLog::after(&before.events());
        event_log.add(EventKind::Store, None, "coordinator started".to_owned());
        assert!(event_log.events().iter().map(|event| event.number).eq(1..=4));
    }
}
