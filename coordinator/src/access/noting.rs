//! Records what is decided, and what becomes of it.

use std::net::IpAddr;

use queens_access::Role;
use queens_event_loop::Deed;
use queens_messages::Decision;
use queens_store::unix_ms;

use super::keeper::Keeper;
use super::pass::Pass;

/// What of a refusal is kept.
const LONGEST: usize = 300;

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
        let decision = Decision { party: pass.party(), ..decision(pass.to_string(), role, peer, path) };
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

/// A decision without an outcome.
pub(super) fn decision(who: String, role: &str, peer: Option<IpAddr>, what: &str) -> Decision {
    Decision {
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
