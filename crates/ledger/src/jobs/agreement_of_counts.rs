//! Decides which counts of one span agree.

use std::collections::{BTreeMap, BTreeSet};

use queens_model::Party;
use queens_solver::Count;

/// Returns the count on which `n_parties` agree; `None` if further parties must count.
///
/// None of them is suspect, because two suspects may be one liar. If there is an arbiter, it is one of them, and then
/// the others may be suspect. A party that contradicts itself, under any names, confirms nothing.
pub(crate) fn agreed(
    counts: impl IntoIterator<Item = (Party, Count)>,
    suspects: &BTreeSet<Party>,
    arbiter: Option<Party>,
    n_parties: usize,
) -> Option<Count> {
    let is_enough = |parties: &BTreeSet<Party>| match arbiter {
        Some(arbiter) => {
            parties.contains(&arbiter) && !suspects.contains(&arbiter) && parties.len() >= n_parties
        }
        None => parties.difference(suspects).count() >= n_parties,
    };
    let mut agreed = consistent(counts).into_iter().filter(|(_, parties)| is_enough(parties));
    let ((solutions, work), _) = agreed.next()?;
    agreed.next().is_none().then_some(Count { solutions, work })
}

/// Returns, for each count (solutions and nodes), the parties that made this count and no other.
pub(crate) fn consistent(
    counts: impl IntoIterator<Item = (Party, Count)>,
) -> BTreeMap<(u64, u64), BTreeSet<Party>> {
    let mut of_each: BTreeMap<Party, BTreeSet<(u64, u64)>> = BTreeMap::new();
    for (party, count) in counts {
        of_each.entry(party).or_default().insert((count.solutions, count.work));
    }
    let mut parties: BTreeMap<(u64, u64), BTreeSet<Party>> = BTreeMap::new();
    for (party, counts) in of_each.into_iter().filter(|(_, counts)| counts.len() == 1) {
        counts.into_iter().for_each(|count| _ = parties.entry(count).or_default().insert(party));
    }
    parties
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes the counts by name, the suspect names and the expected result.
    #[track_caller]
    fn check(counts: &[(&str, u64)], suspects: &[&str], expected: Option<u64>) {
        let party = |name: &&str| Party::of_name(&name.parse().expect("a name"));
        let counts = counts.iter().map(|(name, n)| (party(name), Count { solutions: *n, work: 1 }));
        let found = agreed(counts, &suspects.iter().map(party).collect(), None, 2);
        assert_eq!(found.map(|count| count.solutions), expected);
    }

    #[test]
    fn two_different_parties_agree_or_it_takes_further_ones() {
        check(&[("anna", 5)], &[], None);
        check(&[("anna", 5), ("anna", 5)], &[], None);
        check(&[("anna", 5), ("bert", 5)], &[], Some(5));
        check(&[("anna", 5), ("bert", 6)], &[], None);
        check(&[("anna", 5), ("bert", 6), ("carol", 7)], &[], None);
        check(&[("anna", 5), ("bert", 6), ("carol", 6)], &[], Some(6));
        check(&[("anna", 5), ("anna", 6), ("bert", 6)], &[], None);
        check(&[("anna", 5), ("anna", 6), ("bert", 6), ("carol", 6)], &[], Some(6));
        check(&[("anna", 5), ("anna", 6), ("bert", 6), ("carol", 5)], &[], None);
    }

    #[test]
    fn it_takes_two_who_are_not_suspect() {
        check(&[("anna", 5), ("bert", 5)], &["anna"], None);
        check(&[("anna", 5), ("bert", 5)], &["anna", "bert"], None);
        check(&[("anna", 5), ("bert", 5), ("carol", 5)], &["anna"], Some(5));
        check(&[("anna", 5), ("bert", 5), ("carol", 6), ("dora", 6)], &["anna"], Some(6));
        check(&[("anna", 5), ("bert", 5), ("carol", 6), ("dora", 6)], &["anna", "dora"], None);
        check(&[("anna", 5), ("bert", 5), ("carol", 6), ("dora", 6)], &[], None);
    }

    #[test]
    fn nodes_are_as_good_as_solutions() {
        let [anna, bert] = [1, 2].map(|byte| Party::from_bytes([byte; 16]));
        let counts = [(anna, Count { solutions: 5, work: 1 }), (bert, Count { solutions: 5, work: 2 })];
        assert_eq!(agreed(counts, &BTreeSet::new(), None, 2), None);
    }

    #[test]
    fn nobody_agrees_without_the_arbiter() {
        let [anna, bert, carol] = [1, 2, 3].map(|byte| Party::from_bytes([byte; 16]));
        let count = |solutions| Count { solutions, work: 1 };
        let check = |counts: &[(Party, Count)], expected: Option<u64>| {
            let found = agreed(counts.iter().copied(), &BTreeSet::new(), Some(carol), 2);
            assert_eq!(found.map(|count| count.solutions), expected);
        };
        check(&[(anna, count(5)), (bert, count(5))], None);
        check(&[(anna, count(5)), (carol, count(5))], Some(5));
        check(&[(anna, count(5)), (bert, count(5)), (carol, count(6))], None);
        check(&[(anna, count(5)), (bert, count(6)), (carol, count(6))], Some(6));
        let counts = [(anna, count(5)), (carol, count(5))];
        let found = |suspect| agreed(counts, &BTreeSet::from([suspect]), Some(carol), 2);
        assert_eq!((found(anna).is_some(), found(carol)), (true, None));
    }
}
