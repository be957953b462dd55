//! Conversions of audit entries.

use queens_model::AuditEntry;

use super::check::one_line;
use crate::pb;

impl From<AuditEntry> for pb::AuditEntry {
    fn from(audit_entry: AuditEntry) -> Self {
        let AuditEntry { number, at_ms, who, party, role, peer, what, outcome } = audit_entry;
        let party = party.map(|party| party.to_string()).unwrap_or_default();
        Self { number, at_ms, who, role, peer, what, outcome, party }
    }
}

impl From<pb::AuditEntry> for AuditEntry {
    fn from(audit_entry: pb::AuditEntry) -> Self {
        let pb::AuditEntry { number, at_ms, who, role, peer, what, outcome, party } = audit_entry;
        let party = party.parse().ok();
        let [who, role, peer, what, outcome] = [who, role, peer, what, outcome].map(|text| one_line(&text));
        Self { number, at_ms, who, party, role, peer, what, outcome }
    }
}
