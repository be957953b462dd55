//! Records an action and its outcome in the audit log.

use std::net::IpAddr;

use queens_auth::Role;
use queens_event_loop::AuditAction;
use queens_model::AuditEntry;

use super::audit_log::{LONGEST, entry};
use super::auth_context::AuthContext;
use super::invitation_cache::InvitationCache;

/// Audit entry of a request in progress. If dropped before the outcome is known, the entry is recorded anyway: the
/// action may have taken effect.
#[derive(Debug)]
pub(super) struct AuditGuard {
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

    /// Returns the action that the request's handler fills in.
    pub(super) fn audit_action(&self) -> &AuditAction {
        &self.audit_action
    }

    /// Records the entry before the answer is sent. The answer may be an error with its reason.
    pub(super) async fn answered(mut self, answer: Result<(), String>) {
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
