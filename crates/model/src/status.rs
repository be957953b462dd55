//! Status of coordinators, jobs and workers, and contributions.

use std::time::Duration;

use queens_solver::{BoardSize, Method, Published, Span, published};

use crate::card_sensors::CardSensors;
use crate::fraction::Fraction;
use crate::id::{JobId, JobIdentity, WorkerId};
use crate::name::Name;
use crate::priority::Priority;
use crate::recounting::Recounting;
use crate::speed::MethodSpeeds;
use crate::terms::Terms;
use crate::time_left::TimeLeft;

/// The status of a coordinator.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinatorStatus {
    /// The version of the program.
    pub version: Name,
    /// Time since it started.
    pub uptime: Duration,
    /// The kind of its store.
    pub store: Name,
    /// Why nothing can be recorded now, if so.
    pub store_error: Option<String>,
    /// Requests that it refuses now, with the reasons, one line each.
    pub refuses: Vec<String>,
    /// The longest step of the event loop in the last minute or two, including the current one. Messages wait at least
    /// as long.
    pub slowest_step: Duration,
}

/// Sums over all parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Σ weight × solutions of the records; when all is recorded, the number of solutions of the board.
    pub solutions: u128,
    /// Recorded work: nodes for the search, units for halves.
    pub work: u128,
    /// Number of subproblems.
    pub n_subproblems: u128,
    /// Number of recorded subproblems.
    pub n_recorded: u128,
    /// The estimated work of the job, in the same unit.
    pub estimated_work: u128,
    /// The estimated work of the recorded subproblems.
    pub estimated_work_recorded: u128,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Its plan is being made.
    Planning,
    /// It waits for a worker.
    Queued,
    /// Workers are counting it.
    Running,
    /// An operator has paused it.
    Paused,
    /// Every subproblem is recorded: its solutions are the number of the board.
    Done,
    /// An operator has cancelled it.
    Cancelled,
    /// The rest is recorded, but some spans failed on every worker that could try them, or on three. The job continues
    /// when it is resumed, or when another worker comes that may still try.
    Failed,
    /// Every subproblem is recorded, but the verification is not finished: its solutions are provisional.
    Verifying,
    /// The same, and all counts of a span differ, and no worker is left to count it again.
    Disputed,
    /// Its stored data are inconsistent, so it is set aside.
    Damaged,
}

impl JobState {
    /// All states.
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

    /// Returns the name that people and programs see.
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

    /// Returns whether counting has ended, unless an operator intervenes.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::Failed | Self::Damaged)
    }

    /// Returns whether all is counted, but the verification is not finished: the solutions may still change.
    #[must_use]
    pub const fn is_provisional(self) -> bool {
        matches!(self, Self::Verifying | Self::Disputed)
    }
}

/// The status of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStatus {
    /// The job's number.
    pub id: JobId,
    /// The job's identity across coordinators; `None` if its coordinator does not send it.
    pub identity: Option<JobIdentity>,
    /// The size of the board.
    pub n: BoardSize,
    /// The method that counts it.
    pub method: Method,
    /// The job's state.
    pub state: JobState,
    /// What the job waits for, in words, if it waits for workers.
    pub waits_for: Option<String>,
    /// The recorded progress.
    pub progress: Progress,
    /// The time for which it has been counted.
    pub active: Duration,
    /// The estimated remaining time with the current workers; `None` if none counts it.
    pub time_left: Option<TimeLeft>,
    /// Workers that hold leases of the job.
    pub n_workers: u32,
    /// Recorded spans that a second count has confirmed.
    pub n_verified: u64,
    /// Recorded spans that a second count has contradicted.
    pub n_disputed: u64,
    /// The progress of its recounts.
    pub recounting: Recounting,
    /// Time of submission, in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of the first count; `None` if it has not begun, or is not known.
    pub started_ms: Option<u64>,
    /// Time of completion or cancellation; `None` if the job is open, or it is not known.
    pub finished_ms: Option<u64>,
    /// The job's priority.
    pub priority: Priority,
    /// Spans that workers failed to count and that still must be counted.
    pub n_failed: u64,
    /// Failed spans that are set aside, because no connected worker may still try them.
    pub n_given_up: u64,
    /// The reason that the last failing worker gave.
    pub failure: Option<String>,
    /// Number of plans that are made before this job's; `None` if its plan is made or being made.
    pub n_plans_before: Option<u32>,
    /// The finished share of the plan, while the plan is being made.
    pub plan_fraction: Option<Fraction>,
    /// Solutions up to rotation and reflection, computed from the count. Available soon after the job is done.
    pub fundamental: Option<u128>,
    /// The terms of the job.
    pub terms: Terms,
    /// Number of parts of the whole plan; 0 until it is made, or if the coordinator does not send it.
    pub n_parts: u64,
    /// The second pass of this job, unless it has none or it was cancelled.
    pub second: Option<JobId>,
    /// The method of the job's other pass, be it the second or the first; `None` if there is no other.
    pub other_method: Option<Method>,
    /// The difference of the two passes, in words, if they differ.
    pub pass_mismatch: Option<String>,
}

impl JobStatus {
    /// Creates the status of a job without any progress.
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
            other_method: None,
            pass_mismatch: None,
        }
    }

    /// Returns whether only a range of the plan's parts is counted.
    #[must_use]
    pub const fn is_part(&self) -> bool {
        self.terms.part_range.is_some()
    }

    /// Describes the range of parts that is counted, unless all are: "parts 3..7 of 12".
    #[must_use]
    pub fn part(&self) -> Option<String> {
        let parts = self.terms.part_range?;
        Some(match self.n_parts {
            0 => format!("parts {parts}"),
            n_parts => format!("parts {parts} of {n_parts}"),
        })
    }

    /// Returns whether all is counted, but the verification is not finished: the number may still change.
    #[must_use]
    pub fn is_provisional(&self) -> bool {
        let all = self.progress.n_subproblems;
        let is_counted = all > 0 && self.progress.n_recorded == all;
        self.state.is_provisional() || (is_counted && self.state != JobState::Done)
    }

    /// Returns the published counts of the board, if the job is done and counted all of it.
    #[must_use]
    pub fn published(&self) -> Option<Published> {
        published(self.n).filter(|_| self.state == JobState::Done && !self.is_part())
    }

    /// Returns whether the count is the published one; `None` if the job is not done or nothing is published. Compares
    /// the fundamental number if it is available.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        let counts = self.published()?;
        let is_fundamental = self.fundamental.is_none_or(|count| count == counts.fundamental);
        Some(counts.solutions == self.progress.solutions && is_fundamental)
    }

    /// Returns the recorded share of the estimated work, 0 to 1; 1 only when all is recorded.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        match self.state {
            JobState::Done => 1.0,
            _ if self.is_provisional() => 1.0,
            _ if self.progress.estimated_work == 0 => 0.0,
            _ => (self.progress.estimated_work_recorded as f64 / self.progress.estimated_work as f64)
                .min(1.0f64.next_down()),
        }
    }
}

/// The state of a worker: whether it gets leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkerState {
    /// It gets leases.
    Ready,
    /// An operator is draining it.
    Draining,
    /// An operator has blocked its name.
    Blocked,
    /// Its leases bring no results: it gets no other lease until it reports something.
    Stuck,
    /// It fails repeatedly: it gets no lease until it reports something or reconnects, or a job is resumed.
    Failing,
}

impl WorkerState {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Ready, Self::Draining, Self::Blocked, Self::Stuck, Self::Failing];

    /// Returns the name that people and programs see.
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

/// The status of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerStatus {
    /// The run of the worker process.
    pub id: WorkerId,
    /// The worker's name.
    pub name: Name,
    /// The version of its program.
    pub build: Name,
    /// Its kernel.
    pub kernel: Name,
    /// The methods it supports; none if its coordinator is too old to send them.
    pub methods: Vec<Method>,
    /// Number of counting threads.
    pub n_threads: u32,
    /// Whether it is connected.
    pub connected: bool,
    /// Time since its last message.
    pub silent: Duration,
    /// The measured speed of all its threads, in counted, not estimated work: zero if it is idle, `None` if not
    /// measured.
    pub speed: Option<MethodSpeeds>,
    /// Number of leases it holds.
    pub n_leases: u32,
    /// Spans recorded from its reports.
    pub n_recorded: u64,
    /// Whether it gets leases.
    pub state: WorkerState,
    /// Its last failure if it has not reported since, or why its name is suspect.
    pub failure: Option<String>,
    /// The span that one of its threads is counting.
    pub counting: Option<InHand>,
    /// The measurements of its graphics card; unknown without a card or a connection.
    pub sensors: CardSensors,
}

/// A span that one of a worker's threads is counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InHand {
    /// The job.
    pub job: JobId,
    /// The job's method.
    pub method: Method,
    /// The rest of the span.
    pub span: Span,
}

/// A worker's contribution to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contribution {
    /// The worker's name.
    pub worker: Name,
    /// Its kernel.
    pub kernel: Name,
    /// Recorded spans.
    pub n_spans: u64,
    /// Work of these spans: nodes for the search, units for halves.
    pub work: u128,
    /// Time of the worker's threads for these spans, added up.
    pub time: Duration,
}

/// The measured speed of several workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FleetSpeed {
    /// Connected workers that count something.
    pub n_counting: usize,
    /// Counting workers whose speed is measured.
    pub n_measured: usize,
    /// Total speed of the measured workers; `None` if workers count but none is measured.
    pub speed: Option<MethodSpeeds>,
}

impl FleetSpeed {
    /// Computes the speed of all these workers.
    pub fn of<'a>(workers: impl IntoIterator<Item = &'a WorkerStatus>) -> Self {
        let is_counting =
            |worker: &&WorkerStatus| worker.connected && worker.speed != Some(MethodSpeeds::ZERO);
        let speeds: Vec<_> = workers.into_iter().filter(is_counting).map(|worker| worker.speed).collect();
        let (n_counting, n_measured) = (speeds.len(), speeds.iter().flatten().count());
        let sum = speeds.into_iter().flatten().sum();
        let speed = (n_counting == 0 || n_measured > 0).then_some(sum);
        Self { n_counting, n_measured, speed }
    }

    /// Describes how many of the workers are measured, unless all are: "12 of 30 workers measured".
    #[must_use]
    pub fn gap(&self) -> Option<String> {
        let Self { n_counting, n_measured, .. } = self;
        (n_measured < n_counting).then(|| format!("{n_measured} of {n_counting} workers measured"))
    }
}
