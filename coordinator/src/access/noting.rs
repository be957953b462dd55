//! Records what is decided, and what becomes of it.

use std::net::IpAddr;

use queens_access::Role;
use queens_event_loop::Deed;
use queens_messages::Decision;

use super::entry::{LONGEST, entry};
use super::keeper::Keeper;
use super::pass::Pass;

/// A decision that is on its way. Dropped before its outcome is known, it is recorded all the same: it may have been
/// carried out.
#[derive(Debug)]
pub(crate) struct Noting {
    keeper: Keeper,
    decision: Option<Decision>,
    deed: Deed,
}

impl Noting {
    pub(super) fn new(keeper: Keeper, pass: &Pass, peer: Option<IpAddr>, path: &str) -> Self {
        let role = pass.role().map(Role::name).unwrap_or_default();
        let decision = Decision { party: pass.party(), ..entry(pass.to_string(), role, peer, path) };
        Self { keeper, decision: Some(decision), deed: Deed::default() }
    }

    /// For what answers the request.
    pub(crate) fn deed(&self) -> &Deed {
        &self.deed
    }

    /// Records it, before its answer is sent; that may be a refusal, with the reason.
    pub(crate) async fn answered(mut self, answer: Result<(), String>) {
        if let Some(decision) = self.take(Some(&answer)) {
            self.keeper.note(decision).await;
        }
    }

    fn take(&mut self, answer: Option<&Result<(), String>>) -> Option<Decision> {
        let mut decision = self.decision.take()?;
        if let Some(what) = self.deed.text() {
            what.clone_into(&mut decision.what);
        }
        decision.outcome = self.deed.outcome(answer).chars().take(LONGEST).collect();
        Some(decision)
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        if let Some(decision) = self.take(None) {
            self.keeper.note_soon(decision, false);
        }
    }
}
