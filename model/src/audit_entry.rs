//! What was decided, by whom.

use crate::party::Party;

/// Something that somebody decided or tried to, or an attempt to get in that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Numbers the decisions of a data directory upwards.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Who: the invitation and what people call it by, or that nobody was asked.
    pub who: String,
    /// The party of that invitation, whose number may mean another in a copy of the database; `None` of a stranger.
    pub party: Option<Party>,
    /// The role of who it was; empty where nobody is asked.
    pub role: String,
    /// The address it came from; empty if that is not known.
    pub peer: String,
    /// What was decided.
    pub what: String,
    /// What became of it.
    pub outcome: String,
}
