//! Entries of the audit log as JSON.

use serde::Serialize;

/// An operator's action or attempted action, or a failed attempt to authenticate.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// Increasing number of the entry within a data directory.
    number: u64,
    /// Time, in milliseconds since 1970.
    at_ms: u64,
    /// The caller: the invitation and its label, or that the coordinator does not authenticate.
    who: String,
    /// The invitation's random identity, 32 hexadecimal digits; null if the caller did not authenticate.
    party: Option<String>,
    /// The caller's role; empty if the coordinator does not authenticate.
    role: String,
    /// The caller's address; empty if it is not known.
    peer: String,
    /// The action.
    what: String,
    /// The outcome of the action.
    outcome: String,
}

impl From<&crate::AuditEntry> for AuditEntry {
    fn from(audit_entry: &crate::AuditEntry) -> Self {
        let crate::AuditEntry { number, at_ms, who, party, role, peer, what, outcome } = audit_entry.clone();
        let party = party.map(|party| party.to_string());
        Self { number, at_ms, who, party, role, peer, what, outcome }
    }
}
