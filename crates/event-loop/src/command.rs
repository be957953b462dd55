//! The commands of the event loop, and threads that end with one.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use queens_ledger::store::Source;
use queens_ledger::{Core, Durable, Judgement, Session, WorkerRefusal};
use queens_model::{Hello, JobId, Party, ToCoordinator, ToWorker};
use queens_solver::{BoardSize, Count, Method, Pass, Plan};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// A count by the coordinator, how long it took, and its source.
pub(crate) type Judged = (Count, Duration, Arc<Source>);

/// An answer that waits until its content is durable.
pub(crate) type WaitingAnswer = Box<dyn FnOnce(&Durable) + Send>;

pub(crate) enum Command {
    /// Applies somebody's decision.
    Decide(Box<dyn FnOnce(&mut Core) -> WaitingAnswer + Send>),
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

/// Works on a thread of its own, which ends with the command that `ended` makes of the result; that is `None` after a
/// panic, too.
///
/// # Errors
/// If there is no thread for it.
pub(crate) fn start<T>(
    name: String,
    commands: &mpsc::WeakSender<Command>,
    work: impl FnOnce() -> Option<T> + Send + 'static,
    ended: impl FnOnce(Option<T>) -> Command + Send + 'static,
) -> io::Result<()> {
    let commands = commands.clone();
    let run = move || {
        // A panic is in the log.
        let command = ended(catch_unwind(AssertUnwindSafe(work)).unwrap_or(None));
        if let Some(commands) = commands.upgrade() {
            // On an error, the coordinator has stopped; it works again after its next start.
            _ = commands.blocking_send(command);
        }
    };
    thread::Builder::new().name(name).spawn(run).map(drop)
}
