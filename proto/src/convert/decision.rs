//! What was decided, by whom.

use queens_messages::Decision;

use super::check::one_line;
use crate::pb;

impl From<Decision> for pb::Decision {
    fn from(decision: Decision) -> Self {
        let Decision { number, at_ms, who, role, peer, what, outcome } = decision;
        Self { number, at_ms, who, role, peer, what, outcome }
    }
}

impl From<pb::Decision> for Decision {
    fn from(decision: pb::Decision) -> Self {
        let pb::Decision { number, at_ms, who, role, peer, what, outcome } = decision;
        let [who, role, peer, what, outcome] = [who, role, peer, what, outcome].map(|text| one_line(&text));
        Self { number, at_ms, who, role, peer, what, outcome }
    }
}
