//! The reasons to refuse a worker's messages.

use queens_model::{JobId, MOST_THREADS, WorkerId};
use queens_solver::{DECOMPOSITION_VERSION, Span};
use thiserror::Error;

/// The most threads of all workers together. Each may hold two leases, of about a kilobyte each.
pub const MOST_THREADS_IN_ALL: u64 = 500_000;

/// Threads that are reserved for parties with fewer threads than this, so that no single party can exclude the others.
pub(crate) const KEPT_FOR_OTHERS: u64 = MOST_THREADS_IN_ALL / 16;

/// Why a worker is refused. Its session is closed with this reason, and nothing of its message is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkerRefusal {
    /// Its decomposition version differs.
    #[error(
        "worker has decomposition version {found}, this coordinator needs version {DECOMPOSITION_VERSION}"
    )]
    Decomposition {
        /// The worker's version.
        found: u32,
    },
    /// It has no threads.
    #[error("worker offers no threads")]
    NoThreads,
    /// It has more threads than one worker may have.
    #[error("worker offers {found} threads, and {MOST_THREADS} are the most: start several workers")]
    TooManyThreads {
        /// Its threads.
        found: u32,
    },
    /// There are too many workers.
    #[error(
        "there is no room for its {found} threads: this coordinator serves {MOST_THREADS_IN_ALL} in all, and keeps the \
         last {KEPT_FOR_OTHERS} for those who have fewer than that"
    )]
    Full {
        /// Its threads.
        found: u32,
    },
    /// Another worker has its number; it can draw a new one.
    #[error("worker {0} is known here by another name or invitation: draw another number")]
    Another(WorkerId),
    /// Its first message is not a hello.
    #[error("the first message of a session has to be a hello")]
    NoHello,
    /// It sent a second hello in one session.
    #[error("a second hello in one session")]
    SecondHello,
    /// It reports without a hello, or after it was given up.
    #[error("worker {0} is not known here and has to say hello first")]
    Unknown(WorkerId),
    /// It reports subproblems that do not exist.
    #[error("report on {span}, which job {job} does not have")]
    UnknownSpan {
        /// The job.
        job: JobId,
        /// The reported span.
        span: Span,
    },
    /// It reports an impossible count or duration.
    #[error("report on {0} with impossible numbers")]
    Impossible(Span),
}
