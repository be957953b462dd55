//! The commands of the event loop.

use std::sync::Arc;
use std::time::Duration;

use queens_ledger::store::Source;
use queens_ledger::{
    JobChange, JobRefusal, Judgement, Session, SubmissionRefusal, UnknownWorker, WorkerChange, WorkerRefusal,
};
use queens_model::{Hello, JobId, Name, Party, Submission, ToCoordinator, ToWorker};
use queens_solver::{BoardSize, Count, Method, Pass, Plan};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// A count by the coordinator, how long it took, and its source.
pub(crate) type Judged = (Count, Duration, Arc<Source>);

#[derive(Debug)]
pub(crate) enum Command {
    Submit {
        asked: Submission,
        reply: oneshot::Sender<Result<JobId, SubmissionRefusal>>,
    },
    Cancel {
        job: JobId,
        reply: oneshot::Sender<Result<(), JobRefusal>>,
    },
    Exported {
        job: JobId,
        reply: oneshot::Sender<bool>,
    },
    ChangeJob {
        job: JobId,
        change: JobChange,
        reply: oneshot::Sender<Result<(), JobRefusal>>,
    },
    ChangeWorkers {
        name: Name,
        change: WorkerChange,
        reply: oneshot::Sender<Result<usize, UnknownWorker>>,
    },
    Connect {
        hello: Hello,
        party: Party,
        to_worker: mpsc::Sender<ToWorker>,
        reply: oneshot::Sender<Result<Session, WorkerRefusal>>,
    },
    Message {
        session: Session,
        message: ToCoordinator,
        came: Instant,
        /// Where to send whether the worker's session goes on.
        reply: oneshot::Sender<Result<(), WorkerRefusal>>,
    },
    Disconnect {
        session: Session,
    },
    PlanEnded {
        board: (BoardSize, Method, Pass),
        plan: Option<Plan>,
    },
    /// The coordinator has counted a disputed span; `None` if that failed.
    Judged {
        judgement: Judgement,
        counted: Option<Judged>,
    },
    SymmetricCounted {
        n: BoardSize,
        found: Option<Symmetric>,
    },
    MakeDetails {
        job: JobId,
    },
}

/// The placements of a board that are symmetric under rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symmetric {
    pub(crate) half_turn: u64,
    pub(crate) quarter_turn: u64,
}

impl Command {
    /// Returns whether a worker's report is only a heartbeat, which needs no new snapshot.
    pub(crate) fn is_sign_of_life(&self) -> bool {
        matches!(self, Self::Message { message: ToCoordinator::Report(report), .. } if report.is_empty())
    }
}
