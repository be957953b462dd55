//! Limits the events that workers cause, so that no party fills the log, or displaces the events of others.

use std::collections::HashMap;
use std::time::Duration;

use queens_ledger::LedgerEvent;
use queens_ledger::store::Source;
use queens_model::{Name, Party};
use tokio::time::Instant;

/// The most events of a topic in a period: of one party, and of all. Without invitations, each name is a party.
const MOST_OF_PARTY: u64 = 100;
const MOST_OF_ALL: u64 = 1000;
const PERIOD: Duration = Duration::from_mins(10);

/// The events that workers may still cause, by topic: of one topic, no party displaces its own events of another.
#[derive(Debug, Default)]
pub(crate) struct EventBudgets {
    presence: EventBudget,
    trouble: EventBudget,
    disputes: EventBudget,
}

impl EventBudgets {
    /// Returns whether to report an event.
    pub(crate) fn allow(&mut self, event: &LedgerEvent) -> bool {
        let (budget, source) = match event {
            LedgerEvent::Joined { source, .. }
            | LedgerEvent::Left { source, .. }
            | LedgerEvent::ConnectionLost { source, .. }
            | LedgerEvent::Lost { source, .. } => (&mut self.presence, source),
            LedgerEvent::Failed { source, .. } | LedgerEvent::Noticed { source, .. } => {
                (&mut self.trouble, source)
            }
            LedgerEvent::Disputed { second, .. } => (&mut self.disputes, &second.source),
            // Operators and the coordinator cause these. A verdict that is reported blocks its party.
            LedgerEvent::Submitted { .. }
            | LedgerEvent::Damaged { .. }
            | LedgerEvent::Planned { .. }
            | LedgerEvent::JobChanged { .. }
            | LedgerEvent::WorkersChanged { .. }
            | LedgerEvent::Silent { .. }
            | LedgerEvent::Decided { .. }
            | LedgerEvent::StoodStill(_) => return true,
        };
        budget.allow(source)
    }

    /// Ends periods that are over. Returns the events that each has left out.
    pub(crate) fn end_periods(&mut self) -> Vec<LeftOut> {
        let Self { presence, trouble, disputes } = self;
        [presence, trouble, disputes].into_iter().filter_map(EventBudget::end_period).collect()
    }
}

/// Events of a topic that were left out in a period.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) n_events: u64,
    /// The party that caused most, by the name of one of its workers.
    pub(crate) most_of: Name,
}

/// The events of one topic in the present period.
#[derive(Debug, Default)]
struct EventBudget {
    began: Option<Instant>,
    n_allowed: u64,
    n_left_out: u64,
    /// The parties with allowed events, which are no more than these.
    parties: HashMap<Party, Share>,
}

#[derive(Debug)]
struct Share {
    name: Name,
    n_events: u64,
}

impl EventBudget {
    fn allow(&mut self, source: &Source) -> bool {
        self.began.get_or_insert_with(Instant::now);
        let is_left = self.n_allowed < MOST_OF_ALL;
        if is_left && !self.parties.contains_key(&source.party) {
            self.parties.insert(source.party, Share { name: source.name.clone(), n_events: 0 });
        }
        let n_before = self.parties.get_mut(&source.party).map_or(MOST_OF_PARTY, |share| {
            share.n_events += 1;
            share.n_events - 1
        });
        let is_allowed = is_left && n_before < MOST_OF_PARTY;
        *(if is_allowed { &mut self.n_allowed } else { &mut self.n_left_out }) += 1;
        is_allowed
    }

    fn end_period(&mut self) -> Option<LeftOut> {
        self.began.filter(|began| began.elapsed() >= PERIOD)?;
        let Self { n_left_out: n_events, parties, .. } = std::mem::take(self);
        let most = parties.into_values().max_by_key(|share| share.n_events)?;
        (n_events > 0).then_some(LeftOut { n_events, most_of: most.name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str) -> Source {
        let name = Name::of_any(name);
        Source { party: Party::of_name(&name), build: name.clone(), kernel: name.clone(), name }
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_one_party_leaves_room_for_others() {
        let mut budget = EventBudget::default();
        let mut n_allowed = |name, n| (0..n).filter(|_| budget.allow(&source(name))).count() as u64;
        assert_eq!(n_allowed("mallory", 45_000), MOST_OF_PARTY);
        assert_eq!(n_allowed("anna", 3), 3);
        assert_eq!(budget.end_period(), None);
        tokio::time::advance(PERIOD).await;
        let left_out = LeftOut { n_events: 45_000 - MOST_OF_PARTY, most_of: Name::of_any("mallory") };
        assert_eq!((budget.end_period(), budget.end_period()), (Some(left_out), None));
        assert!(budget.allow(&source("mallory")) && budget.parties.len() == 1);
    }

    #[tokio::test(start_paused = true)]
    async fn many_parties_take_no_more_memory() {
        let mut budget = EventBudget::default();
        let n_allowed = (0..10_000).filter(|i| budget.allow(&source(&i.to_string()))).count() as u64;
        assert_eq!((n_allowed, budget.parties.len() as u64), (MOST_OF_ALL, MOST_OF_ALL));
        tokio::time::advance(PERIOD).await;
        assert_eq!(budget.end_period().map(|left_out| left_out.n_events), Some(10_000 - MOST_OF_ALL));
        assert!(budget.parties.is_empty());
    }
}
