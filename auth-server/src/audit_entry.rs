//! Creates entries of the audit log.

use std::net::IpAddr;

use queens_model::AuditEntry;
use queens_store::unix_ms;

/// Maximal characters of an action and of an outcome in the audit log.
pub(super) const LONGEST: usize = 300;

/// Returns an audit entry for the present time, without an outcome and a party.
pub(super) fn entry(who: String, role: &str, peer: Option<IpAddr>, what: &str) -> AuditEntry {
    AuditEntry {
        number: 0,
        at_ms: unix_ms(),
        who,
        party: None,
        role: role.to_owned(),
        peer: peer.map(|peer| peer.to_canonical().to_string()).unwrap_or_default(),
        what: what.chars().take(LONGEST).collect(),
        outcome: String::new(),
    }
}
