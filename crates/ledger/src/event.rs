//! Operators' changes, and user-visible events. Other crates turn these into text.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{Arbiter, Failure, JobId, Name, Priority, Share, Submission, WorkerId};
use queens_solver::Method;

use crate::store::draw::Recorded;
use crate::store::{SecondCount, Source, Verdict};

/// An operator's change to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobChange {
    /// Pauses the job.
    Pause,
    /// Resumes the job and retries its failed spans.
    Resume,
    /// Sets the job's priority.
    Priority(Priority),
    /// Has more of the job verified.
    Verify(Verification),
    /// Ends its verification: it is done with what is proved.
    EndVerification,
    /// Cancels the job.
    Cancel,
}

/// Additional verification of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The share of its work to recount. A share below the agreed one changes nothing.
    pub recount: Option<Share>,
    /// The party that recounts from now on; `None` leaves it unchanged.
    pub recount_by: Option<Arbiter>,
    /// The method of its second pass.
    pub second_pass: Option<Method>,
}

/// An operator's change to all workers of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerChange {
    /// Sends the connected workers home.
    Drain,
    /// Gives them no leases, now and later.
    Block,
    /// Gives them leases again.
    Unblock,
}

/// A user-visible event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerEvent {
    /// A job was submitted.
    Submitted {
        /// The job.
        job: JobId,
        /// The submission.
        asked: Submission,
    },
    /// A job's stored state contradicts itself, so the job is set aside.
    Damaged {
        /// The job.
        job: JobId,
        /// The contradiction.
        reason: String,
    },
    /// A job has its plan.
    Planned {
        /// The job.
        job: JobId,
        /// The counting method.
        method: Method,
        /// The number of parts of the plan.
        n_parts: usize,
        /// The plan's estimated work, in work units.
        work: u128,
    },
    /// An operator has changed a job.
    JobChanged {
        /// The job.
        job: JobId,
        /// The change.
        change: JobChange,
    },
    /// An operator has changed all workers of a name.
    WorkersChanged {
        /// The name.
        name: Name,
        /// The change.
        change: WorkerChange,
        /// The number of workers.
        n_workers: usize,
    },
    /// A worker has opened a session.
    Joined {
        /// Its number.
        worker: WorkerId,
        /// The worker.
        source: Arc<Source>,
    },
    /// A worker has left.
    Left {
        /// Its number.
        worker: WorkerId,
        /// The worker.
        source: Arc<Source>,
    },
    /// A worker's session has ended, and the worker may come back.
    ConnectionLost {
        /// Its number.
        worker: WorkerId,
        /// The worker.
        source: Arc<Source>,
    },
    /// A silent worker was given up.
    Silent {
        /// The worker.
        worker: WorkerId,
    },
    /// A worker has lost leases without anybody's decision.
    Lost {
        /// The worker.
        source: Arc<Source>,
        /// Whether the worker is still connected: it was heard, but did not report on its leases.
        is_there: bool,
        /// The number of lost leases of each job; empty if a worker that was given up held none.
        n_leases: BTreeMap<JobId, usize>,
    },
    /// A worker could not count a span.
    Failed {
        /// Its number.
        worker: WorkerId,
        /// The worker.
        source: Arc<Source>,
        /// The job.
        job: JobId,
        /// The worker's message.
        failure: Failure,
    },
    /// A worker has told the operators something.
    Noticed {
        /// Its number.
        worker: WorkerId,
        /// The worker.
        source: Arc<Source>,
        /// Its words.
        text: String,
    },
    /// A count of a span contradicts its record.
    Disputed {
        /// The job.
        job: JobId,
        /// The new count.
        second: SecondCount,
        /// The record, with its other counts.
        recorded: Box<Recorded>,
    },
    /// Two parties agree on a span, against another count.
    Decided {
        /// The job.
        job: JobId,
        /// The verdict.
        verdict: Verdict,
        /// Whether the verdict has newly blocked the party that lost.
        is_blocked: bool,
    },
    /// The coordinator heard no worker for this long. The time is not held against silent workers.
    StoodStill(Duration),
}
