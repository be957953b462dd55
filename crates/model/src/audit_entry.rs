//! Entries of the audit log: who did what, when, and with which outcome.

use serde::Serialize;

use crate::party::Party;

/// An operator's action or attempted action, or a failed attempt to authenticate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// Increasing number of the entry within a data directory.
    pub number: u64,
    /// Time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The caller: the invitation and its label, or that the coordinator does not authenticate.
    pub who: String,
    /// The invitation's random identity, 32 hexadecimal digits; null if the caller did not authenticate.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
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
