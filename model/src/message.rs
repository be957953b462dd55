//! The messages of a worker's session.

use std::time::Duration;

use queens_solver::{BoardSize, Count, Method, Span, Symmetry};

use crate::id::{JobIdentity, LeaseId, WorkerId};
use crate::name::Name;
use crate::report_interval::ReportInterval;
use crate::speed::Speed;

/// The most threads of a worker.
pub const MOST_THREADS: u32 = 4096;

/// What a worker says.
#[derive(Clone, Debug, PartialEq)]
pub enum ToCoordinator {
    /// Who it is; the first message of a session, sent once. Boxed, as queues reserve room for the largest message.
    Hello(Box<Hello>),
    /// What it has counted, and that it is alive.
    Report(Report),
    /// It can't count a span. Said before the report that ends the span's lease.
    Failure(Failure),
    /// It leaves and will count no more: its leases are free. The last message of a session; it is answered by
    /// [`ToWorker::Farewell`].
    Goodbye,
}

/// Who a worker is and what it still holds from an earlier session.
#[derive(Clone, Debug, PartialEq)]
pub struct Hello {
    /// The run of the worker process.
    pub worker: WorkerId,
    /// The name people know it by, and drain and block it by; need not be unique.
    pub name: Name,
    /// Version of the worker's program.
    pub build: Name,
    /// Name of the kernel it counts with.
    pub kernel: Name,
    /// How many leases it counts at a time, at least 1.
    pub n_threads: u32,
    /// What one of its threads is expected to count by search, in nodes per second; a first guess will do.
    pub speed: Speed,
    /// The [decomposition version](Method::decomposition) of the search that its span numbers mean.
    pub decomposition: u32,
    /// The same for the halves. With another decomposition version than the coordinator's, it gets none of them.
    pub halves: HalvesSkill,
    /// A number that workers on one machine have in common, and others hardly.
    pub machine: u64,
    /// Leases it goes on with.
    pub held: Vec<Held>,
}

/// How a worker counts by halves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalvesSkill {
    /// The [decomposition version](Method::decomposition) that its span numbers mean.
    pub decomposition: u32,
    /// What one of its threads is expected to count, in nodes per second; a first guess will do.
    pub speed: Speed,
}

/// A lease that a worker still holds when it connects again.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The lease.
    pub lease: LeaseId,
    /// The job it belongs to.
    pub job: JobIdentity,
    /// What it has not reported yet or is still to count.
    pub spans: Vec<Span>,
}

/// What a worker has counted since its last report; without contents, a sign of life.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Numbers the reports of one worker, upwards; the acknowledgement names it.
    pub sequence: u64,
    /// Newly counted spans, in any order.
    pub deltas: Vec<Delta>,
    /// Leases it is done with, whatever became of their spans.
    pub finished: Vec<LeaseId>,
}

impl Report {
    /// Whether it is no more than a sign of life, which is not acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deltas.is_empty() && self.finished.is_empty()
    }
}

/// A span counted to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// The job it belongs to.
    pub job: JobIdentity,
    /// The lease it was counted under.
    pub lease: LeaseId,
    /// What was counted, on chunk boundaries.
    pub span: Span,
    /// What it counts to.
    pub count: Count,
    /// The time one thread took for it.
    pub duration: Duration,
}

/// A span that a worker can't count. A hint: one that is lost is found out again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The job it belongs to.
    pub job: JobIdentity,
    /// The lease it was to be counted under.
    pub lease: LeaseId,
    /// What can't be counted.
    pub span: Span,
    /// What went wrong, for people.
    pub reason: String,
}

/// What a coordinator says to a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum ToWorker {
    /// Count this.
    Lease(Lease),
    /// Give up these parts of a lease, unless they are counted already.
    Shorten {
        /// The lease.
        lease: LeaseId,
        /// What is taken off it.
        spans: Vec<Span>,
    },
    /// Give up a lease at once, the chunk in hand included.
    Cancel(LeaseId),
    /// Count the chunks in hand to their end, report them, say goodbye and leave.
    Drain,
    /// Something that whoever runs the worker should know.
    Notice(String),
    /// All reports up to this one are durable (or were refused for good) and can be forgotten.
    Acknowledge {
        /// The report's [`sequence`](Report::sequence).
        sequence: u64,
    },
    /// Report at least this often from now on, in this session.
    ReportEvery(ReportInterval),
    /// The goodbye was heard, and all that was reported before it is durable. The last message of a session.
    Farewell,
}

/// Spans handed to one worker, to be counted in their order by one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// The fencing token.
    pub id: LeaseId,
    /// The job.
    pub job: JobIdentity,
    /// The job's board.
    pub n: BoardSize,
    /// How to count it.
    pub method: Method,
    /// What to count.
    pub spans: Vec<LeasedSpan>,
}

/// A span and the image to count it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasedSpan {
    /// What to count.
    pub span: Span,
    /// The image of its cross; of what is counted by halves, the identity.
    pub image: Symmetry,
}
