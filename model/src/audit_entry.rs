//! Entries of the audit log: who did what, when, and with which outcome.

use crate::party::Party;

/// An operator's action or attempted action, or a failed attempt to authenticate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Increasing number of the entry within a data directory.
    pub number: u64,
    /// Time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The caller: the invitation and its label, or that the coordinator does not authenticate.
    pub who: String,
    /// That invitation's party, as its number may mean another in a copy of the database; `None` if unauthenticated.
    pub party: Option<Party>,
    /// The caller's role; empty if the coordinator does not authenticate.
    pub role: String,
    /// The caller's address; empty if it is not known.
    pub peer: String,
    /// The action.
    pub what: String,
    /// The outcome of the action.
    pub outcome: String,
}
