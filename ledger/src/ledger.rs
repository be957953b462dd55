//! The ledger: which spans are recorded, who holds the others, and what is handed out next.
//!
//! A pure state machine. What happens comes in as method calls with the time as a [`Duration`] since some start; what
//! is to be done about it comes out as [`Effects`]. It does no I/O and knows no clock, so that any history can be
//! played to it.
//!
//! Invariants:
//! - each span is added to a total exactly once;
//! - a report is acknowledged by a message in the same [`Effects`] as its writes, and whoever carries those out does
//!   the writes first: what is acknowledged is durable;
//! - leases are hints about who works on what. Losing all of them costs repeated work, never a count.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_messages::{InvalidName, JobId, LeaseId, Name, Priority, ToWorker, WorkerId};
use queens_solver::{BoardSize, Choice, Count, DECOMPOSITION_VERSION, Plan, Span, WrongCrosses};
use thiserror::Error;

use crate::fleet::Fleet;
use crate::former::Former;
use crate::job::{Counting, Job};
use crate::jobs::Jobs;
use crate::pace::Pace;
use crate::store::{Coverage, JobEntry, Phase, Record, Recorded, Stored, StoredJob, Write};

/// The state of all jobs, workers and leases of one coordinator.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) now: Duration,
    /// The time of the calendar in milliseconds since 1970, as far as it was told.
    pub(crate) date_ms: Option<u64>,
    pub(crate) jobs: Jobs,
    pub(crate) fleet: Fleet,
    /// What may still be reported of leases that have ended.
    pub(crate) former: Former,
    /// When it is to be looked whether a worker has been silent for too long. A worker may be there several times.
    pub(crate) patience: BTreeSet<(Duration, WorkerId)>,
    /// The worker that was last given a lease.
    pub(crate) fed: Option<WorkerId>,
    /// Names of workers that get no leases.
    pub(crate) blocked: BTreeSet<Name>,
    /// The first lease ever granted of these jobs: one from `first_lease` to `next_lease` is of this ledger, or of one
    /// that was stored before it. Any other is of another coordinator, whose jobs may have the same numbers.
    pub(crate) first_lease: u64,
    /// The first that this ledger could grant.
    pub(crate) first_lease_here: u64,
    pub(crate) next_lease: u64,
    /// The epoch after this one, to be made durable before the first lease is granted.
    pub(crate) unclaimed_epoch: Option<u32>,
    /// When it was last looked at how fast jobs are counted.
    pub(crate) looked: Duration,
    pub(crate) changes: Changes,
}

/// Jobs are served in this order: higher priority first, and then in the order of submission.
pub(crate) type Rank = (Reverse<Priority>, JobId);

/// What a ledger wants done, in this order: the writes made durable; then messages sent and plans made.
#[derive(Debug, Default)]
pub struct Effects {
    /// To be made durable, all or nothing.
    pub writes: Vec<Write>,
    /// To be looked up, and the answers given to [`Ledger::compared`].
    pub comparisons: Vec<Comparison>,
    /// To be sent once the writes are durable.
    pub messages: Vec<(WorkerId, ToWorker)>,
    /// Plans to be made, and given to [`Ledger::planned`].
    pub plans: Vec<(JobId, BoardSize)>,
    /// To be told to people.
    pub losses: Vec<Loss>,
}

/// A worker has lost leases through no decision of anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its name.
    pub name: Name,
    /// Whether it is still there: it was heard of, but nothing came of what it held.
    pub is_there: bool,
    /// How many leases it held of each job; none, if it was given up and held nothing.
    pub n_leases: BTreeMap<JobId, usize>,
}

/// A reported span that lies wholly in recorded ones: if it repeats a record exactly, they must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The job.
    pub job: JobId,
    /// What was counted again.
    pub span: Span,
    /// What it counted to this time.
    pub count: Count,
    /// The name of the worker that counted it this time.
    pub worker: Name,
}

/// What has changed since the effects were last taken.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) epoch: Option<u32>,
    pub(crate) blocked: BTreeMap<String, bool>,
    pub(crate) entries: BTreeSet<JobId>,
    pub(crate) choices: Vec<(JobId, Vec<Choice>)>,
    pub(crate) records: BTreeMap<(JobId, u32, u64), Record>,
    pub(crate) coverage: BTreeSet<(JobId, u32)>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) messages: Vec<(WorkerId, ToWorker)>,
    pub(crate) plans: Vec<(JobId, BoardSize)>,
    pub(crate) losses: Vec<Loss>,
}

/// What to do about jobs that contradict themselves.
const REPAIR: &str = "restore a backup, or keep what proves itself with 'queens-coordinator recover'";

/// Stored jobs that this ledger can't go on with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RestoreError {
    /// The numbers of its subproblems mean something else here.
    #[error(
        "job {job} was counted with decomposition version {found}, this program has version {DECOMPOSITION_VERSION}: \
         use the program it was begun with, or another directory"
    )]
    Decomposition {
        /// The job.
        job: JobId,
        /// The version it was counted with.
        found: u32,
    },
    /// Its plan is not one of this program's.
    #[error("the plan of job {job} is not this program's: {reason}: {REPAIR}")]
    Plan {
        /// The job.
        job: JobId,
        /// What is wrong with it.
        reason: WrongCrosses,
    },
    /// It is said to be done, and is not.
    #[error("job {job} is done, but not all of it is recorded: {REPAIR}")]
    Incomplete {
        /// The job.
        job: JobId,
    },
    /// It waits for a plan that it has, or is counted without one.
    #[error("job {job} is {}, which does not go with its plan: {REPAIR}", phase.name())]
    Phase {
        /// The job.
        job: JobId,
        /// Where it is said to stand.
        phase: Phase,
    },
    /// A record lies outside its plan.
    #[error("job {job} has records outside cross {cross} of its plan: {REPAIR}")]
    Coverage {
        /// The job.
        job: JobId,
        /// The cross.
        cross: u32,
    },
}

/// A job that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there is no job {0}")]
pub struct UnknownJob(pub JobId);

impl Ledger {
    /// A ledger that goes on where `stored` left off, without workers.
    ///
    /// # Errors
    /// If a job was made under another decomposition or contradicts its plan.
    pub fn restore(stored: Stored) -> Result<Self, RestoreError> {
        let mut ledger = Self {
            now: Duration::ZERO,
            date_ms: None,
            jobs: Jobs::default(),
            fleet: Fleet::default(),
            former: Former::default(),
            patience: BTreeSet::new(),
            fed: None,
            blocked: BTreeSet::new(),
            first_lease: u64::from(stored.first_epoch) << 32,
            first_lease_here: u64::from(stored.epoch) << 32,
            next_lease: u64::from(stored.epoch) << 32,
            unclaimed_epoch: Some(stored.epoch.saturating_add(1)),
            looked: Duration::ZERO,
            changes: Changes::default(),
        };
        for text in stored.blocked {
            match text.parse() {
                Ok(name) => _ = ledger.blocked.insert(name),
                // It keeps nobody away: no worker can have it any more.
                Err(InvalidName) => _ = ledger.changes.blocked.insert(text, false),
            }
        }
        for stored in stored.jobs {
            ledger.restore_job(stored)?;
        }
        Ok(ledger)
    }

    pub(crate) fn restore_job(&mut self, stored: StoredJob) -> Result<(), RestoreError> {
        let StoredJob { entry, choices, coverage } = stored;
        let job = entry.id;
        if entry.decomposition != DECOMPOSITION_VERSION {
            return Err(RestoreError::Decomposition { job, found: entry.decomposition });
        }
        let mut counting = None;
        if let Some(choices) = choices {
            let plan =
                Plan::from_choices(entry.n, &choices).map_err(|reason| RestoreError::Plan { job, reason })?;
            let mut all = vec![Coverage::default(); plan.crosses().len()];
            for (cross, coverage) in coverage {
                let n_subproblems = plan.cross(cross).map_or(0, |cross| cross.choice().n_subproblems);
                let end = coverage.recorded.ranges().next_back().map_or(0, |range| range.end);
                match all.get_mut(cross as usize) {
                    Some(slot) if end <= n_subproblems => *slot = coverage,
                    _ => return Err(RestoreError::Coverage { job, cross }),
                }
            }
            counting = Some(Counting::new(Arc::new(plan), all));
        }
        let is_planned = counting.is_some();
        if (entry.phase == Phase::Planning && is_planned) || (entry.phase == Phase::Active && !is_planned) {
            return Err(RestoreError::Phase { job, phase: entry.phase });
        }
        let job = Job { entry, counting, counted_since: None, pace: Pace::default() };
        let id = job.entry.id;
        match job.entry.phase {
            Phase::Planning => self.changes.plans.push((id, job.entry.n)),
            Phase::Done if !job.is_complete() => return Err(RestoreError::Incomplete { job: id }),
            Phase::Active | Phase::Done | Phase::Cancelled => {}
        }
        self.jobs.insert(job);
        // A coordinator that could not write that it is done has left it so.
        self.finish_if_complete(id);
        Ok(())
    }

    /// A new job for boards of size `n`; `created_ms` is the time in milliseconds since 1970.
    pub fn submit(&mut self, n: BoardSize, created_ms: u64) -> JobId {
        let id = JobId(self.jobs.last_id().map_or(1, |last| last.0 + 1));
        let entry = JobEntry::new(id, n, created_ms);
        self.jobs.insert(Job { entry, counting: None, counted_since: None, pace: Pace::default() });
        self.changes.entries.insert(id);
        self.changes.plans.push((id, n));
        id
    }

    /// Tells the time of the calendar, in milliseconds since 1970. Nothing is decided by it: it is kept with jobs that begin
    /// or end.
    pub fn tell_date(&mut self, date_ms: u64) {
        self.date_ms = Some(date_ms);
    }

    /// A job's plan is made. Does nothing if the job is not waiting for one.
    pub fn planned(&mut self, now: Duration, id: JobId, plan: impl Into<Arc<Plan>>) {
        self.advance(now);
        let plan = plan.into();
        if self.jobs.get(id).is_none_or(|job| job.entry.phase != Phase::Planning) {
            return;
        }
        let choices = plan.crosses().iter().map(|planned| *planned.choice()).collect();
        let coverage = vec![Coverage::default(); plan.crosses().len()];
        self.jobs.change(id, |job| {
            job.counting = Some(Counting::new(plan, coverage));
            job.entry.phase = Phase::Active;
        });
        self.changes.entries.insert(id);
        self.changes.choices.push((id, choices));
        self.finish_if_complete(id);
        self.feed();
        self.preempt();
    }

    /// Gives a job up. What is recorded of it stays.
    ///
    /// # Errors
    /// If there is no such job. A job that is over stays what it is.
    pub fn cancel(&mut self, now: Duration, id: JobId) -> Result<(), UnknownJob> {
        self.advance(now);
        let job = self.jobs.get(id).ok_or(UnknownJob(id))?;
        if matches!(job.entry.phase, Phase::Planning | Phase::Active) {
            self.close(id, Phase::Cancelled);
        }
        Ok(())
    }

    /// The answer to a [`Comparison`]: what the record of exactly this span says, if there is one. Only another worker's
    /// count confirms it.
    pub fn compared(&mut self, comparison: &Comparison, recorded: Option<&Recorded>) {
        let Some(recorded) = recorded else { return };
        let agrees = recorded.count == comparison.count;
        if agrees && recorded.worker == comparison.worker {
            return;
        }
        self.jobs.change(comparison.job, |job| {
            let n_compared = if agrees { &mut job.entry.n_verified } else { &mut job.entry.n_disputed };
            *n_compared = n_compared.saturating_add(1);
        });
        self.changes.entries.insert(comparison.job);
    }

    /// Lets time pass: silent workers are given up, the tails of running leases go to idle threads, and threads go
    /// over to what is more urgent. Returns the workers that were given up, whose sessions, if they have any, are no
    /// use any more.
    pub fn tick(&mut self, now: Duration) -> Vec<WorkerId> {
        self.advance(now);
        let silent = self.give_up_silent_workers();
        self.former.forget_old(self.now);
        self.take_back_overdue();
        self.feed();
        self.preempt();
        self.share_tails();
        self.look_at_paces();
        silent
    }

    /// Whether there are workers: if not, nothing happens without an event, and there is no need to tick.
    #[must_use]
    pub fn has_workers(&self) -> bool {
        self.fleet.n_members() > 0
    }

    /// Whether something is being counted.
    #[must_use]
    pub fn has_leases(&self) -> bool {
        self.fleet.has_leases()
    }

    /// Whether something may still come of a job by itself.
    #[must_use]
    pub fn is_open(&self, job: JobId) -> bool {
        self.jobs.get(job).is_some_and(|job| matches!(job.entry.phase, Phase::Planning | Phase::Active))
    }

    /// Whether a worker holds this lease.
    #[must_use]
    pub fn is_held(&self, lease: LeaseId) -> bool {
        self.fleet.lease(lease).is_some()
    }

    /// What is to be done since the last call.
    pub fn take_effects(&mut self) -> Effects {
        let changes = std::mem::take(&mut self.changes);
        for &id in &changes.entries {
            self.jobs.change(id, |job| job.settle_active(self.now));
        }
        let mut writes = Vec::new();
        writes.extend(changes.epoch.map(Write::Epoch));
        writes.extend(changes.blocked.into_iter().map(|(name, blocked)| Write::Blocked { name, blocked }));
        writes.extend(
            changes
                .entries
                .iter()
                .filter_map(|id| self.jobs.get(*id))
                .map(|job| Write::Job(job.entry.clone())),
        );
        writes.extend(changes.choices.into_iter().map(|(job, choices)| Write::Plan { job, choices }));
        writes.extend(changes.records.into_iter().map(|((job, ..), record)| Write::Record { job, record }));
        writes.extend(changes.coverage.into_iter().filter_map(|(id, cross)| {
            let change = self.jobs.change(id, |job| job.counting.as_mut()?.take_change(cross))??;
            Some(Write::Coverage { job: id, cross, change })
        }));
        let Changes { comparisons, messages, plans, losses, .. } = changes;
        Effects { writes, comparisons, messages, plans, losses }
    }

    /// Moves the clock, never back.
    pub(crate) fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Somebody counts a job from now on, if it is not paused.
    pub(crate) fn start_counting(&mut self, id: JobId) {
        let (now, date_ms) = (self.now, self.date_ms);
        if self.jobs.change(id, |job| job.start_counting(now, date_ms)) == Some(true) {
            self.changes.entries.insert(id);
        }
    }

    /// Nobody counts a job any more.
    pub(crate) fn stop_counting(&mut self, id: JobId) {
        let now = self.now;
        self.jobs.change(id, |job| {
            job.settle_active(now);
            job.counted_since = None;
        });
    }

    pub(crate) fn is_active(&self, id: JobId) -> bool {
        self.jobs.get(id).is_some_and(|job| job.entry.phase == Phase::Active)
    }

    pub(crate) fn finish_if_complete(&mut self, id: JobId) {
        if self.is_active(id) && self.jobs.get(id).is_some_and(Job::is_complete) {
            self.close(id, Phase::Done);
        }
    }

    /// Ends a job and all its leases.
    pub(crate) fn close(&mut self, id: JobId, phase: Phase) {
        let date_ms = self.date_ms;
        self.jobs.change(id, |job| {
            job.entry.phase = phase;
            job.entry.paused = false;
            job.entry.finished_ms = date_ms;
        });
        self.changes.entries.insert(id);
        for lease in self.fleet.leases_of_job(id) {
            let worker = self.fleet.lease(lease).map(|lease| lease.worker);
            self.end_lease(lease);
            self.changes.messages.extend(worker.map(|worker| (worker, ToWorker::Cancel(lease))));
        }
        self.feed();
    }
}
