//! Ranks the people of all campaigns by their thread time, for the public pages and for each of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use queens_model::{Name, Party, PartyTotals, Person};
use tokio::time::Instant;

use crate::party_totals::Totals;

/// How old a ranking gets: so soon does the name of a revoked invitation vanish, and a new person appear.
const KEPT: Duration = Duration::from_secs(10);

/// The people of all campaigns, ordered by their thread time, and all others together.
#[derive(Debug)]
pub struct People {
    /// When it was made. Two rankings differ in it, or are the same.
    pub made: Instant,
    /// When the records were read, in milliseconds since 1970.
    pub at_ms: u64,
    /// The people, the one with the most thread time first, equal ones by name.
    pub ranked: Vec<RankedPerson>,
    /// The sums over everybody.
    pub all: PartyTotals,
    /// The sums over those who are not shown: operators' own invitations, and revoked ones.
    pub others: PartyTotals,
    totals: Arc<Totals>,
    by_name: HashMap<Name, usize>,
    by_party: HashMap<Party, usize>,
}

/// A person with a rank.
#[derive(Clone, Debug)]
pub struct RankedPerson {
    /// The person.
    pub person: Person,
    /// From 1 on. People with equal time have equal ranks.
    pub rank: usize,
    /// The sums over the person's records and recounts.
    pub totals: PartyTotals,
}

impl People {
    fn rank(persons: Vec<Person>, totals: Arc<Totals>) -> Self {
        let mut ranked: Vec<RankedPerson> = persons
            .into_iter()
            .map(|person| {
                let totals = totals.by_party.get(&person.party).copied().unwrap_or_default();
                RankedPerson { person, rank: 0, totals }
            })
            .collect();
        ranked.sort_by(|a, b| {
            b.totals.time().cmp(&a.totals.time()).then_with(|| a.person.name.cmp(&b.person.name))
        });
        let mut before = None;
        for (place, one) in (1..).zip(&mut ranked) {
            let time = one.totals.time();
            one.rank = match before {
                Some((rank, same)) if same == time => rank,
                _ => place,
            };
            before = Some((one.rank, time));
        }
        let by_name =
            ranked.iter().enumerate().rev().map(|(at, one)| (one.person.name.clone(), at)).collect();
        let by_party: HashMap<Party, usize> =
            ranked.iter().enumerate().map(|(at, one)| (one.person.party, at)).collect();
        let (mut all, mut others) = (PartyTotals::default(), PartyTotals::default());
        for (party, sums) in &totals.by_party {
            all.add(sums);
            if !by_party.contains_key(party) {
                others.add(sums);
            }
        }
        Self { made: Instant::now(), at_ms: totals.at_ms, ranked, all, others, totals, by_name, by_party }
    }

    /// Returns the person of a name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&RankedPerson> {
        self.by_name.get(name).and_then(|at| self.ranked.get(*at))
    }

    /// Returns the person of a party, if the party is one.
    #[must_use]
    pub fn of_party(&self, party: Party) -> Option<&RankedPerson> {
        self.by_party.get(&party).and_then(|at| self.ranked.get(*at))
    }

    /// Returns the sums of any party.
    #[must_use]
    pub fn totals(&self, party: Party) -> PartyTotals {
        self.totals.by_party.get(&party).copied().unwrap_or_default()
    }

    /// Returns the share of all thread time that these sums have, 0 to 1.
    #[must_use]
    pub fn share(&self, totals: &PartyTotals) -> f64 {
        let all = self.all.time().as_secs_f64();
        if all > 0.0 { (totals.time().as_secs_f64() / all).min(1.0) } else { 0.0 }
    }
}

/// The last ranking.
#[derive(Debug, Default)]
pub(crate) struct Ranking(Mutex<Option<Arc<People>>>);

impl Ranking {
    /// Returns the last ranking, or a new one if that is too old. Others wait meanwhile: ten thousand people take some
    /// milliseconds.
    pub(crate) fn of(&self, totals: Arc<Totals>, persons: impl FnOnce() -> Vec<Person>) -> Arc<People> {
        let mut kept = self.0.lock();
        if let Some(people) = kept.as_ref().filter(|people| people.made.elapsed() < KEPT) {
            return people.clone();
        }
        let people = Arc::new(People::rank(persons(), totals));
        *kept = Some(people.clone());
        people
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn person(name: &str) -> Person {
        let name = Name::of_any(name);
        Person { party: Party::of_name(&name), name, since_ms: 5 }
    }

    fn totals(seconds: u64, recount_seconds: u64) -> PartyTotals {
        let (record_time, recount_time) =
            (Duration::from_secs(seconds), Duration::from_secs(recount_seconds));
        PartyTotals { n_records: 1, record_time, recount_time, ..PartyTotals::default() }
    }

    #[test]
    fn people_are_ranked_by_time_and_others_are_summed() {
        let sums = [
            ("anna", totals(50, 10)),
            ("bert", totals(60, 0)),
            ("carl", totals(70, 0)),
            ("rack", totals(60, 0)),
        ];
        let by_party: BTreeMap<_, _> =
            sums.into_iter().map(|(name, sums)| (person(name).party, sums)).collect();
        let totals = Arc::new(Totals { at_ms: 7, by_party });
        let people = People::rank(["dora", "bert", "anna", "carl"].map(person).into(), totals);
        let ranked: Vec<_> = people.ranked.iter().map(|one| (one.person.name.as_str(), one.rank)).collect();
        assert_eq!(ranked, [("carl", 1), ("anna", 2), ("bert", 2), ("dora", 4)]);
        assert_eq!((people.all.n_records, people.others.n_records), (4, 1));
        assert_eq!(people.named("anna").map(|one| people.share(&one.totals)), Some(0.24));
        assert!(people.named("rack").is_none() && people.of_party(person("rack").party).is_none());
        assert_eq!(people.totals(person("rack").party).n_records, 1);
        assert_eq!(people.of_party(person("dora").party).map(|one| one.rank), Some(4));
        let nobody = People::rank(vec![], Arc::default());
        assert!((nobody.ranked.is_empty(), nobody.share(&nobody.all)) == (true, 0.0));
    }
}
