//! How the counts of one span stand to each other.

use std::collections::{BTreeMap, BTreeSet};

use queens_messages::Name;
use queens_solver::Count;

/// The count on which two names agree, of all counts of a span and who made them; `None` if it takes further names.
///
/// One of them must not be suspect, because two suspects may be one liar. A name that contradicts itself speaks for
/// nothing. If names agree on two counts, which takes four, that of more names without suspicion is it.
pub(crate) fn agreed<'a>(
    counts: impl IntoIterator<Item = (&'a Name, Count)>,
    suspects: &BTreeSet<Name>,
) -> Option<Count> {
    let agreed = consistent(counts).into_iter().filter(|(_, names)| names.len() > 1);
    let weighed = agreed.map(|(count, names)| {
        let n_unsuspected = names.iter().filter(|name| !suspects.contains(**name)).count();
        ((n_unsuspected, names.len()), count)
    });
    let mut weighed: Vec<_> = weighed.filter(|((n_unsuspected, _), _)| *n_unsuspected > 0).collect();
    weighed.sort_unstable();
    let (weight, (solutions, nodes)) = weighed.pop()?;
    let is_contested = weighed.last().is_some_and(|(other, _)| *other == weight);
    (!is_contested).then_some(Count { solutions, nodes })
}

/// The names that came to each count and to no other, by its solutions and nodes.
pub(crate) fn consistent<'a>(
    counts: impl IntoIterator<Item = (&'a Name, Count)>,
) -> BTreeMap<(u64, u64), BTreeSet<&'a Name>> {
    let mut of_each: BTreeMap<&Name, BTreeSet<(u64, u64)>> = BTreeMap::new();
    for (name, count) in counts {
        of_each.entry(name).or_default().insert((count.solutions, count.nodes));
    }
    let mut names: BTreeMap<(u64, u64), BTreeSet<&Name>> = BTreeMap::new();
    for (name, counts) in of_each.into_iter().filter(|(_, counts)| counts.len() == 1) {
        counts.into_iter().for_each(|count| _ = names.entry(count).or_default().insert(name));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who counted how many solutions, who of them is suspect, and what is agreed.
    #[track_caller]
    fn check(counts: &[(&str, u64)], suspects: &[&str], expected: Option<u64>) {
        let names = |name: &&str| name.parse::<Name>().expect("a name");
        let counts: Vec<(Name, Count)> =
            counts.iter().map(|(name, n)| (names(name), Count { solutions: *n, nodes: 1 })).collect();
        let found =
            agreed(counts.iter().map(|(name, count)| (name, *count)), &suspects.iter().map(names).collect());
        assert_eq!(found.map(|count| count.solutions), expected);
    }

    #[test]
    fn two_different_names_agree_or_it_takes_further_ones() {
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
    fn suspects_do_not_confirm_each_other() {
        check(&[("anna", 5), ("bert", 5)], &["anna"], Some(5));
        check(&[("anna", 5), ("bert", 5)], &["anna", "bert"], None);
        check(&[("anna", 5), ("bert", 5), ("carol", 6)], &["anna", "bert"], None);
        check(&[("anna", 5), ("bert", 5), ("carol", 6), ("dora", 6)], &["anna", "bert"], Some(6));
        check(&[("anna", 5), ("bert", 5), ("carol", 6), ("dora", 6)], &["anna", "dora"], None);
        check(&[("anna", 5), ("bert", 5), ("carol", 6), ("dora", 6)], &["anna"], Some(6));
    }

    #[test]
    fn nodes_are_as_good_as_solutions() {
        let [anna, bert] = ["anna", "bert"].map(|name| name.parse::<Name>().expect("a name"));
        let counts = [(&anna, Count { solutions: 5, nodes: 1 }), (&bert, Count { solutions: 5, nodes: 2 })];
        assert_eq!(agreed(counts, &BTreeSet::new()), None);
    }
}
