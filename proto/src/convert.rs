//! Messages to and from their form on the wire.
//!
//! Whatever comes from a network is checked here for what can be checked without knowing any job: sizes, ranges,
//! characters, counts. What depends on a job's plan, such as whether a span lies in its cross, the ledger checks.

use std::time::Duration;

use queens_solver::{BoardSize, Count, EmptySpan, InvalidBoardSize, Span, Symmetry};
use thiserror::Error;

use crate::checksum;
use crate::pb::{self, coordinator_message, worker_message};
use queens_messages::{
    Contribution, CoordinatorStatus, Delta, Event, EventKind, Failure, Held, Hello, InvalidName,
    InvalidPriority, JobId, JobState, JobStatus, Lease, LeaseId, LeasedSpan, MOST_THREADS, Name, Priority,
    Progress, Report, ToCoordinator, ToWorker, WorkerId, WorkerState, WorkerStatus, plain,
};

/// The version of the protocol that this program speaks.
pub const PROTOCOL: u32 = 1;

/// The oldest version it understands.
pub const OLDEST_PROTOCOL: u32 = 1;

/// The longest text that is passed on to people, in characters.
const LONGEST_TEXT: usize = 500;

/// The most spans or deltas in one message.
const MOST_SPANS: usize = 8192;

/// The most leases a worker can say it holds; those count that are done and not acknowledged.
const MOST_HELD: usize = 65_536;

/// The most refusals that are told of a coordinator.
const MOST_REFUSALS: usize = 16;

/// A message that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidMessage {
    /// It comes from a program too old or too new.
    #[error(
        "protocol version {found} is not supported: this program supports {OLDEST_PROTOCOL} to {PROTOCOL}"
    )]
    Protocol {
        /// The version it is in.
        found: u32,
    },
    /// A part that has to be there is not.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A span holds nothing.
    #[error(transparent)]
    EmptySpan(#[from] EmptySpan),
    /// A board is too large.
    #[error(transparent)]
    BoardSize(#[from] InvalidBoardSize),
    /// A number is no priority.
    #[error(transparent)]
    Priority(#[from] InvalidPriority),
    /// A number is outside its range.
    #[error("{what} is {found}, expected {expected}")]
    OutOfRange {
        /// What the number is of.
        what: &'static str,
        /// What it is.
        found: String,
        /// What it can be.
        expected: String,
    },
    /// It was changed on its way.
    #[error("{0} does not match its checksum")]
    Garbled(&'static str),
    /// A text is no name.
    #[error("{what} is no name: {reason}")]
    Name {
        /// What should have been named by it.
        what: &'static str,
        /// What a name is.
        reason: InvalidName,
    },
}

/// A whole number in `range`, or an error that names it.
fn in_range<T: TryFrom<u64> + Into<u64>>(
    what: &'static str,
    found: u64,
    most: T,
) -> Result<T, InvalidMessage> {
    let most: u64 = most.into();
    let error =
        || InvalidMessage::OutOfRange { what, found: found.to_string(), expected: format!("at most {most}") };
    if found > most {
        return Err(error());
    }
    T::try_from(found).map_err(|_| error())
}

fn at_most(what: &'static str, found: usize, most: usize) -> Result<(), InvalidMessage> {
    in_range(what, found as u64, most as u64).map(|_| ())
}

fn name(what: &'static str, text: &str) -> Result<Name, InvalidMessage> {
    text.parse().map_err(|reason| InvalidMessage::Name { what, reason })
}

/// What can be shown of a text in one line.
fn one_line(text: &str) -> String {
    let start: String = text.chars().take(LONGEST_TEXT).collect();
    plain::line(&start).chars().take(LONGEST_TEXT).collect()
}

/// The same, of a text that is empty if there is none.
fn some_line(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| one_line(text))
}

/// A decimal number of at most 39 digits.
fn decimal(what: &'static str, text: &str) -> Result<u128, InvalidMessage> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let error = || InvalidMessage::OutOfRange {
        what,
        found: format!("'{}'", text.chars().take(50).collect::<String>()),
        expected: "a decimal number below 2^128".to_owned(),
    };
    text.parse().ok().filter(|_| digits).ok_or_else(error)
}

/// A rate or time: finite and not negative.
fn amount(what: &'static str, found: f64) -> Result<f64, InvalidMessage> {
    if found.is_finite() && found >= 0.0 {
        return Ok(found);
    }
    let expected = "a finite number from 0".to_owned();
    Err(InvalidMessage::OutOfRange { what, found: found.to_string(), expected })
}

impl From<Span> for pb::Span {
    fn from(span: Span) -> Self {
        Self { cross: span.cross(), from: span.from(), to: span.to() }
    }
}

impl TryFrom<pb::Span> for Span {
    type Error = InvalidMessage;

    fn try_from(span: pb::Span) -> Result<Self, InvalidMessage> {
        Ok(Self::new(span.cross, span.from, span.to)?)
    }
}

fn spans(spans: Vec<pb::Span>) -> Result<Vec<Span>, InvalidMessage> {
    spans.into_iter().map(Span::try_from).collect()
}

impl From<ToCoordinator> for pb::WorkerMessage {
    fn from(message: ToCoordinator) -> Self {
        use worker_message::Message;
        let message = match message {
            ToCoordinator::Hello(hello) => Message::Hello(hello.into()),
            ToCoordinator::Report(report) => Message::Report(report.into()),
            ToCoordinator::Failure(failure) => Message::Failure(failure.into()),
            ToCoordinator::Goodbye => Message::Goodbye(pb::Goodbye {}),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<pb::WorkerMessage> for ToCoordinator {
    type Error = InvalidMessage;

    fn try_from(message: pb::WorkerMessage) -> Result<Self, InvalidMessage> {
        use worker_message::Message;
        Ok(match message.message.ok_or(InvalidMessage::Missing("message"))? {
            Message::Hello(hello) => Self::Hello(hello.try_into()?),
            Message::Report(report) => Self::Report(report.try_into()?),
            Message::Failure(failure) => Self::Failure(failure.try_into()?),
            Message::Goodbye(pb::Goodbye {}) => Self::Goodbye,
        })
    }
}

impl From<Hello> for pb::Hello {
    fn from(hello: Hello) -> Self {
        let held = |held: Held| pb::HeldLease {
            lease: held.lease.0,
            job: held.job.0,
            spans: held.spans.into_iter().map(pb::Span::from).collect(),
        };
        Self {
            protocol: PROTOCOL,
            decomposition: hello.decomposition,
            worker: hello.worker.0,
            name: hello.name.to_string(),
            build: hello.build.to_string(),
            kernel: hello.kernel.to_string(),
            threads: hello.n_threads,
            nodes_per_second: hello.rate,
            held: hello.held.into_iter().map(held).collect(),
        }
    }
}

impl TryFrom<pb::Hello> for Hello {
    type Error = InvalidMessage;

    fn try_from(hello: pb::Hello) -> Result<Self, InvalidMessage> {
        if !(OLDEST_PROTOCOL..=PROTOCOL).contains(&hello.protocol) {
            return Err(InvalidMessage::Protocol { found: hello.protocol });
        }
        at_most("the number of held leases", hello.held.len(), MOST_HELD)?;
        let held = |held: pb::HeldLease| -> Result<Held, InvalidMessage> {
            Ok(Held { lease: LeaseId(held.lease), job: JobId(held.job), spans: spans(held.spans)? })
        };
        Ok(Self {
            worker: WorkerId(hello.worker),
            name: worker_name(&hello.name)?,
            build: name("the worker's build", &hello.build)?,
            kernel: name("the worker's kernel", &hello.kernel)?,
            n_threads: in_range("the number of threads", hello.threads.into(), MOST_THREADS)?,
            rate: amount("the worker's rate", hello.nodes_per_second)?,
            decomposition: hello.decomposition,
            held: hello.held.into_iter().map(held).collect::<Result<_, _>>()?,
        })
    }
}

impl From<Report> for pb::Report {
    fn from(report: Report) -> Self {
        Self {
            sequence: report.sequence,
            deltas: report.deltas.into_iter().map(pb::Delta::from).collect(),
            finished: report.finished.into_iter().map(|lease| lease.0).collect(),
        }
    }
}

impl TryFrom<pb::Report> for Report {
    type Error = InvalidMessage;

    fn try_from(report: pb::Report) -> Result<Self, InvalidMessage> {
        at_most("the number of deltas", report.deltas.len(), MOST_SPANS)?;
        at_most("the number of finished leases", report.finished.len(), MOST_HELD)?;
        Ok(Self {
            sequence: report.sequence,
            deltas: report.deltas.into_iter().map(Delta::try_from).collect::<Result<_, _>>()?,
            finished: report.finished.into_iter().map(LeaseId).collect(),
        })
    }
}

impl From<Delta> for pb::Delta {
    fn from(delta: Delta) -> Self {
        let mut message = Self {
            job: delta.job.0,
            lease: delta.lease.0,
            span: Some(delta.span.into()),
            solutions: delta.count.solutions,
            nodes: delta.count.nodes,
            duration_us: u64::try_from(delta.duration.as_micros()).unwrap_or(u64::MAX),
            checksum: 0,
        };
        message.checksum = checksum::of_delta(&message);
        message
    }
}

impl TryFrom<pb::Delta> for Delta {
    type Error = InvalidMessage;

    fn try_from(delta: pb::Delta) -> Result<Self, InvalidMessage> {
        const MOST: u64 = i64::MAX as u64;
        if delta.checksum != checksum::of_delta(&delta) {
            return Err(InvalidMessage::Garbled("a delta"));
        }
        Ok(Self {
            job: JobId(delta.job),
            lease: LeaseId(delta.lease),
            span: delta.span.ok_or(InvalidMessage::Missing("a delta's span"))?.try_into()?,
            count: Count {
                solutions: in_range("the number of solutions", delta.solutions, MOST)?,
                nodes: in_range("the number of nodes", delta.nodes, MOST)?,
            },
            duration: Duration::from_micros(in_range("the duration", delta.duration_us, MOST)?),
        })
    }
}

impl From<Failure> for pb::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            job: failure.job.0,
            lease: failure.lease.0,
            span: Some(failure.span.into()),
            reason: one_line(&failure.reason),
        }
    }
}

impl TryFrom<pb::Failure> for Failure {
    type Error = InvalidMessage;

    fn try_from(failure: pb::Failure) -> Result<Self, InvalidMessage> {
        Ok(Self {
            job: JobId(failure.job),
            lease: LeaseId(failure.lease),
            span: failure.span.ok_or(InvalidMessage::Missing("a failure's span"))?.try_into()?,
            reason: one_line(&failure.reason),
        })
    }
}

impl From<ToWorker> for pb::CoordinatorMessage {
    fn from(message: ToWorker) -> Self {
        use coordinator_message::Message;
        let message = match message {
            ToWorker::Lease(lease) => Message::Lease(lease.into()),
            ToWorker::Shorten { lease, spans } => Message::Shorten(pb::Shorten {
                lease: lease.0,
                spans: spans.into_iter().map(pb::Span::from).collect(),
            }),
            ToWorker::Cancel(lease) => Message::Cancel(pb::CancelLease { lease: lease.0 }),
            ToWorker::Drain => Message::Drain(pb::Drain {}),
            ToWorker::Notice(text) => Message::Notice(pb::Notice { text: one_line(&text) }),
            ToWorker::Acknowledge { sequence } => Message::Acknowledge(pb::Acknowledge { sequence }),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<pb::CoordinatorMessage> for ToWorker {
    type Error = InvalidMessage;

    fn try_from(message: pb::CoordinatorMessage) -> Result<Self, InvalidMessage> {
        use coordinator_message::Message;
        Ok(match message.message.ok_or(InvalidMessage::Missing("message"))? {
            Message::Lease(lease) => Self::Lease(lease.try_into()?),
            Message::Shorten(shorten) => {
                Self::Shorten { lease: LeaseId(shorten.lease), spans: spans(shorten.spans)? }
            }
            Message::Cancel(cancel) => Self::Cancel(LeaseId(cancel.lease)),
            Message::Drain(pb::Drain {}) => Self::Drain,
            Message::Notice(pb::Notice { text }) => Self::Notice(one_line(&text)),
            Message::Acknowledge(pb::Acknowledge { sequence }) => Self::Acknowledge { sequence },
        })
    }
}

impl From<Lease> for pb::Lease {
    fn from(lease: Lease) -> Self {
        let span = |leased: LeasedSpan| pb::LeasedSpan {
            span: Some(leased.span.into()),
            image: leased.image.index().into(),
        };
        let mut message = Self {
            lease: lease.id.0,
            job: lease.job.0,
            n: lease.n.get().into(),
            spans: lease.spans.into_iter().map(span).collect(),
            checksum: 0,
        };
        message.checksum = checksum::of_lease(&message);
        message
    }
}

impl TryFrom<pb::Lease> for Lease {
    type Error = InvalidMessage;

    fn try_from(lease: pb::Lease) -> Result<Self, InvalidMessage> {
        if lease.checksum != checksum::of_lease(&lease) {
            return Err(InvalidMessage::Garbled("a lease"));
        }
        at_most("the number of leased spans", lease.spans.len(), MOST_SPANS)?;
        let span = |leased: pb::LeasedSpan| -> Result<LeasedSpan, InvalidMessage> {
            let index: u8 = in_range("the image", leased.image.into(), 7_u8)?;
            Ok(LeasedSpan {
                span: leased.span.ok_or(InvalidMessage::Missing("a leased span"))?.try_into()?,
                image: Symmetry::from_index(index).ok_or(InvalidMessage::Missing("an image"))?,
            })
        };
        Ok(Self {
            id: LeaseId(lease.lease),
            job: JobId(lease.job),
            n: BoardSize::try_from(lease.n)?,
            spans: lease.spans.into_iter().map(span).collect::<Result<_, _>>()?,
        })
    }
}

impl From<JobState> for pb::JobState {
    fn from(state: JobState) -> Self {
        match state {
            JobState::Planning => Self::Planning,
            JobState::Queued => Self::Queued,
            JobState::Running => Self::Running,
            JobState::Paused => Self::Paused,
            JobState::Done => Self::Done,
            JobState::Cancelled => Self::Cancelled,
            JobState::Failed => Self::Failed,
        }
    }
}

/// The share of a plan that is made.
fn share_of_plan(share: f64) -> Result<f64, InvalidMessage> {
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    let expected = "a number from 0 to 1".to_owned();
    Err(InvalidMessage::OutOfRange { what: "the share of the plan", found: share.to_string(), expected })
}

fn job_state(state: i32) -> Result<JobState, InvalidMessage> {
    match pb::JobState::try_from(state) {
        Ok(pb::JobState::Planning) => Ok(JobState::Planning),
        Ok(pb::JobState::Queued) => Ok(JobState::Queued),
        Ok(pb::JobState::Running) => Ok(JobState::Running),
        Ok(pb::JobState::Paused) => Ok(JobState::Paused),
        Ok(pb::JobState::Done) => Ok(JobState::Done),
        Ok(pb::JobState::Cancelled) => Ok(JobState::Cancelled),
        Ok(pb::JobState::Failed) => Ok(JobState::Failed),
        Ok(pb::JobState::Unspecified) | Err(_) => Err(InvalidMessage::Missing("a job's state")),
    }
}

impl From<JobStatus> for pb::Job {
    fn from(job: JobStatus) -> Self {
        Self {
            job: job.id.0,
            n: job.n.get().into(),
            state: pb::JobState::from(job.state).into(),
            solutions: job.progress.solutions.to_string(),
            nodes: job.progress.nodes.to_string(),
            subproblems: job.progress.n_subproblems.to_string(),
            recorded: job.progress.n_recorded.to_string(),
            work: job.progress.work.to_string(),
            work_recorded: job.progress.work_recorded.to_string(),
            active_ms: millis(job.active),
            seconds_left: job.seconds_left,
            workers: job.n_workers,
            verified: job.n_verified,
            disputed: job.n_disputed,
            created_ms: job.created_ms,
            started_ms: job.started_ms,
            finished_ms: job.finished_ms,
            priority: job.priority.get(),
            failed_spans: job.n_failed,
            given_up_spans: job.n_given_up,
            failure: job.failure.unwrap_or_default(),
            store_error: String::new(),
            plans_before: job.n_plans_before,
            plan_fraction: job.plan_fraction,
            fundamental: job.fundamental.map(|count| count.to_string()).unwrap_or_default(),
            seconds_left_low: job.seconds_left_low,
            seconds_left_high: job.seconds_left_high,
        }
    }
}

impl TryFrom<pb::Job> for JobStatus {
    type Error = InvalidMessage;

    fn try_from(job: pb::Job) -> Result<Self, InvalidMessage> {
        let progress = Progress {
            solutions: decimal("the number of solutions", &job.solutions)?,
            nodes: decimal("the number of nodes", &job.nodes)?,
            n_subproblems: decimal("the number of subproblems", &job.subproblems)?,
            n_recorded: decimal("the number of recorded subproblems", &job.recorded)?,
            work: decimal("the estimated work", &job.work)?,
            work_recorded: decimal("the recorded work", &job.work_recorded)?,
        };
        let seconds = |left: Option<f64>| left.map(|left| amount("the time left", left)).transpose();
        Ok(Self {
            id: JobId(job.job),
            n: BoardSize::try_from(job.n)?,
            state: job_state(job.state)?,
            progress,
            active: Duration::from_millis(job.active_ms),
            seconds_left: seconds(job.seconds_left)?,
            // A coordinator of an older version knows no range.
            seconds_left_low: seconds(job.seconds_left_low.or(job.seconds_left))?,
            seconds_left_high: seconds(job.seconds_left_high.or(job.seconds_left))?,
            n_workers: job.workers,
            n_verified: job.verified,
            n_disputed: job.disputed,
            created_ms: job.created_ms,
            started_ms: job.started_ms,
            finished_ms: job.finished_ms,
            priority: Priority::try_from(job.priority)?,
            n_failed: job.failed_spans,
            n_given_up: job.given_up_spans,
            failure: some_line(&job.failure),
            n_plans_before: job.plans_before,
            plan_fraction: job.plan_fraction.map(share_of_plan).transpose()?,
            fundamental: match job.fundamental.as_str() {
                "" => None,
                count => Some(decimal("the number of fundamental solutions", count)?),
            },
        })
    }
}

/// What a job says of its coordinator's store. That is for coordinators that can't tell of themselves.
#[must_use]
pub fn store_error_of(job: &pb::Job) -> Option<String> {
    some_line(&job.store_error)
}

impl From<CoordinatorStatus> for pb::Coordinator {
    fn from(coordinator: CoordinatorStatus) -> Self {
        Self {
            version: coordinator.version.to_string(),
            uptime_ms: millis(coordinator.uptime),
            store: coordinator.store.to_string(),
            store_error: coordinator.store_error.unwrap_or_default(),
            refuses: coordinator.refuses,
            slowest_step_us: u64::try_from(coordinator.slowest_step.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

impl From<pb::Coordinator> for CoordinatorStatus {
    fn from(coordinator: pb::Coordinator) -> Self {
        Self {
            version: Name::of_any(&coordinator.version),
            uptime: Duration::from_millis(coordinator.uptime_ms),
            store: Name::of_any(&coordinator.store),
            store_error: some_line(&coordinator.store_error),
            refuses: coordinator
                .refuses
                .iter()
                .take(MOST_REFUSALS)
                .map(|refusal| one_line(refusal))
                .collect(),
            slowest_step: Duration::from_micros(coordinator.slowest_step_us),
        }
    }
}

impl From<WorkerState> for pb::WorkerState {
    fn from(state: WorkerState) -> Self {
        match state {
            WorkerState::Ready => Self::Ready,
            WorkerState::Draining => Self::Draining,
            WorkerState::Blocked => Self::Blocked,
            WorkerState::Stuck => Self::Stuck,
            WorkerState::Failing => Self::Failing,
        }
    }
}

fn worker_state(state: i32) -> Result<WorkerState, InvalidMessage> {
    match pb::WorkerState::try_from(state) {
        Ok(pb::WorkerState::Ready) => Ok(WorkerState::Ready),
        Ok(pb::WorkerState::Draining) => Ok(WorkerState::Draining),
        Ok(pb::WorkerState::Blocked) => Ok(WorkerState::Blocked),
        Ok(pb::WorkerState::Stuck) => Ok(WorkerState::Stuck),
        Ok(pb::WorkerState::Failing) => Ok(WorkerState::Failing),
        Ok(pb::WorkerState::Unspecified) | Err(_) => Err(InvalidMessage::Missing("a worker's state")),
    }
}

/// A worker's name, as operators ask for it.
///
/// # Errors
/// If no worker can have it.
pub fn worker_name(text: &str) -> Result<Name, InvalidMessage> {
    name("the worker's name", text)
}

impl From<WorkerStatus> for pb::Worker {
    fn from(worker: WorkerStatus) -> Self {
        let (job, span) = worker.counting.unzip();
        Self {
            worker: worker.id.0,
            name: worker.name.to_string(),
            build: worker.build.to_string(),
            kernel: worker.kernel.to_string(),
            threads: worker.n_threads,
            connected: worker.connected,
            silent_ms: millis(worker.silent),
            nodes_per_second: worker.rate,
            leases: worker.n_leases,
            recorded: worker.n_recorded,
            state: pb::WorkerState::from(worker.state).into(),
            failure: worker.failure.unwrap_or_default(),
            job: job.map_or(0, |job| job.0),
            span: span.map(pb::Span::from),
        }
    }
}

impl TryFrom<pb::Worker> for WorkerStatus {
    type Error = InvalidMessage;

    fn try_from(worker: pb::Worker) -> Result<Self, InvalidMessage> {
        let span = worker.span.map(Span::try_from).transpose()?;
        Ok(Self {
            id: WorkerId(worker.worker),
            // Whatever a coordinator holds for a name, one must not keep all others from being listed.
            name: Name::of_any(&worker.name),
            build: Name::of_any(&worker.build),
            kernel: Name::of_any(&worker.kernel),
            n_threads: worker.threads,
            connected: worker.connected,
            silent: Duration::from_millis(worker.silent_ms),
            rate: worker.nodes_per_second.map(|rate| amount("the worker's rate", rate)).transpose()?,
            n_leases: worker.leases,
            n_recorded: worker.recorded,
            state: worker_state(worker.state)?,
            failure: some_line(&worker.failure),
            counting: span.map(|span| (JobId(worker.job), span)),
        })
    }
}

impl From<&Contribution> for pb::Contribution {
    fn from(contribution: &Contribution) -> Self {
        Self {
            worker: contribution.worker.to_string(),
            kernel: contribution.kernel.to_string(),
            spans: contribution.n_spans,
            nodes: contribution.nodes.to_string(),
            time_us: u64::try_from(contribution.time.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

impl TryFrom<pb::Contribution> for Contribution {
    type Error = InvalidMessage;

    fn try_from(contribution: pb::Contribution) -> Result<Self, InvalidMessage> {
        Ok(Self {
            worker: Name::of_any(&contribution.worker),
            kernel: Name::of_any(&contribution.kernel),
            n_spans: contribution.spans,
            nodes: decimal("the number of nodes", &contribution.nodes)?,
            time: Duration::from_micros(contribution.time_us),
        })
    }
}

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

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
