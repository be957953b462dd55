//! What has happened lately, for people.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use queens_proto::{Event, EventKind, JobId};

/// Events that are kept of those about jobs, and of those about workers: many workers that come and go must not push
/// out what became of a job.
const MOST_EVENTS: usize = 250;

/// The last events.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    n_events: u64,
    about_jobs: VecDeque<Arc<Event>>,
    about_workers: VecDeque<Arc<Event>>,
    published: Arc<[Arc<Event>]>,
    changed: bool,
}

impl Journal {
    /// Adds an event.
    pub(crate) fn add(&mut self, kind: EventKind, job: Option<JobId>, text: String) {
        self.n_events += 1;
        self.changed = true;
        let event = Event { number: self.n_events, at_ms: unix_ms(), kind, job, text };
        let events = if kind == EventKind::Worker { &mut self.about_workers } else { &mut self.about_jobs };
        if events.len() == MOST_EVENTS {
            events.pop_front();
        }
        events.push_back(Arc::new(event));
    }

    /// The last events, the oldest first.
    pub(crate) fn events(&mut self) -> Arc<[Arc<Event>]> {
        if std::mem::take(&mut self.changed) {
            let mut all: Vec<_> = self.about_jobs.iter().chain(&self.about_workers).cloned().collect();
            all.sort_by_key(|event| event.number);
            self.published = all.into();
        }
        self.published.clone()
    }
}

/// The time in milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_workers_do_not_push_out_what_became_of_a_job() {
        let mut journal = Journal::default();
        journal.add(EventKind::Job, Some(JobId(1)), "submitted".to_owned());
        for i in 0..10_000 {
            journal.add(EventKind::Worker, None, format!("worker {i} joined"));
        }
        journal.add(EventKind::Job, Some(JobId(1)), "done".to_owned());
        let events = journal.events();
        assert_eq!(events.len(), MOST_EVENTS + 2);
        assert_eq!((events[0].text.as_str(), events[0].number), ("submitted", 1));
        assert_eq!(events[1].text, "worker 9750 joined");
        assert_eq!(events.last().map(|event| event.text.as_str()), Some("done"));
    }
}
