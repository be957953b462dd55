//! Records what is decided, and what becomes of it.

use std::net::IpAddr;

use queens_auth::Role;
use queens_event_loop::AuditAction;
use queens_model::Decision;

use super::audit_entry::{LONGEST, entry};
use super::auth_context::AuthContext;
use super::invitation_cache::InvitationCache;

/// A decision that is on its way. Dropped before its outcome is known, it is recorded all the same: it may have been
/// carried out.
#[derive(Debug)]
pub(crate) struct AuditGuard {
    invitations: InvitationCache,
    decision: Option<Decision>,
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
        let decision = Decision { party: auth.party(), ..entry(auth.to_string(), role, peer, path) };
        Self { invitations, decision: Some(decision), audit_action: AuditAction::default() }
    }

    /// For what answers the request.
    pub(crate) fn audit_action(&self) -> &AuditAction {
        &self.audit_action
    }

    /// Records it, before its answer is sent; that may be a refusal, with the reason.
    pub(crate) async fn answered(mut self, answer: Result<(), String>) {
        if let Some(decision) = self.take(Some(&answer)) {
            self.invitations.note(decision).await;
        }
    }

    fn take(&mut self, answer: Option<&Result<(), String>>) -> Option<Decision> {
        let mut decision = self.decision.take()?;
        if let Some(what) = self.audit_action.text() {
            what.clone_into(&mut decision.what);
        }
        decision.outcome = self.audit_action.outcome(answer).chars().take(LONGEST).collect();
        Some(decision)
    }
}

impl Drop for AuditGuard {
    fn drop(&mut self) {
        if let Some(decision) = self.take(None) {
            self.invitations.note_soon(decision, false);
        }
    }
}
