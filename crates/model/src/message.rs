//! The messages of a worker's session.

use std::time::Duration;

use queens_solver::{BoardSize, Count, Method, Span, Symmetry};

use crate::card_sensors::CardSensors;
use crate::id::{JobIdentity, LeaseId, WorkerId};
use crate::name::Name;
use crate::report_interval::ReportInterval;
use crate::speed::Speed;

/// The most threads of a worker.
pub const MOST_THREADS: u32 = 4096;

/// The most deltas in a report, which keep it small.
pub const MOST_DELTAS: usize = 1024;

/// A message from a worker to its coordinator.
#[derive(Clone, Debug, PartialEq)]
pub enum ToCoordinator {
    /// Identifies the worker, once, first in a session. Boxed, since queues reserve room for the largest variant.
    Hello(Box<Hello>),
    /// Reports what the worker has counted, and that it is alive.
    Report(Report),
    /// Reports a span that the worker can't count. Sent before the report that ends the span's lease.
    Failure(Failure),
    /// Tells the operators what has happened to the worker, such as that its graphics card has counted wrong.
    Notice(String),
    /// Tells the measurements of the worker's graphics card, after they have changed.
    Sensors(CardSensors),
    /// Announces that the worker leaves, which frees its leases. It is the last message of a session, answered by
    /// [`ToWorker::Farewell`].
    Goodbye,
}

/// A worker's identity and the leases it still holds from an earlier session.
#[derive(Clone, Debug, PartialEq)]
pub struct Hello {
    /// The run of the worker process.
    pub worker: WorkerId,
    /// The name that operators see, and use to drain and block the worker; need not be unique.
    pub name: Name,
    /// The version of the worker's program.
    pub build: Name,
    /// The name of the kernel it counts with.
    pub kernel: Name,
    /// The number of leases it counts at a time, at least 1.
    pub n_threads: u32,
    /// The expected search speed of one thread, in nodes per second; a guess at first.
    pub speed: Speed,
    /// The [decomposition version](Method::decomposition) of the search that its span numbers refer to.
    pub decomposition: u32,
    /// The same for halves. A worker with another decomposition version than the coordinator's gets no halves.
    pub halves: HalvesSkill,
    /// A number that is equal for workers on one machine, and hardly ever equal otherwise.
    pub machine: u64,
    /// Leases that it continues.
    pub held: Vec<Held>,
}

/// How a worker counts by halves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalvesSkill {
    /// The [decomposition version](Method::decomposition) that its span numbers refer to.
    pub decomposition: u32,
    /// The expected speed of one thread, in units per second; a guess at first.
    pub speed: Speed,
}

/// A lease that a worker still holds when it connects again.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The lease.
    pub lease: LeaseId,
    /// The lease's job.
    pub job: JobIdentity,
    /// The spans that it has not reported or not counted yet.
    pub spans: Vec<Span>,
}

/// The spans counted since a worker's last report. An empty report is a heartbeat.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Increasing number of the report. The acknowledgement names it.
    pub sequence: u64,
    /// Newly counted spans, in any order.
    pub deltas: Vec<Delta>,
    /// Leases that the worker is done with, whether their spans were counted or not.
    pub finished: Vec<LeaseId>,
}

impl Report {
    /// Returns whether it is only a heartbeat, which is not acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deltas.is_empty() && self.finished.is_empty()
    }
}

/// A completely counted span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// The span's job.
    pub job: JobIdentity,
    /// The lease of the span.
    pub lease: LeaseId,
    /// The span, on chunk boundaries.
    pub span: Span,
    /// The span's count.
    pub count: Count,
    /// The time one thread took for it.
    pub duration: Duration,
}

/// A span that a worker can't count. It is a hint: a lost failure is found again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The span's job.
    pub job: JobIdentity,
    /// The lease of the span.
    pub lease: LeaseId,
    /// The span that can't be counted.
    pub span: Span,
    /// The reason, for people.
    pub reason: String,
}

/// A message from a coordinator to a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum ToWorker {
    /// Count this.
    Lease(Lease),
    /// Give up these spans of a lease, unless they are counted already.
    Shorten {
        /// The lease.
        lease: LeaseId,
        /// The spans to give up.
        spans: Vec<Span>,
    },
    /// Give up a lease at once, including the current chunk.
    Cancel(LeaseId),
    /// Finish the current chunks, report them, say goodbye and leave.
    Drain,
    /// Information for the person who runs the worker.
    Notice(String),
    /// Acknowledges all reports up to this one: they are durable or finally refused, and the worker can forget them.
    Acknowledge {
        /// The report's [`sequence`](Report::sequence).
        sequence: u64,
    },
    /// Report at least this often from now on, in this session.
    ReportEvery(ReportInterval),
    /// Confirms the goodbye: all earlier reports are durable. It is the last message of a session.
    Farewell,
}

/// Spans leased to one worker. One thread counts them in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// The fencing token.
    pub id: LeaseId,
    /// The job.
    pub job: JobIdentity,
    /// The size of the job's board.
    pub n: BoardSize,
    /// The job's method.
    pub method: Method,
    /// The spans to count.
    pub spans: Vec<LeasedSpan>,
}

/// A span and the image to count it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasedSpan {
    /// The span.
    pub span: Span,
    /// The image of the span's cross; for halves, the identity.
    pub image: Symmetry,
}
