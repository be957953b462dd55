//! Publishes snapshots of the coordinator's state, as often as viewers may need them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use queens_ledger::Ledger;
use queens_model::{JobId, JobState, JobStatus};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::event_log::EventLog;
use crate::event_text;
use crate::metrics::Counters;
use crate::planners::Planners;
use crate::snapshot::{Details, Snapshot};
use crate::symmetric_counts::SymmetricCounts;

/// The interval of snapshots while jobs are counted or planned, or news is unpublished.
const AGE: Duration = Duration::from_millis(100);

/// The interval of snapshots while nothing happens.
const IDLE_AGE: Duration = Duration::from_secs(1);

/// The interval at which the list of workers is made, unless an operator has just changed it: it may be long.
const WORKERS_AGE: Duration = Duration::from_secs(1);

/// The maximum age of a job's details while somebody views them.
pub(crate) const DETAILS_AGE: Duration = Duration::from_secs(1);

/// The time for which a job's details are made after the last request.
const INTEREST: Duration = Duration::from_secs(10);

/// Publishes snapshots.
pub(crate) struct Publisher {
    sender: watch::Sender<Arc<Snapshot>>,
    counters: Counters,
    published: Instant,
    workers_published: Instant,
    /// The ledger's census at the last publication.
    census: (usize, usize),
    /// Whether anything may have happened since.
    pub(crate) has_news: bool,
    /// The last request for the details of each job.
    pub(crate) requested: BTreeMap<JobId, Instant>,
}

/// The sources of a snapshot's data.
pub(crate) struct Sources<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) planners: &'a Planners,
    pub(crate) symmetric_counts: &'a mut SymmetricCounts,
    pub(crate) event_log: &'a mut EventLog,
}

impl Publisher {
    /// Publishes the state at the start.
    pub(crate) fn new(sources: Sources<'_>, counters: Counters) -> Self {
        let Sources { ledger, symmetric_counts, event_log, .. } = sources;
        let mut jobs = ledger.jobs();
        symmetric_counts.complete(&mut jobs);
        let (blocked, events) = (ledger.blocked().cloned().collect(), event_log.events());
        let snapshot = Snapshot { jobs, blocked, events, ..Snapshot::default() };
        Self {
            sender: watch::Sender::new(Arc::new(snapshot)),
            counters,
            published: Instant::now(),
            workers_published: Instant::now(),
            census: ledger.census(),
            has_news: false,
            requested: BTreeMap::new(),
        }
    }

    /// Returns a receiver of all further snapshots.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.sender.subscribe()
    }

    /// Returns whether to publish now. `is_busy` is whether jobs are counted or planned.
    pub(crate) fn is_due(&self, ledger: &Ledger, is_busy: bool) -> bool {
        let has_changed = self.census != ledger.census();
        let is_wanted = self.requested.keys().any(|job| !self.sender.borrow().details.contains_key(job));
        let age = if is_busy || self.has_news { AGE } else { IDLE_AGE };
        has_changed || is_wanted || self.published.elapsed() >= age
    }

    /// Publishes the state. Without `with_workers`, the list of workers may be up to a second old.
    pub(crate) fn publish(&mut self, sources: Sources<'_>, with_workers: bool) {
        let Sources { ledger, planners, symmetric_counts, event_log } = sources;
        let before = self.sender.borrow().clone();
        self.published = Instant::now();
        self.census = ledger.census();
        let mut jobs = ledger.jobs();
        for job in jobs.iter_mut().filter(|job| job.state == JobState::Planning) {
            let Some(board) = ledger.board(job.id) else { continue };
            job.n_plans_before = planners.n_before(board).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            job.plan_fraction = planners.share_made(board);
        }
        symmetric_counts
            .complete(&mut jobs)
            .into_iter()
            .for_each(|job| event_text::contradicted(job, event_log));
        let with_workers = with_workers || self.workers_published.elapsed() >= WORKERS_AGE;
        self.has_news = !with_workers;
        let workers = if with_workers {
            self.workers_published = self.published;
            Arc::new(ledger.workers())
        } else {
            before.workers.clone()
        };
        let was_over = |job: &JobStatus| before.job(job.id).is_some_and(|before| before.state.is_over());
        for job in jobs.iter().filter(|job| job.state.is_over() && !was_over(job)) {
            event_text::over(job, event_log);
        }
        let blocked = ledger.blocked().cloned().collect();
        let (events, details) = (event_log.events(), self.details(ledger, &before.details));
        let (store_error, damage) = (None, None);
        let snapshot = Snapshot { jobs, workers, blocked, store_error, damage, events, details };
        self.sender.send_replace(Arc::new(snapshot));
        self.counters.published_in(self.published.elapsed());
    }

    /// Changes the published snapshot in one point.
    pub(crate) fn amend(&self, amend: impl FnOnce(&mut Snapshot)) {
        self.sender.send_modify(|snapshot| amend(Arc::make_mut(snapshot)));
    }

    /// Returns the details of the jobs that somebody views.
    fn details(
        &mut self,
        ledger: &Ledger,
        before: &BTreeMap<JobId, Arc<Details>>,
    ) -> BTreeMap<JobId, Arc<Details>> {
        self.requested.retain(|_, requested| requested.elapsed() < INTEREST);
        let details = |&job: &JobId| {
            let known = before.get(&job).filter(|known| known.made.elapsed() < DETAILS_AGE);
            let details = known.cloned().or_else(|| {
                let (plan, parts) = ledger.parts(job)?;
                Some(Arc::new(Details { plan, parts, made: Instant::now() }))
            });
            details.map(|details| (job, details))
        };
        self.requested.keys().filter_map(details).collect()
    }
}
