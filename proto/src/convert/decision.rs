//! What was decided, by whom.

use queens_model::Decision;

use super::check::one_line;
use crate::pb;

impl From<Decision> for pb::Decision {
    fn from(decision: Decision) -> Self {
        let Decision { number, at_ms, who, party, role, peer, what, outcome } = decision;
        let party = party.map(|party| party.to_string()).unwrap_or_default();
        Self { number, at_ms, who, role, peer, what, outcome, party }
    }
}

impl From<pb::Decision> for Decision {
    fn from(decision: pb::Decision) -> Self {
        let pb::Decision { number, at_ms, who, role, peer, what, outcome, party } = decision;
        let party = party.parse().ok();
        let [who, role, peer, what, outcome] = [who, role, peer, what, outcome].map(|text| one_line(&text));
        Self { number, at_ms, who, party, role, peer, what, outcome }
    }
}
