//! The events of a history, and a log of them.

use std::collections::VecDeque;
use std::time::Duration;

use queens_model::{JobId, ToCoordinator, ToWorker, WorkerId};

use super::fault::Fault;

/// An event at some time.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Up {
        link: u64,
        message: ToCoordinator,
    },
    Down {
        link: u64,
        message: ToWorker,
    },
    /// A thread has counted its chunk.
    Counted {
        worker: WorkerId,
        thread: usize,
        duration: Duration,
    },
    /// A worker's session has asked to be woken.
    WakeWorker {
        link: u64,
    },
    Connect {
        worker: WorkerId,
    },
    /// A worker is told to leave.
    Leave {
        worker: WorkerId,
    },
    WorkerNotices {
        link: u64,
    },
    CoordinatorNotices {
        link: u64,
    },
    Join {
        healthy: bool,
    },
    Submit,
    Fault(Fault),
    /// Operators lift pauses and blocks.
    Undo,
    /// Operators retry what failed, if all else is done.
    Oversee,
    /// Operators repeat requests that got no answer.
    AskAgain,
    /// A host that was stopped goes on.
    Thaw {
        host: usize,
    },
    Restart {
        host: usize,
    },
    /// The process that was started under this number tries to take the lead.
    Campaign {
        start: u64,
    },
    /// It has taken the lead.
    Lead {
        start: u64,
    },
    Renew {
        start: u64,
    },
    /// A tick of its coordinator.
    Tick {
        start: u64,
    },
    Wake {
        start: u64,
    },
    Retry {
        start: u64,
    },
    Planned {
        start: u64,
        job: JobId,
    },
}

impl Event {
    /// Whether it is worth a line in the log, unlike heartbeats.
    pub(crate) fn is_telling(&self) -> bool {
        match self {
            Self::Tick { .. } | Self::Wake { .. } | Self::WakeWorker { .. } | Self::Oversee => false,
            Self::Campaign { .. } | Self::Renew { .. } => false,
            Self::Down { message, .. } => !matches!(message, ToWorker::Acknowledge { .. }),
            Self::Up { message: ToCoordinator::Report(report), .. } => {
                !report.deltas.is_empty() || !report.finished.is_empty()
            }
            _ => true,
        }
    }
}

/// The last steps of a history, for finding out why it failed.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// The most lines that it keeps.
    pub(crate) longest: usize,
    pub(crate) lines: VecDeque<String>,
}

impl Log {
    pub(crate) fn add(&mut self, now: Duration, line: impl FnOnce() -> String) {
        if self.longest > 0 {
            if self.lines.len() == self.longest {
                self.lines.pop_front();
            }
            self.lines.push_back(format!("{:9.3} s  {}", now.as_secs_f64(), line()));
        }
    }
}
