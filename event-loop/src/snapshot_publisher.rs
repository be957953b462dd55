//! What everybody may know: makes snapshots of how things stand, as often as somebody may want to see them change.

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

/// How often snapshots are made while something is counted or planned, or has happened that is not published.
const AGE: Duration = Duration::from_millis(100);

/// The same when nothing happens.
const IDLE_AGE: Duration = Duration::from_secs(1);

/// How often the list of workers is made, if no operator has just changed it: it may be long.
const WORKERS_AGE: Duration = Duration::from_secs(1);

/// How old the details of a job may be that somebody looks at.
pub(crate) const DETAILS_AGE: Duration = Duration::from_secs(1);

/// For how long details of a job are made after somebody has looked at them.
const INTEREST: Duration = Duration::from_secs(10);

/// Makes snapshots.
pub(crate) struct Publisher {
    sender: watch::Sender<Arc<Snapshot>>,
    counters: Counters,
    published: Instant,
    workers_published: Instant,
    /// What the ledger's census was then.
    census: (usize, usize),
    /// Whether something may have happened since.
    has_news: bool,
    /// When somebody last looked at the details of a job.
    looked: BTreeMap<JobId, Instant>,
}

/// What snapshots are made of.
pub(crate) struct Sources<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) planners: &'a Planners,
    pub(crate) turns: &'a mut SymmetricCounts,
    pub(crate) event_log: &'a mut EventLog,
}

impl Publisher {
    /// Publishes how things stand at the start.
    pub(crate) fn new(sources: Sources<'_>, counters: Counters) -> Self {
        let Sources { ledger, turns, event_log, .. } = sources;
        let mut jobs = ledger.jobs();
        turns.complete(&mut jobs);
        let (blocked, events) = (ledger.blocked().cloned().collect(), event_log.events());
        let snapshot = Snapshot { jobs, blocked, events, ..Snapshot::default() };
        Self {
            sender: watch::Sender::new(Arc::new(snapshot)),
            counters,
            published: Instant::now(),
            workers_published: Instant::now(),
            census: ledger.census(),
            has_news: false,
            looked: BTreeMap::new(),
        }
    }

    /// The snapshots from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.sender.subscribe()
    }

    /// Something has happened that people may want to see.
    pub(crate) fn note_news(&mut self) {
        self.has_news = true;
    }

    /// Whether something may have happened that is not published.
    pub(crate) fn has_news(&self) -> bool {
        self.has_news
    }

    /// Somebody looks at the details of a job.
    pub(crate) fn look(&mut self, job: JobId) {
        self.looked.insert(job, Instant::now());
    }

    /// Whether it is time to publish again: `is_busy` says whether anything goes on.
    pub(crate) fn is_due(&self, ledger: &Ledger, is_busy: bool) -> bool {
        let has_changed = self.census != ledger.census();
        let is_wanted = self.looked.keys().any(|job| !self.sender.borrow().details.contains_key(job));
        let age = if is_busy || self.has_news { AGE } else { IDLE_AGE };
        has_changed || is_wanted || self.published.elapsed() >= age
    }

    /// Publishes how things stand; with the workers as they are now, or as they were within the last second.
    pub(crate) fn publish(&mut self, sources: Sources<'_>, with_workers: bool) {
        let Sources { ledger, planners, turns, event_log } = sources;
        let before = self.sender.borrow().clone();
        self.published = Instant::now();
        self.census = ledger.census();
        let mut jobs = ledger.jobs();
        for job in jobs.iter_mut().filter(|job| job.state == JobState::Planning) {
            let Some(board) = ledger.board(job.id) else { continue };
            job.n_plans_before = planners.n_before(board).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            job.plan_fraction = planners.share_made(board);
        }
        turns.complete(&mut jobs).into_iter().for_each(|job| event_text::contradicted(job, event_log));
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

    /// Changes what is published in one point.
    pub(crate) fn amend(&self, amend: impl FnOnce(&mut Snapshot)) {
        self.sender.send_modify(|snapshot| amend(Arc::make_mut(snapshot)));
    }

    /// The details of the jobs that somebody looks at.
    fn details(
        &mut self,
        ledger: &Ledger,
        before: &BTreeMap<JobId, Arc<Details>>,
    ) -> BTreeMap<JobId, Arc<Details>> {
        self.looked.retain(|_, looked| looked.elapsed() < INTEREST);
        let details = |&job: &JobId| {
            let known = before.get(&job).filter(|known| known.made.elapsed() < DETAILS_AGE);
            let details = known.cloned().or_else(|| {
                let (plan, crosses) = ledger.crosses(job)?;
                Some(Arc::new(Details { plan, crosses, made: Instant::now() }))
            });
            details.map(|details| (job, details))
        };
        self.looked.keys().filter_map(details).collect()
    }
}
