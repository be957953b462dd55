//! Records history for people, which survives a restart: the speeds of jobs, the number of workers, events, and the
//! thread time of parties by day.
//!
//! The `Historian` follows snapshots beside the event loop, which never waits for it. It stores new data at most once a
//! minute; a crash loses newer data.

mod curves;
mod days;
#[cfg(test)]
mod tests;
mod worker_speeds;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use queens_model::{Event, JobId, JobStatus};
use queens_store::{Archive, unix_ms};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::snapshot::Snapshot;

use queens_store::history::{Change, History, NotKept, Past, Subject};

pub use self::curves::{Curves, Speeds};
pub(crate) use self::days::Days;
pub use self::worker_speeds::WorkerSpeeds;

/// The maximum time before new data are stored.
const INTERVAL: Duration = Duration::from_secs(60);

/// Opens the history of `store` and loads it, as far as it belongs to these jobs. A replaced database may have other
/// jobs with the same numbers.
pub(crate) fn open(store: &dyn Archive, jobs: &[JobStatus]) -> (Option<Box<dyn History>>, Past) {
    let mut history = store.history();
    let mut past = history.as_mut().map(|history| history.load()).unwrap_or_default();
    let created: BTreeMap<JobId, u64> = jobs.iter().map(|job| (job.id, job.created_ms)).collect();
    let was_there = |job: JobId, at_ms: u64| created.get(&job).is_some_and(|created| *created <= at_ms);
    past.curves.retain(|(subject, curve)| match *subject {
        Subject::Job(job) => curve.points.first().is_some_and(|first| was_there(job, first.at_ms)),
        Subject::Search | Subject::Halves | Subject::Workers => true,
    });
    past.events.retain(|event| event.job.is_none_or(|job| was_there(job, event.at_ms)));
    (history, past)
}

/// The history in memory; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SharedHistory {
    /// The progress curves of jobs.
    pub curves: Arc<Mutex<Curves>>,
    /// The speeds of workers over time.
    pub worker_speeds: Arc<Mutex<WorkerSpeeds>>,
    /// The days of parties, which the reader of records notes.
    pub(crate) days: Arc<Mutex<Days>>,
}

/// Measures the speeds of jobs and the number of workers, and stores them with events.
#[derive(Debug)]
pub(crate) struct Historian {
    snapshots: watch::Receiver<Arc<Snapshot>>,
    store: Option<Box<dyn History>>,
    pub(crate) shared: SharedHistory,
    started: Instant,
    /// The number of the last stored event.
    last_event: u64,
    /// The time since when there are unstored data.
    changed: Option<Instant>,
    is_failing: bool,
}

impl Historian {
    /// Continues with the stored past.
    pub(crate) fn new(
        store: Option<Box<dyn History>>,
        past: Past,
        snapshots: watch::Receiver<Arc<Snapshot>>,
    ) -> Self {
        let Past { curves, events, days, is_stored } = past;
        let last_event = events.last().filter(|_| is_stored).map_or(0, |event| event.number);
        let shared = SharedHistory {
            curves: Arc::new(Mutex::new(Curves::restore(curves, is_stored, unix_ms()))),
            days: Arc::new(Mutex::new(Days::restore(days, is_stored))),
            worker_speeds: Arc::default(),
        };
        Self {
            snapshots,
            store,
            shared,
            started: Instant::now(),
            last_event,
            changed: None,
            is_failing: false,
        }
    }

    /// Runs the historian on a thread of its own.
    pub(crate) fn spawn(self) -> io::Result<JoinHandle<()>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let thread = thread::Builder::new().name("history".into());
        thread.spawn(move || runtime.block_on(self.run()))
    }

    /// Follows snapshots until there are no more.
    pub(crate) async fn run(mut self) {
        self.measure();
        loop {
            let due = self.changed.map(|changed| changed + INTERVAL);
            tokio::select! {
                changed = self.snapshots.changed() => match changed {
                    Ok(()) => self.measure(),
                    Err(_) => break,
                },
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.store(),
            }
        }
        self.measure();
        self.store();
    }

    fn measure(&mut self) {
        self.look_at(self.started.elapsed(), unix_ms());
    }

    /// Samples the last snapshot. `now` is a monotonic clock, `at_ms` the calendar.
    fn look_at(&mut self, now: Duration, at_ms: u64) {
        let snapshot = self.snapshots.borrow_and_update().clone();
        self.shared.worker_speeds.lock().sample(at_ms, &snapshot.workers);
        let mut curves = self.shared.curves.lock();
        let is_due = curves.is_due(now, &snapshot.jobs);
        let has_moved = is_due && curves.measure(now, at_ms, &snapshot);
        let last = snapshot.events.last().map_or(0, |event| event.number);
        if has_moved || last > self.last_event || self.shared.days.lock().has_unstored() {
            self.changed.get_or_insert_with(Instant::now);
        }
    }

    fn store(&mut self) {
        if self.changed.is_some() {
            self.store_at(unix_ms());
        }
    }

    fn store_at(&mut self, at_ms: u64) {
        self.changed = None;
        let events = self.snapshots.borrow().events.clone();
        let curves = {
            let mut curves = self.shared.curves.lock();
            curves.limit(at_ms);
            curves.unstored()
        };
        let (days, first_day) = self.shared.days.lock().unstored();
        let Some(store) = &mut self.store else {
            self.shared.curves.lock().stored();
            self.shared.days.lock().stored(&days);
            self.last_event = events.last().map_or(0, |event| event.number);
            return;
        };
        let first = |by_workers| {
            let mut like = events.iter().filter(|event| event.kind.is_by_workers() == by_workers);
            like.next().map_or(u64::MAX, |event| event.number)
        };
        let is_new = |event: &&Arc<Event>| event.number > self.last_event;
        let change = Change {
            curves,
            events: events.iter().filter(is_new).cloned().collect(),
            first_events: (first(true), first(false)),
            days,
            first_day,
        };
        let reason = match store.store(&change) {
            Ok(()) => {
                self.shared.curves.lock().stored();
                self.shared.days.lock().stored(&change.days);
                self.last_event = events.last().map_or(0, |event| event.number);
                if std::mem::take(&mut self.is_failing) {
                    info!("history can be stored again");
                }
                return;
            }
            Err(NotKept::Failed(reason)) => reason,
            Err(NotKept::Lost(reason)) => {
                self.shared.curves.lock().lose();
                self.shared.days.lock().lose();
                self.last_event = 0;
                reason
            }
        };
        // The data in memory are stored at the next attempt.
        self.changed = Some(Instant::now());
        if !std::mem::replace(&mut self.is_failing, true) {
            warn!(
                reason,
                "history can't be stored: a restart would lose the newest of it. No count depends on it"
            );
        }
    }
}
