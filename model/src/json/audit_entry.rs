//! Decisions.

use serde::Serialize;

/// Something that somebody decided or tried to, or an attempt to get in that failed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// Numbers the decisions of a data directory upwards.
    number: u64,
    /// When, in milliseconds since 1970.
    at_ms: u64,
    /// Who: the invitation and what people call it by, or that nobody was asked.
    who: String,
    /// The random identity of that invitation, 32 hexadecimal digits; null of a stranger and where nobody is asked.
    party: Option<String>,
    /// The role of who it was; empty where nobody is asked.
    role: String,
    /// The address it came from; empty if that is not known.
    peer: String,
    /// What was decided.
    what: String,
    /// What became of it.
    outcome: String,
}

impl From<&crate::AuditEntry> for AuditEntry {
    fn from(audit_entry: &crate::AuditEntry) -> Self {
        let crate::AuditEntry { number, at_ms, who, party, role, peer, what, outcome } = audit_entry.clone();
        let party = party.map(|party| party.to_string());
        Self { number, at_ms, who, party, role, peer, what, outcome }
    }
}
