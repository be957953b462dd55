//! What is told of jobs and workers, and of what has happened.

use std::time::Duration;

use queens_solver::{BoardSize, Method, Published, Span, published};

use crate::fraction::Fraction;
use crate::id::{JobId, JobIdentity, WorkerId};
use crate::name::Name;
use crate::priority::Priority;
use crate::recounting::Recounting;
use crate::speed::MethodSpeeds;
use crate::terms::Terms;
use crate::time_left::TimeLeft;

/// A coordinator as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinatorStatus {
    /// The version of its program.
    pub version: Name,
    /// How long it has run.
    pub uptime: Duration,
    /// What it keeps jobs in.
    pub store: Name,
    /// Why nothing can be recorded at present, if so.
    pub store_error: Option<String>,
    /// What it refuses at present and why, in words, each in one line.
    pub refuses: Vec<String>,
    /// The longest step of its event loop in the last minute or two, the present one included: whoever has something
    /// to say waits for as long.
    pub slowest_step: Duration,
}

/// Sums over all crosses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Σ weight × solutions of what is recorded: when all is, the number of solutions of the board.
    pub solutions: u128,
    /// The work of what is recorded: nodes of the search, units of halves.
    pub nodes: u128,
    /// The subproblems of the job.
    pub n_subproblems: u128,
    /// Those that are recorded.
    pub n_recorded: u128,
    /// The estimated work of the job, in the same.
    pub work: u128,
    /// The estimated work of what is recorded.
    pub work_recorded: u128,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Its plan is being made.
    Planning,
    /// It waits for a worker.
    Queued,
    /// Workers are counting it.
    Running,
    /// An operator has stopped it for now.
    Paused,
    /// Every subproblem is recorded: its solutions are the number of the board.
    Done,
    /// An operator has given it up.
    Cancelled,
    /// All else is recorded, but some spans have failed on every worker that could try them, or on three. It goes on
    /// when it is resumed, or when another worker comes that may still try.
    Failed,
    /// Every subproblem is recorded, but not all that is to be counted again: its solutions are provisional.
    Verifying,
    /// The same, and there is a span of which all counts differ, and nobody who could count it again.
    Disputed,
    /// What is stored of it contradicts itself, so that it is set aside.
    Damaged,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Planning,
        Self::Queued,
        Self::Running,
        Self::Paused,
        Self::Done,
        Self::Cancelled,
        Self::Failed,
        Self::Verifying,
        Self::Disputed,
        Self::Damaged,
    ];

    /// The name people and programs see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Verifying => "verifying",
            Self::Disputed => "disputed",
            Self::Damaged => "damaged",
        }
    }

    /// Whether nobody will count it any more, unless somebody does something about it.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::Failed | Self::Damaged)
    }

    /// Whether all is counted, but not yet checked as it is to be: what is said to be the number may still change.
    #[must_use]
    pub const fn is_provisional(self) -> bool {
        matches!(self, Self::Verifying | Self::Disputed)
    }
}

/// A job as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStatus {
    /// Its name.
    pub id: JobId,
    /// What it is known by where its number may be another job's; `None` if its coordinator does not tell.
    pub identity: Option<JobIdentity>,
    /// The size of its board.
    pub n: BoardSize,
    /// How it is counted.
    pub method: Method,
    /// Where it stands.
    pub state: JobState,
    /// What it waits for, in words, if it waits for workers.
    pub waits_for: Option<String>,
    /// What is recorded of it.
    pub progress: Progress,
    /// How long it has been counted.
    pub active: Duration,
    /// How long it should still take, as its workers count it now; `None` if none does.
    pub time_left: Option<TimeLeft>,
    /// Workers that hold leases of it.
    pub n_workers: u32,
    /// Recorded spans that a second count has confirmed.
    pub n_verified: u64,
    /// Recorded spans that a second count has contradicted.
    pub n_disputed: u64,
    /// How far it is with what is counted again.
    pub recounting: Recounting,
    /// When it was submitted, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was first counted; `None` if it has not been, or nobody has kept it.
    pub started_ms: Option<u64>,
    /// When it was done or given up; `None` if it is not, or nobody has kept it.
    pub finished_ms: Option<u64>,
    /// How urgent it is.
    pub priority: Priority,
    /// Spans that workers failed to count and that are still to be counted.
    pub n_failed: u64,
    /// Those of them that are set aside, because nobody who is connected may still try them.
    pub n_given_up: u64,
    /// What the worker that failed last had to say.
    pub failure: Option<String>,
    /// How many other plans are made before this job's; `None` if that is made, or being made.
    pub n_plans_before: Option<u32>,
    /// The share of its plan that is made, while that is being made.
    pub plan_fraction: Option<Fraction>,
    /// Its solutions up to rotation and reflection, as computed from what was counted: there soon after it is done.
    pub fundamental: Option<u128>,
    /// What is agreed about it.
    pub terms: Terms,
    /// The parts of its whole plan; 0 until that is made, or if its coordinator does not tell.
    pub n_parts: u64,
    /// The job that is its second pass, if it has one that is not given up.
    pub second: Option<JobId>,
    /// In what its two passes differ, in words, if they do.
    pub doubt: Option<String>,
}

impl JobStatus {
    /// A job of which nothing else is known.
    #[must_use]
    pub fn new(id: JobId, n: BoardSize, method: Method, state: JobState) -> Self {
        Self {
            id,
            identity: None,
            n,
            method,
            state,
            waits_for: None,
            progress: Progress::default(),
            active: Duration::ZERO,
            time_left: None,
            n_workers: 0,
            n_verified: 0,
            n_disputed: 0,
            recounting: Recounting::default(),
            created_ms: 0,
            started_ms: None,
            finished_ms: None,
            priority: Priority::default(),
            n_failed: 0,
            n_given_up: 0,
            failure: None,
            n_plans_before: None,
            plan_fraction: None,
            fundamental: None,
            terms: Terms::default(),
            n_parts: 0,
            second: None,
            doubt: None,
        }
    }

    /// Whether only a part of its board is counted.
    #[must_use]
    pub const fn is_part(&self) -> bool {
        self.terms.crosses.is_some()
    }

    /// Which part of its board is counted, in words, if it is not all of it: "crosses 3..7 of 12".
    #[must_use]
    pub fn part(&self) -> Option<String> {
        let crosses = self.terms.crosses?;
        Some(match self.n_parts {
            0 => format!("crosses {crosses}"),
            n_parts => format!("crosses {crosses} of {n_parts}"),
        })
    }

    /// Whether all of it is counted, but not checked as it is to be: what is said to be its number may still change.
    #[must_use]
    pub fn is_provisional(&self) -> bool {
        let all = self.progress.n_subproblems;
        let is_counted = all > 0 && self.progress.n_recorded == all;
        self.state.is_provisional() || (is_counted && self.state != JobState::Done)
    }

    /// The counts that have been published of what it has counted, if it is done.
    #[must_use]
    pub fn published(&self) -> Option<Published> {
        published(self.n).filter(|_| self.state == JobState::Done && !self.is_part())
    }

    /// Whether what was counted is what has been published; `None` if it is not done or nothing has been published. The
    /// fundamental number is compared when it is there.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        let counts = self.published()?;
        let is_fundamental = self.fundamental.is_none_or(|count| count == counts.fundamental);
        Some(counts.solutions == self.progress.solutions && is_fundamental)
    }

    /// The recorded share of the estimated work, 0 to 1; 1 only when all is recorded.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        match self.state {
            JobState::Done => 1.0,
            _ if self.is_provisional() => 1.0,
            _ if self.progress.work == 0 => 0.0,
            _ => (self.progress.work_recorded as f64 / self.progress.work as f64).min(1.0f64.next_down()),
        }
    }
}

/// Whether a worker gets leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkerState {
    /// It does.
    Ready,
    /// An operator has sent it home, and it is on its way.
    Draining,
    /// An operator has blocked its name.
    Blocked,
    /// Nothing came of its leases: it gets no other until it reports something.
    Stuck,
    /// It fails again and again: it gets no lease until it reports something or connects again, or a job is resumed.
    Failing,
}

impl WorkerState {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ready, Self::Draining, Self::Blocked, Self::Stuck, Self::Failing];

    /// The name people and programs see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Blocked => "blocked",
            Self::Stuck => "stuck",
            Self::Failing => "failing",
        }
    }
}

/// A worker as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerStatus {
    /// Its run.
    pub id: WorkerId,
    /// Its name.
    pub name: Name,
    /// The version of its program.
    pub build: Name,
    /// Its kernel.
    pub kernel: Name,
    /// What it can count by; none of them if its coordinator is too old to say.
    pub methods: Vec<Method>,
    /// Its counting threads.
    pub n_threads: u32,
    /// Whether its connection is open.
    pub connected: bool,
    /// Time since it was last heard of.
    pub silent: Duration,
    /// What all its threads count together, in counted work, not estimated: nothing if it has nothing to count, `None` if
    /// nobody has measured it.
    pub speed: Option<MethodSpeeds>,
    /// Leases it holds.
    pub n_leases: u32,
    /// Spans recorded from its reports.
    pub n_recorded: u64,
    /// Whether it gets leases.
    pub state: WorkerState,
    /// What it last failed at, if it has not reported anything since, or why its name is suspect.
    pub failure: Option<String>,
    /// What one of its threads is counting.
    pub counting: Option<InHand>,
}

/// What one of a worker's threads is counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InHand {
    /// The job.
    pub job: JobId,
    /// How that is counted.
    pub method: Method,
    /// What is left of the span.
    pub span: Span,
}

/// What a worker has counted of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contribution {
    /// The worker's name.
    pub worker: Name,
    /// Its kernel.
    pub kernel: Name,
    /// Spans that are recorded of it.
    pub n_spans: u64,
    /// Their work: nodes of the search, units of halves.
    pub nodes: u128,
    /// The time its threads took for them, added up.
    pub time: Duration,
}

/// How fast workers count together, as far as that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FleetSpeed {
    /// Those of them that are connected and count something.
    pub n_counting: usize,
    /// Those of these whose speed is measured.
    pub n_measured: usize,
    /// What these count together; `None` if something is counted and none of it is measured.
    pub speed: Option<MethodSpeeds>,
}

impl FleetSpeed {
    /// That of all these workers.
    pub fn of<'a>(workers: impl IntoIterator<Item = &'a WorkerStatus>) -> Self {
        let is_counting =
            |worker: &&WorkerStatus| worker.connected && worker.speed != Some(MethodSpeeds::ZERO);
        let speeds: Vec<_> = workers.into_iter().filter(is_counting).map(|worker| worker.speed).collect();
        let (n_counting, n_measured) = (speeds.len(), speeds.iter().flatten().count());
        let sum = speeds.into_iter().flatten().sum();
        let speed = (n_counting == 0 || n_measured > 0).then_some(sum);
        Self { n_counting, n_measured, speed }
    }

    /// Of how many workers it is told, if not of all: "12 of 30 workers measured".
    #[must_use]
    pub fn gap(&self) -> Option<String> {
        let Self { n_counting, n_measured, .. } = self;
        (n_measured < n_counting).then(|| format!("{n_measured} of {n_counting} workers measured"))
    }
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Numbers the events of a data directory upwards. After a crash, some of the last numbers are given again.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What it is about.
    pub kind: EventKind,
    /// The job it is about, if it is about one.
    pub job: Option<JobId>,
    /// What has happened, in words.
    pub text: String,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A job has begun or ended, or an operator has changed it.
    Job,
    /// A worker has lost what it held: somebody else will count it.
    Lease,
    /// A worker could not count a span.
    Failure,
    /// About the coordinator itself: it has started, it can't write its store or can again, it was slow.
    Store,
    /// A worker has joined or left, or an operator has decided something about it.
    Worker,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Job, Self::Lease, Self::Failure, Self::Store, Self::Worker];

    /// The name people and programs see.
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
