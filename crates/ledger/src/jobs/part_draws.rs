//! Which party counts each part of a second pass.
//!
//! Two passes are compared by the solutions of each part. If a party could choose its parts, it could tell again what a
//! friend told in the first pass. So a lottery draws the party of each part, and the draw stands until the party
//! lapses.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_model::Party;

use crate::jobs::queues::{Break, Queues};

/// The parts of a second pass with free subproblems, and the party that was drawn for each part.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartDraws {
    turns: BTreeMap<u32, PartTurn>,
    queues: Queues<u32>,
}

/// Who counts a part.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartTurn {
    party: Option<Party>,
    /// The parties that were drawn, and gave some of it back, failed on it or were late.
    pub(crate) lapsed: BTreeSet<Party>,
    /// Whether one of them failed.
    pub(crate) has_failed: bool,
    /// How often a party was drawn for it.
    pub(crate) n_draws: u32,
    /// When the party first lost a lease of it with its session.
    broke: Break,
}

impl PartDraws {
    pub(crate) fn queues(&self) -> &Queues<u32> {
        &self.queues
    }

    pub(crate) fn queues_mut(&mut self) -> &mut Queues<u32> {
        &mut self.queues
    }

    /// Returns who counts a part.
    pub(crate) fn turn(&self, part: u32) -> Option<&PartTurn> {
        self.turns.get(&part)
    }

    /// Whether a party was drawn for a part, and has not lapsed.
    pub(crate) fn is_turn_of(&self, party: Party, part: u32) -> bool {
        self.turns.get(&part).is_some_and(|turn| turn.party == Some(party))
    }

    /// Notes that a part has free subproblems of this estimated work.
    pub(crate) fn free(&mut self, part: u32, work: u128) {
        match self.turns.get(&part).and_then(|turn| turn.party) {
            Some(party) => self.queues.put_back(part, party, work),
            None => self.queues.add_undrawn(part),
        }
    }

    /// Notes that a part has no free subproblems. All of it had this estimated work.
    pub(crate) fn take(&mut self, part: u32, work: u128) {
        self.queues.remove_undrawn(part);
        if let Some(party) = self.turns.get(&part).and_then(|turn| turn.party) {
            self.queues.remove(part, party, work);
        }
    }

    /// Gives a part with free subproblems to the party that was drawn for it.
    pub(crate) fn give(&mut self, part: u32, party: Party, work: u128) {
        let turn = self.turns.entry(part).or_default();
        turn.n_draws = turn.n_draws.saturating_add(1);
        turn.broke = Break::default();
        turn.lapsed.remove(&party);
        turn.party = Some(party);
        self.queues.add(part, party, work);
    }

    /// Notes that a party has lost a lease of a part with its session. Returns whether that is a lapse.
    pub(crate) fn note_break(&mut self, part: u32, party: Party, now: Duration) -> bool {
        let turn = self.turns.get_mut(&part).filter(|turn| turn.party == Some(party));
        turn.is_some_and(|turn| turn.broke.note(now))
    }

    /// Notes that a party failed on some of a part.
    pub(crate) fn note_failed(&mut self, part: u32) {
        self.turns.entry(part).or_default().has_failed = true;
    }

    /// Lets the parties that have failed try again.
    pub(crate) fn retry_failed(&mut self) {
        self.turns.values_mut().for_each(|turn| turn.has_failed = false);
    }

    /// Notes that the party whose turn it was did not count a part, which has free subproblems. Returns whether it was
    /// this party's turn.
    pub(crate) fn lapse(&mut self, part: u32, party: Party, work: u128) -> bool {
        let Some(turn) = self.turns.get_mut(&part).filter(|turn| turn.party == Some(party)) else {
            return false;
        };
        turn.party = None;
        turn.lapsed.insert(party);
        self.queues.remove(part, party, work);
        self.queues.add_undrawn(part);
        true
    }
}
