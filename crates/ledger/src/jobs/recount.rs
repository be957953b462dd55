//! One record to recount, and whose turn it is.

use std::collections::BTreeSet;

use queens_model::{Name, Party};
use queens_solver::Span;

use crate::jobs::queues::Break;
use crate::jobs::record_counts::{counts, is_judged};
use crate::store::draw::Recorded;

/// A span's part and first subproblem.
pub(crate) type Key = (u32, u64);

/// Who counts a record next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nobody is drawn yet, or nobody needs to be.
    Nobody,
    /// This party. No worker of it has the record.
    Drawn(Party),
    /// This party. One of its workers has the record.
    Leased(Party),
}

/// A record to recount.
#[derive(Clone, Debug)]
pub(crate) struct Recount {
    pub(crate) recorded: Recorded,
    /// The parties that were drawn, and gave it back, failed on it or were late.
    pub(crate) lapsed: BTreeSet<Party>,
    /// How often one of them failed.
    pub(crate) n_failed: usize,
    pub(crate) turn: Turn,
    pub(crate) n_draws: u32,
    /// When the party whose turn it is first lost its lease with its session.
    pub(crate) broke: Break,
}

impl Recount {
    pub(crate) fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    pub(crate) fn span(&self) -> Span {
        self.recorded.record.span
    }

    pub(crate) fn key(&self) -> Key {
        (self.span().part(), self.span().from())
    }

    /// Returns the parties that may not count it, because they have done so.
    pub(crate) fn counted_by(&self) -> BTreeSet<Party> {
        counts(&self.recorded).map(|(source, _)| source.party).collect()
    }

    /// Returns the parties that were drawn, and gave it back, failed on it or were late.
    pub(crate) fn lapsed(&self) -> &BTreeSet<Party> {
        &self.lapsed
    }

    /// Returns how often a party was drawn for it.
    pub(crate) fn n_draws(&self) -> u32 {
        self.n_draws
    }

    /// Returns the names that have counted it.
    pub(crate) fn names(&self) -> BTreeSet<&Name> {
        counts(&self.recorded).map(|(source, _)| &source.name).collect()
    }

    /// Whether the coordinator has counted it.
    pub(crate) fn is_judged(&self) -> bool {
        is_judged(&self.recorded)
    }
}
