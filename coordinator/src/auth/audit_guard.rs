//! Records what is decided, and what becomes of it.

use std::net::IpAddr;

use queens_auth::Role;
use queens_event_loop::AuditAction;
use queens_model::AuditEntry;

use super::audit_entry::{LONGEST, entry};
use super::auth_context::AuthContext;
use super::invitation_cache::InvitationCache;

/// A decision that is on its way. Dropped before its outcome is known, it is recorded all the same: it may have been
/// carried out.
#[derive(Debug)]
pub(crate) struct AuditGuard {
    invitations: InvitationCache,
    audit_entry: Option<AuditEntry>,
    audit_action: AuditAction,
}

impl AuditGuard {
    pub(super) fn new(
        invitations: InvitationCache,
        auth: &AuthContext,
        peer: Option<IpAddr>,
        path: &str,
    ) -> Self {
        let role = auth.role().map(Role::name).unwrap_or_default();
        let audit_entry = AuditEntry { party: auth.party(), ..entry(auth.to_string(), role, peer, path) };
        Self { invitations, audit_entry: Some(audit_entry), audit_action: AuditAction::default() }
    }

    /// For what answers the request.
    pub(crate) fn audit_action(&self) -> &AuditAction {
        &self.audit_action
    }

    /// Records it, before its answer is sent; that may be a refusal, with the reason.
    pub(crate) async fn answered(mut self, answer: Result<(), String>) {
        if let Some(audit_entry) = self.take(Some(&answer)) {
            self.invitations.note(audit_entry).await;
        }
    }

    fn take(&mut self, answer: Option<&Result<(), String>>) -> Option<AuditEntry> {
        let mut audit_entry = self.audit_entry.take()?;
        if let Some(what) = self.audit_action.text() {
            what.clone_into(&mut audit_entry.what);
        }
        audit_entry.outcome = self.audit_action.outcome(answer).chars().take(LONGEST).collect();
        Some(audit_entry)
    }
}

impl Drop for AuditGuard {
    fn drop(&mut self) {
        if let Some(audit_entry) = self.take(None) {
            self.invitations.note_soon(audit_entry, false);
        }
    }
}
