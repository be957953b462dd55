//! What a worker may not say.

use queens_model::{JobId, MOST_THREADS, WorkerId};
use queens_solver::{DECOMPOSITION_VERSION, Span};
use thiserror::Error;

/// The most threads of all workers together. Each may hold two leases, of about a kilobyte each.
pub const MOST_THREADS_IN_ALL: u64 = 500_000;

/// So many of them are for parties that have fewer than that: one that says that it has many keeps nobody out.
pub(crate) const KEPT_FOR_OTHERS: u64 = MOST_THREADS_IN_ALL / 16;

/// Why a worker is not listened to. Its session is to be closed with this reason; nothing it said was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkerRefusal {
    /// It numbers subproblems differently.
    #[error(
        "worker has decomposition version {found}, this coordinator needs version {DECOMPOSITION_VERSION}"
    )]
    Decomposition {
        /// The worker's version.
        found: u32,
    },
    /// It can't count.
    #[error("worker offers no threads")]
    NoThreads,
    /// It has more threads than one worker can be given work for.
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
    /// Another worker has its number: it can draw another.
    #[error("worker {0} is known here by another name or invitation: draw another number")]
    Another(WorkerId),
    /// It began with something else.
    #[error("the first message of a session has to be a hello")]
    NoHello,
    /// It said hello in the middle of a session.
    #[error("a second hello in one session")]
    SecondHello,
    /// It reports without having said hello, or after it was given up.
    #[error("worker {0} is not known here and has to say hello first")]
    Unknown(WorkerId),
    /// It reports subproblems that do not exist.
    #[error("report on {span}, which job {job} does not have")]
    UnknownSpan {
        /// The job.
        job: JobId,
        /// What it reported on.
        span: Span,
    },
    /// It reports counts or a duration that can't be.
    #[error("report on {0} with impossible numbers")]
    Impossible(Span),
}
