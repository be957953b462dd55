//! All counts of one record: who agrees, who contradicts, and what follows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use queens_model::{Name, Party};
use queens_solver::Count;

use crate::jobs::agreement_of_counts::{agreed, consistent};
use crate::store::draw::Recorded;
use crate::store::{SecondCount, Source, Verdict};

/// Returns all counts of a record's span with their sources. Some may come twice: a count that has replaced the record
/// is a second count as well.
pub(crate) fn counts(recorded: &Recorded) -> impl Iterator<Item = (&Source, Count)> {
    let span = recorded.record.span;
    // The record may have been longer when it was repeated, or may have grown since.
    let again = recorded.again.iter().filter(move |again| again.span == span);
    let lost = recorded.verdicts.iter().filter(move |verdict| verdict.span == span);
    let again = again.map(|again| (&*again.source, again.count));
    let lost = lost.map(|verdict| (&*verdict.lost_source, verdict.lost));
    [(&*recorded.record.source, recorded.count())].into_iter().chain(again).chain(lost)
}

/// Returns the counts by party: names of one party neither confirm nor outvote each other.
fn counts_of_parties(recorded: &Recorded) -> impl Iterator<Item = (Party, Count)> {
    counts(recorded).map(|(source, count)| (source.party, count))
}

/// Returns the count on which enough parties agree. Where counts of unsuspected parties differ, the coordinator is one
/// of two, as nobody can outvote it; otherwise the arbiter is one of `n_parties`, if there is an arbiter.
pub(crate) fn settled(
    recorded: &Recorded,
    suspects: &BTreeSet<Party>,
    arbiter: Option<Party>,
    n_parties: usize,
) -> Option<Count> {
    let (arbiter, n_parties) =
        if is_doubtful(recorded, suspects) { (Some(Party::COORDINATOR), 2) } else { (arbiter, n_parties) };
    agreed(counts_of_parties(recorded), suspects, arbiter, n_parties)
}

pub(crate) fn is_judged(recorded: &Recorded) -> bool {
    counts_of_parties(recorded).any(|(party, _)| party == Party::COORDINATOR)
}

/// Returns the parties that made this count and no other.
fn agreeing(recorded: &Recorded, agreed: Count) -> BTreeSet<Party> {
    consistent(counts_of_parties(recorded)).remove(&(agreed.solutions, agreed.work)).unwrap_or_default()
}

/// Returns one name of each party that made this count and no other.
pub(crate) fn agreeing_names(recorded: &Recorded, agreed: Count) -> Vec<&Name> {
    let parties = agreeing(recorded, agreed);
    let agreeing = counts(recorded).filter(|(source, _)| parties.contains(&source.party));
    let names: BTreeMap<Party, &Name> = agreeing.map(|(source, _)| (source.party, &source.name)).collect();
    let mut names: Vec<&Name> = names.into_values().collect();
    names.sort_unstable();
    names
}

/// Whether two parties, suspect or not, agree on one of the counts.
pub(crate) fn is_confirmed(recorded: &Recorded) -> bool {
    consistent(counts_of_parties(recorded)).values().any(|parties| parties.len() > 1)
}

/// Whether there are different counts.
pub(crate) fn is_disputed(recorded: &Recorded) -> bool {
    n_different(counts_of_parties(recorded)) > 1
}

/// Whether there are different counts by parties that are not suspect. A suspect is known to be
/// wrong, so the coordinator leaves its counts out. It could not recount everything that a suspect has invented.
pub(crate) fn is_doubtful(recorded: &Recorded, suspects: &BTreeSet<Party>) -> bool {
    n_different(counts_of_parties(recorded).filter(|(party, _)| !suspects.contains(party))) > 1
}

fn n_different(counts: impl Iterator<Item = (Party, Count)>) -> usize {
    counts.map(|(_, count)| (count.solutions, count.work)).collect::<BTreeSet<_>>().len()
}

/// Returns the second count that replaces a record that has lost, from a party that does not contradict itself.
pub(crate) fn winner(recorded: &Recorded, agreed: Count) -> Option<&SecondCount> {
    let (span, agreeing) = (recorded.record.span, agreeing(recorded, agreed));
    let mut again = recorded.again.iter();
    again.find(|it| it.span == span && it.count == agreed && agreeing.contains(&it.source.party))
}

/// Returns the verdicts that follow from the agreed count: one for each count that lost, unless it has lost before and
/// not won since.
pub(crate) fn verdicts(recorded: &Recorded, agreed: Count, at_ms: u64) -> Vec<Verdict> {
    let span = recorded.record.span;
    let is_right = recorded.count() == agreed && agreeing(recorded, agreed).contains(&recorded.party());
    let winner = Some(&recorded.record.source).filter(|_| is_right);
    let winner = winner.or_else(|| self::winner(recorded, agreed).map(|again| &again.source));
    let Some(source) = winner else { return Vec::new() };
    let again = recorded.again.iter().filter(|again| again.span == span);
    let counted = [(&recorded.record.source, recorded.count())];
    let counted = counted.into_iter().chain(again.map(|again| (&again.source, again.count)));
    let mut known: Vec<(Party, Count)> = Vec::new();
    for verdict in &recorded.verdicts {
        known.retain(|(_, lost)| *lost != verdict.count);
        known.push((verdict.lost_source.party, verdict.lost));
    }
    let mut lost = Vec::new();
    for (by, count) in counted.filter(|(_, count)| *count != agreed) {
        if !known.contains(&(by.party, count)) {
            known.push((by.party, count));
            lost.push((by, count));
        }
    }
    let first = u32::try_from(recorded.verdicts.len()).unwrap_or(u32::MAX);
    let numbered = (first..).zip(lost);
    let verdict = |(number, (lost_source, lost)): (u32, (&_, Count))| Verdict {
        span,
        number,
        at_ms,
        count: agreed,
        source: Arc::clone(source),
        lost,
        lost_source: Arc::clone(lost_source),
    };
    numbered.map(verdict).collect()
}
