//! Operators' actions on workers.

use queens_model::Name;
use queens_proto::client::{ClientError, Operator};

/// An action on all workers of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerAction {
    Drain,
    Block,
    Unblock,
}

impl WorkerAction {
    /// Carries out the action; returns the number of workers with this name.
    pub(crate) async fn carry_out(self, operator: &Operator, name: &Name) -> Result<u64, ClientError> {
        match self {
            Self::Drain => operator.drain_workers(name).await,
            Self::Block => operator.block_workers(name).await,
            Self::Unblock => operator.unblock_workers(name).await,
        }
    }

    /// Describes the result for this many workers of a name.
    pub(crate) fn describe(self, n_workers: u64, name: &Name) -> String {
        let done = match self {
            Self::Drain => "draining",
            Self::Block => "blocked",
            Self::Unblock => "not blocked",
        };
        match n_workers {
            0 => format!("workers named '{name}': {done}; there is none at present"),
            1 => format!("1 worker named '{name}': {done}"),
            _ => format!("{n_workers} workers named '{name}': {done}"),
        }
    }
}
