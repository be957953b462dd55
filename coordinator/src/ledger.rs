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

mod failure;
mod free;
mod job;
mod lease;
mod operator;
mod pace;
mod schedule;
mod session;
mod status;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_proto::{InvalidName, JobId, LeaseId, Name, Priority, ToWorker, WorkerId};
use queens_solver::{BoardSize, Choice, Count, DECOMPOSITION_VERSION, Plan, Span, WrongCrosses};
use thiserror::Error;

use crate::store::{Coverage, JobRow, Phase, Record, Stored, StoredJob, Write};
use job::{Counting, Job};
use lease::LiveLease;
use pace::Pace;
use schedule::Power;
use session::Member;

pub use operator::{JobRefusal, UnknownWorker};
pub use session::{Outcome, Refusal};
pub use status::CrossStatus;

/// The state of all jobs, workers and leases of one coordinator.
#[derive(Debug)]
pub struct Ledger {
    now: Duration,
    jobs: BTreeMap<JobId, Job>,
    /// Jobs that are there to be counted, paused ones included, in the order they are served.
    active: BTreeSet<Rank>,
    workers: BTreeMap<WorkerId, Member>,
    /// Workers that hold fewer leases than they may.
    hungry: BTreeSet<WorkerId>,
    /// Names of workers that get no leases.
    blocked: BTreeSet<Name>,
    leases: BTreeMap<LeaseId, LiveLease>,
    /// The first lease ever granted of these jobs: one from `first_lease` to `next_lease` is of this ledger, or of one
    /// that was stored before it. Any other is of another coordinator, whose jobs may have the same numbers.
    first_lease: u64,
    next_lease: u64,
    /// The epoch after this one, to be made durable before the first lease is granted.
    unclaimed_epoch: Option<u32>,
    /// As of the last tick or arrival.
    power: Power,
    /// When it was last looked at how fast jobs are counted.
    looked: Duration,
    changes: Changes,
}

/// Jobs are served in this order: higher priority first, and then in the order of submission.
type Rank = (Reverse<Priority>, JobId);

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The job.
    pub job: JobId,
    /// What was counted again.
    pub span: Span,
    /// What it counted to this time.
    pub count: Count,
    /// Who counted it this time.
    pub worker: WorkerId,
}

/// What has changed since the effects were last taken.
#[derive(Debug, Default)]
struct Changes {
    epoch: Option<u32>,
    blocked: BTreeMap<String, bool>,
    rows: BTreeSet<JobId>,
    choices: Vec<(JobId, Vec<Choice>)>,
    records: BTreeMap<(JobId, u32, u64), Record>,
    coverage: BTreeSet<(JobId, u32)>,
    comparisons: Vec<Comparison>,
    messages: Vec<(WorkerId, ToWorker)>,
    plans: Vec<(JobId, BoardSize)>,
    losses: Vec<Loss>,
}

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
    #[error("the plan of job {job} is not this program's: {reason}")]
    Plan {
        /// The job.
        job: JobId,
        /// What is wrong with it.
        reason: WrongCrosses,
    },
    /// It is said to be done, and is not.
    #[error("job {job} is done, but not all of it is recorded")]
    Incomplete {
        /// The job.
        job: JobId,
    },
    /// A record lies outside its plan.
    #[error("job {job} has records outside cross {cross} of its plan")]
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
            jobs: BTreeMap::new(),
            active: BTreeSet::new(),
            workers: BTreeMap::new(),
            hungry: BTreeSet::new(),
            blocked: BTreeSet::new(),
            leases: BTreeMap::new(),
            first_lease: u64::from(stored.first_epoch) << 32,
            next_lease: u64::from(stored.epoch) << 32,
            unclaimed_epoch: Some(stored.epoch.saturating_add(1)),
            power: Power::default(),
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

    fn restore_job(&mut self, stored: StoredJob) -> Result<(), RestoreError> {
        let StoredJob { row, choices, coverage } = stored;
        let job = row.id;
        if row.decomposition != DECOMPOSITION_VERSION {
            return Err(RestoreError::Decomposition { job, found: row.decomposition });
        }
        let mut counting = None;
        if let Some(choices) = choices {
            let plan =
                Plan::from_choices(row.n, &choices).map_err(|reason| RestoreError::Plan { job, reason })?;
            let mut all = vec![Coverage::default(); plan.crosses().len()];
            for (cross, coverage) in coverage {
                let n_subproblems = plan.cross(cross).map_or(0, |cross| cross.choice().n_subproblems);
                let end = coverage.recorded.ranges().last().map_or(0, |range| range.end);
                match all.get_mut(cross as usize) {
                    Some(slot) if end <= n_subproblems => *slot = coverage,
                    _ => return Err(RestoreError::Coverage { job, cross }),
                }
            }
            counting = Some(Counting::new(Arc::new(plan), all));
        }
        let job = Job { row, counting, leases_by_worker: BTreeMap::new(), pace: Pace::default() };
        let id = job.row.id;
        match job.row.phase {
            Phase::Planning => self.changes.plans.push((id, job.row.n)),
            Phase::Active => _ = self.active.insert(job.rank()),
            Phase::Done if !job.is_complete() => return Err(RestoreError::Incomplete { job: id }),
            Phase::Done | Phase::Cancelled => {}
        }
        self.jobs.insert(id, job);
        Ok(())
    }

    /// A new job for boards of size `n`; `created_ms` is the time in milliseconds since 1970.
    pub fn submit(&mut self, n: BoardSize, created_ms: u64) -> JobId {
        let id = JobId(self.jobs.last_key_value().map_or(1, |(last, _)| last.0 + 1));
        let row = JobRow {
            id,
            n,
            decomposition: DECOMPOSITION_VERSION,
            phase: Phase::Planning,
            priority: Priority::default(),
            paused: false,
            created_ms,
            active: Duration::ZERO,
            n_verified: 0,
            n_disputed: 0,
        };
        self.jobs.insert(
            id,
            Job { row, counting: None, leases_by_worker: BTreeMap::new(), pace: Pace::default() },
        );
        self.changes.rows.insert(id);
        self.changes.plans.push((id, n));
        id
    }

    /// A job's plan is made. Does nothing if the job is not waiting for one.
    pub fn planned(&mut self, now: Duration, id: JobId, plan: impl Into<Arc<Plan>>) {
        self.advance(now);
        let plan = plan.into();
        let Some(job) = self.jobs.get_mut(&id).filter(|job| job.row.phase == Phase::Planning) else { return };
        let choices = plan.crosses().iter().map(|planned| *planned.choice()).collect();
        let coverage = vec![Coverage::default(); plan.crosses().len()];
        job.counting = Some(Counting::new(plan, coverage));
        job.row.phase = Phase::Active;
        self.active.insert(job.rank());
        self.changes.rows.insert(id);
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
        let job = self.jobs.get(&id).ok_or(UnknownJob(id))?;
        if matches!(job.row.phase, Phase::Planning | Phase::Active) {
            self.close(id, Phase::Cancelled);
        }
        Ok(())
    }

    /// The answer to a [`Comparison`]: what the record of exactly this span counts to, if there is one.
    pub fn compared(&mut self, comparison: &Comparison, recorded: Option<Count>) {
        let (Some(job), Some(recorded)) = (self.jobs.get_mut(&comparison.job), recorded) else { return };
        if recorded == comparison.count {
            job.row.n_verified += 1;
        } else {
            job.row.n_disputed += 1;
        }
        self.changes.rows.insert(comparison.job);
    }

    /// Lets time pass: silent workers are given up, the tails of running leases go to idle threads, and threads go
    /// over to what is more urgent. Returns the workers that were given up, whose sessions, if they have any, are no
    /// use any more.
    pub fn tick(&mut self, now: Duration) -> Vec<WorkerId> {
        self.advance(now);
        let silent = self.give_up_silent_workers();
        self.power = Power::of(self.workers.values());
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
        !self.workers.is_empty()
    }

    /// Whether something is being counted.
    #[must_use]
    pub fn has_leases(&self) -> bool {
        !self.leases.is_empty()
    }

    /// Whether something may still come of a job by itself.
    #[must_use]
    pub fn is_open(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|job| matches!(job.row.phase, Phase::Planning | Phase::Active))
    }

    /// Whether a worker holds this lease.
    #[must_use]
    pub fn is_held(&self, lease: LeaseId) -> bool {
        self.leases.contains_key(&lease)
    }

    /// What is to be done since the last call.
    pub fn take_effects(&mut self) -> Effects {
        let changes = std::mem::take(&mut self.changes);
        let mut writes = Vec::new();
        writes.extend(changes.epoch.map(Write::Epoch));
        writes.extend(changes.blocked.into_iter().map(|(name, blocked)| Write::Blocked { name, blocked }));
        writes.extend(
            changes.rows.iter().filter_map(|id| self.jobs.get(id)).map(|job| Write::Job(job.row.clone())),
        );
        writes.extend(changes.choices.into_iter().map(|(job, choices)| Write::Plan { job, choices }));
        writes.extend(changes.records.into_iter().map(|((job, ..), record)| Write::Record { job, record }));
        writes.extend(changes.coverage.into_iter().filter_map(|(id, cross)| {
            let coverage = self.jobs.get(&id)?.counting.as_ref()?.coverage.get(cross as usize)?.clone();
            Some(Write::Coverage { job: id, cross, coverage })
        }));
        let Changes { comparisons, messages, plans, losses, .. } = changes;
        Effects { writes, comparisons, messages, plans, losses }
    }

    /// Moves the clock and counts the time in which jobs are being worked on.
    fn advance(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.now);
        self.now = self.now.max(now);
        for (_, id) in &self.active {
            let is_counted = |job: &&mut Job| !job.leases_by_worker.is_empty() && !job.row.paused;
            if let Some(job) = self.jobs.get_mut(id).filter(is_counted) {
                job.row.active += passed;
            }
        }
    }

    fn is_active(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_some_and(|job| job.row.phase == Phase::Active)
    }

    fn finish_if_complete(&mut self, id: JobId) {
        if self.is_active(id) && self.jobs.get(&id).is_some_and(Job::is_complete) {
            self.close(id, Phase::Done);
        }
    }

    /// Ends a job and all its leases.
    fn close(&mut self, id: JobId, phase: Phase) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.row.phase = phase;
            job.row.paused = false;
            self.active.remove(&job.rank());
        }
        self.changes.rows.insert(id);
        let held: Vec<LeaseId> =
            self.leases.values().filter(|lease| lease.job == id).map(|lease| lease.id).collect();
        for lease in held {
            if let Some(lease) = self.end_lease(lease) {
                self.changes.messages.push((lease.worker, ToWorker::Cancel(lease.id)));
            }
        }
        self.feed();
    }
}
