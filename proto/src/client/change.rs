//! The changes that operators make.

use queens_model::{Name, Priority, Share};
use queens_solver::Method;

use crate::pb::{self, Empty, change_job_request, change_workers_request};

/// A change of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobChange {
    /// Cancels it.
    Cancel,
    /// Pauses it.
    Pause,
    /// Resumes it, and retries what failed.
    Resume,
    /// Sets its priority.
    Priority(Priority),
    /// Adds verification.
    VerifyMore {
        /// The share to recount, if that is to be raised.
        recount: Option<Share>,
        /// The method of a second pass, if there is to be one.
        second_pass: Option<Method>,
        /// The only party that recounts, by its number or label, if that changes.
        recount_by: Option<Name>,
    },
}

/// A change of all workers of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkersChange {
    /// They report their work in progress, and end.
    Drain,
    /// They get no work.
    Block,
    /// They get work again.
    Unblock,
}

impl From<JobChange> for change_job_request::Change {
    fn from(change: JobChange) -> Self {
        match change {
            JobChange::Cancel => Self::Cancel(Empty {}),
            JobChange::Pause => Self::Pause(Empty {}),
            JobChange::Resume => Self::Resume(Empty {}),
            JobChange::Priority(priority) => Self::Priority(priority.get()),
            JobChange::VerifyMore { recount, second_pass, recount_by } => Self::VerifyMore(pb::VerifyMore {
                recount: recount.map(Share::ppm),
                second_pass: second_pass.map_or(pb::Method::Unspecified, pb::Method::from).into(),
                recount_by: recount_by.map(|name| name.to_string()).unwrap_or_default(),
            }),
        }
    }
}

impl From<WorkersChange> for change_workers_request::Change {
    fn from(change: WorkersChange) -> Self {
        match change {
            WorkersChange::Drain => Self::Drain(Empty {}),
            WorkersChange::Block => Self::Block(Empty {}),
            WorkersChange::Unblock => Self::Unblock(Empty {}),
        }
    }
}
