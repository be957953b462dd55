//! What has happened, for people. Words are made of it elsewhere.

use std::time::Duration;

use queens_model::{Failure, JobId, Name, Submission, WorkerId};
use queens_solver::Method;

use crate::effects::{Finding, Loss};
use crate::events::operators::{JobChange, WorkerChange};

/// Something has happened that people may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A job was submitted.
    Submitted {
        /// The job.
        job: JobId,
        /// What was asked for.
        asked: Submission,
    },
    /// What is stored of a job contradicts itself, so that it is set aside.
    Damaged {
        /// The job.
        job: JobId,
        /// What can't be true.
        reason: String,
    },
    /// A job has its plan.
    Planned {
        /// The job.
        job: JobId,
        /// How it is counted.
        method: Method,
        /// The parts of the plan.
        n_parts: usize,
        /// Its estimated work in nodes.
        work: u128,
    },
    /// An operator has decided about a job.
    JobChanged {
        /// The job.
        job: JobId,
        /// What he decided.
        change: JobChange,
    },
    /// An operator has decided about all workers of a name.
    WorkersChanged {
        /// The name.
        name: Name,
        /// What he decided.
        change: WorkerChange,
        /// How many there are.
        n_workers: usize,
    },
    /// A worker has opened a session.
    Joined {
        /// The worker.
        worker: WorkerId,
        /// Its name.
        name: Name,
        /// What it counts with.
        kernel: Name,
    },
    /// A worker has left.
    Left {
        /// The worker.
        worker: WorkerId,
        /// Its name, if it was still known.
        name: Option<Name>,
    },
    /// The session of a worker has ended, and the worker may come back.
    ConnectionLost {
        /// The worker.
        worker: WorkerId,
        /// Its name, if it was still known.
        name: Option<Name>,
    },
    /// A worker was given up, because nothing was heard of it.
    Silent {
        /// The worker.
        worker: WorkerId,
    },
    /// A worker has lost leases through no decision of anybody.
    Lost(Loss),
    /// A worker could not count a span.
    Failed {
        /// The worker.
        worker: WorkerId,
        /// Its name, if it is still known.
        name: Option<Name>,
        /// The job.
        job: JobId,
        /// What it said.
        failure: Failure,
    },
    /// Something came out when records were counted again.
    Found(Finding),
    /// Nobody was listened to for so long, which does not count as anybody's silence.
    StoodStill(Duration),
}
