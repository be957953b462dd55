//! Why sessions of a worker end before it leaves, and when a refusal is final.

use std::time::Duration;

use queens_proto::client::{Problem, Route};
use thiserror::Error;
use tokio::time::Instant;
use tonic::{Code, Status};

/// How long a worker of an unsupported version offers its counts before it ends.
const VERSION_PATIENCE: Duration = Duration::from_secs(60);

/// The maximum number of coordinators whose refusals are stored.
const MOST_REFUSALS: usize = 32;

/// The reason of each coordinator's last refusal, if its last attempt ended in one.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    last: Vec<(Route, Problem)>,
    /// Since when coordinators have refused the worker's version, if they do.
    unfit_since: Option<Instant>,
}

impl Refusals {
    /// Records the outcome of an attempt. Returns the reason if this coordinator refuses for the second time in a row
    /// for the same reason. A message garbled in transit may cause a single refusal.
    pub(crate) fn second(&mut self, route: &Route, refusal: Option<&Problem>) -> Option<Problem> {
        let before = self.last.iter().position(|(other, _)| other.uri() == route.uri());
        let before = before.map(|place| self.last.remove(place).1);
        let refusal = refusal?;
        if before.as_ref() == Some(refusal) {
            return before;
        }
        if self.last.len() == MOST_REFUSALS {
            self.last.remove(0);
        }
        self.last.push((route.clone(), refusal.clone()));
        None
    }

    /// Returns whether coordinators have refused the worker's version for too long. It can't report its counts here,
    /// and a supervisor can start another version only after it ends.
    pub(crate) fn is_of_no_use(&mut self, lost: &Lost) -> bool {
        if !matches!(lost, Lost::Unfit(_)) {
            self.unfit_since = None;
            return false;
        }
        self.unfit_since.get_or_insert_with(Instant::now).elapsed() >= VERSION_PATIENCE
    }
}

/// Why a session ended before the worker left.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Lost {
    /// The coordinator ended it.
    #[error("the coordinator closed the session")]
    Closed,
    /// The worker has left without the coordinator's goodbye.
    #[error("the session has ended")]
    NoFarewell,
    /// The worker was told to leave before there was a session.
    #[error("told to leave")]
    ToldToLeave,
    /// The machine slept, or this process was stopped, for this time.
    #[error("this program did not run for {} s", .0.as_secs())]
    Slept(Duration),
    /// The coordinator does not support this version of the worker.
    #[error("{0}")]
    Unfit(Problem),
    /// Any other problem.
    #[error(transparent)]
    Problem(#[from] Problem),
}

impl From<Status> for Lost {
    fn from(status: Status) -> Self {
        // A status from the coordinator itself has no source.
        let is_unfit =
            status.code() == Code::FailedPrecondition && std::error::Error::source(&status).is_none();
        let problem = Problem::from(status);
        if is_unfit { Self::Unfit(problem) } else { Self::Problem(problem) }
    }
}

impl Lost {
    /// Returns the coordinator's objection to this worker, if it has one.
    pub(crate) fn refusal(&self) -> Option<&Problem> {
        match self {
            Self::Unfit(problem)
            | Self::Problem(problem @ (Problem::Refused(_) | Problem::Unimplemented)) => Some(problem),
            _ => None,
        }
    }

    /// Returns the problem in the terms of any client.
    pub(crate) fn problem(&self) -> Problem {
        match self {
            Self::Unfit(problem) | Self::Problem(problem) => problem.clone(),
            // The worker may also have been stuck, without answers.
            Self::NoFarewell => Problem::Silent,
            Self::Closed | Self::ToldToLeave | Self::Slept(_) => Problem::Connection(self.to_string()),
        }
    }

    /// Returns advice to people, if the problem hardly passes by itself.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Problem(problem @ (Problem::Untrusted(_) | Problem::SpeaksOtherwise(_))) => problem.hint(),
            Self::Problem(problem) if problem.is_final() => problem.hint(),
            _ => None,
        }
    }
}
