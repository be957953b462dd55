//! The recounts of one job's records, by parties that have not counted them yet.
//!
//! Only some are kept here: the store is asked for more when few are left. They are hints like leases. The store has
//! the truth about each record's counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use queens_model::{Name, Party};
use queens_solver::{Count, Plan, Span};

use crate::jobs::agreement_of_counts::{agreed, consistent, may_count};
use crate::store::draw::{MOST_SEEN, Recorded};
use crate::store::{SecondCount, Source, Verdict};
use crate::work::work_of;

/// With this many records at hand, no more are asked for.
const ENOUGH: usize = MOST_SEEN;

/// The most groups of records that are searched for those that suit a worker best.
const MOST_LOOKS: usize = 64;

/// A span's part and first subproblem.
pub(crate) type Key = (u32, u64);

/// The recounts of a job's records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recounts {
    all: BTreeMap<Key, Recount>,
    /// The records that nobody counts at present, by the parties that may not count them.
    waiting: BTreeMap<BTreeSet<Party>, BTreeSet<Key>>,
    /// The records with different counts.
    cases: BTreeSet<Key>,
    /// The estimated work of all of them.
    work: u128,
    search: Search,
    /// The number of records that this search has looked at.
    n_seen: u64,
    /// Parts whose records are all recounted.
    doubted: BTreeSet<u32>,
    /// Whether there are second counts, which may contradict their records.
    has_second_counts: bool,
}

/// The progress of the search through all records of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Search {
    /// Not begun.
    #[default]
    Idle,
    /// It continues behind this record, or at the first.
    After(Option<Key>),
    /// All records were looked at.
    Ended,
}

/// A record to recount.
#[derive(Clone, Debug)]
pub(crate) struct Recount {
    recorded: Recorded,
    /// The parties of workers that have failed to count it.
    failed: BTreeSet<Party>,
    is_leased: bool,
    /// How often a lease of it ended without a count.
    pub(crate) n_returned: u32,
}

impl Recount {
    pub(crate) fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    pub(crate) fn span(&self) -> Span {
        self.recorded.record.span
    }

    /// Returns the number of different counts.
    pub(crate) fn n_different(&self) -> usize {
        n_different(&self.recorded)
    }

    /// Returns the parties that may not count it, because they have done so or failed.
    pub(crate) fn excluded_parties(&self) -> BTreeSet<Party> {
        let counted = counts(&self.recorded).map(|(source, _)| source.party);
        counted.chain(self.failed.iter().copied()).collect()
    }

    /// Returns the names that have counted it.
    pub(crate) fn names(&self) -> BTreeSet<&Name> {
        counts(&self.recorded).map(|(source, _)| &source.name).collect()
    }
}

/// Returns all counts of a record's span with their sources. Some may come twice: a count that has replaced the record
/// is a second count as well.
fn counts(recorded: &Recorded) -> impl Iterator<Item = (&Source, Count)> {
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

/// Returns the count on which two parties agree. If there is an arbiter, it is one of them.
pub(crate) fn settled(
    recorded: &Recorded,
    suspects: &BTreeSet<Party>,
    arbiter: Option<Party>,
) -> Option<Count> {
    agreed(counts_of_parties(recorded), suspects, arbiter)
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
    n_different(recorded) > 1
}

fn n_different(recorded: &Recorded) -> usize {
    counts(recorded).map(|(_, count)| (count.solutions, count.work)).collect::<BTreeSet<_>>().len()
}

/// Queries.
impl Recounts {
    /// Whether all records were looked at and none is left to recount.
    pub(crate) fn are_done(&self) -> bool {
        self.search == Search::Ended && self.all.is_empty()
    }

    /// Returns the record behind which to look for more, if more are wanted.
    pub(crate) fn wanted(&self) -> Option<Option<Key>> {
        match self.search {
            Search::After(after) if self.all.len() < ENOUGH => Some(after),
            _ => None,
        }
    }

    /// Whether all records were looked at, so that no more will be drawn.
    pub(crate) fn are_known(&self) -> bool {
        self.search == Search::Ended
    }

    pub(crate) fn n_seen(&self) -> u64 {
        self.n_seen
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.search != Search::Idle
    }

    pub(crate) fn doubted(&self) -> &BTreeSet<u32> {
        &self.doubted
    }

    pub(crate) fn has_second_counts(&self) -> bool {
        self.has_second_counts
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        self.all.keys().copied().collect()
    }

    /// Whether nobody counts some of the records at present.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn work(&self) -> u128 {
        self.work
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Recount> {
        self.all.get(&key)
    }

    pub(crate) fn cases(&self) -> impl Iterator<Item = &Recount> {
        self.cases.iter().filter_map(|key| self.all.get(key))
    }

    pub(crate) fn n_cases(&self) -> usize {
        self.cases.len()
    }

    /// Returns the groups of excluded parties of waiting records, with one record of each.
    pub(crate) fn excluded_parties(&self) -> impl Iterator<Item = (&BTreeSet<Party>, Option<&Recount>)> {
        self.waiting.iter().map(|(excluded_parties, keys)| {
            (excluded_parties, keys.first().and_then(|key| self.all.get(key)))
        })
    }

    /// Returns the parties that have counted the records that this party may count next.
    pub(crate) fn others(&self, party: Party, arbiter: Option<Party>) -> BTreeSet<Party> {
        self.groups_for(party, arbiter).flat_map(|(excluded_parties, _)| excluded_parties).copied().collect()
    }

    /// Returns the first groups of waiting records that this party may count.
    fn groups_for(
        &self,
        party: Party,
        arbiter: Option<Party>,
    ) -> impl Iterator<Item = (&BTreeSet<Party>, &BTreeSet<Key>)> {
        self.waiting
            .iter()
            .filter(move |(excluded_parties, _)| may_count(excluded_parties, party, arbiter))
            .take(MOST_LOOKS)
    }
}

/// Changes.
impl Recounts {
    /// Searches all records from the first one.
    pub(crate) fn search(&mut self) {
        self.search = Search::After(None);
        self.n_seen = 0;
    }

    /// Recounts all records of a part. Returns whether that is new.
    pub(crate) fn mismatch(&mut self, part: u32) -> bool {
        self.doubted.insert(part)
    }

    /// Notes that there are second counts, which may contradict their records.
    pub(crate) fn note_second_count(&mut self) {
        self.has_second_counts = true;
    }

    /// Ends the search, because no record needs a recount.
    pub(crate) fn end_search(&mut self) {
        self.search = Search::Ended;
    }

    /// Continues the search behind `next`, or ends it. An answer to an outdated draw has no effect, so it is drawn
    /// again.
    pub(crate) fn searched(&mut self, after: Option<Key>, next: Option<Key>, n_seen: u64) {
        if self.search == Search::After(after) {
            self.n_seen += n_seen;
            self.search = next.map_or(Search::Ended, |next| Search::After(Some(next)));
        }
    }

    /// Adds a record, unless it is there.
    pub(crate) fn insert(&mut self, plan: &Plan, recorded: Recorded) {
        let key = (recorded.record.span.part(), recorded.record.span.from());
        if self.all.contains_key(&key) {
            return;
        }
        self.work += work_of(plan, recorded.record.span);
        if is_disputed(&recorded) {
            self.cases.insert(key);
        }
        self.all.insert(key, Recount { recorded, failed: BTreeSet::new(), is_leased: false, n_returned: 0 });
        self.wait(key);
    }

    /// Removes a record that needs no recount.
    pub(crate) fn remove(&mut self, plan: &Plan, key: Key) -> Option<Recorded> {
        self.unwait(key);
        self.cases.remove(&key);
        let removed = self.all.remove(&key)?;
        self.work = self.work.saturating_sub(work_of(plan, removed.span()));
        Some(removed.recorded)
    }

    /// Drops records that are undisputed and that nobody counts.
    pub(crate) fn forget_undisputed(&mut self, plan: &Plan) {
        let is_idle = |(key, it): &(&Key, &Recount)| !it.is_leased && !self.cases.contains(key);
        let idle: Vec<Key> = self.all.iter().filter(is_idle).map(|(key, _)| *key).collect();
        for key in idle {
            self.remove(plan, key);
        }
    }

    /// Takes records that this party may count, for one lease: about this much work, at least one record. No two of
    /// them touch, so that a report belongs to one record. Records that `dislike` rates lower are preferred.
    pub(crate) fn take(
        &mut self,
        plan: &Plan,
        (party, arbiter): (Party, Option<Party>),
        work: u128,
        most_spans: usize,
        dislike: impl Fn(&BTreeSet<Party>, &Recorded) -> u8,
    ) -> Vec<Span> {
        let weighed = self.groups_for(party, arbiter).filter_map(|(excluded_parties, keys)| {
            let first = self.all.get(keys.first()?)?;
            Some((dislike(excluded_parties, &first.recorded), excluded_parties, keys))
        });
        let Some((.., keys)) = weighed.min_by_key(|(dislike, ..)| *dislike) else { return Vec::new() };
        let (mut taken, mut left): (Vec<Span>, u128) = (Vec::new(), work);
        for span in keys.iter().filter_map(|key| self.all.get(key)).map(Recount::span).take(2 * most_spans) {
            let its_work = work_of(plan, span);
            let touches =
                taken.last().is_some_and(|last| last.part() == span.part() && last.to() == span.from());
            if touches {
                continue;
            }
            if !taken.is_empty() && (its_work > left || taken.len() >= most_spans) {
                break;
            }
            left = left.saturating_sub(its_work);
            taken.push(span);
        }
        for span in &taken {
            let key = (span.part(), span.from());
            self.unwait(key);
            self.all.entry(key).and_modify(|recount| recount.is_leased = true);
        }
        taken
    }

    /// Puts back a record that nobody counts any more.
    pub(crate) fn put_back(&mut self, key: Key) {
        self.unwait(key);
        if let Some(recount) = self.all.get_mut(&key) {
            (recount.is_leased, recount.n_returned) = (false, recount.n_returned.wrapping_add(1));
            self.wait(key);
        }
    }

    /// Notes that a worker of this party can't count a record.
    pub(crate) fn fail(&mut self, key: Key, party: Party) {
        self.unwait(key);
        if let Some(recount) = self.all.get_mut(&key) {
            recount.failed.insert(party);
            recount.is_leased = false;
            self.wait(key);
        }
    }

    /// Lets the parties that have failed try again.
    pub(crate) fn retry_failed(&mut self) {
        let failed: Vec<Key> =
            self.all.iter().filter(|(_, it)| !it.failed.is_empty()).map(|(key, _)| *key).collect();
        for key in failed {
            let is_leased = self.all.get(&key).is_some_and(|recount| recount.is_leased);
            self.unwait(key);
            if let Some(recount) = self.all.get_mut(&key) {
                recount.failed.clear();
            }
            if !is_leased {
                self.wait(key);
            }
        }
    }

    /// Adds a count of a record. Returns whether the record is newly disputed.
    pub(crate) fn add(&mut self, key: Key, count: SecondCount) -> bool {
        let Some(recount) = self.all.get_mut(&key) else { return false };
        let is_leased = recount.is_leased;
        self.unwait(key);
        let Some(recount) = self.all.get_mut(&key) else { return false };
        recount.recorded.again.retain(|again| again.source.party != count.source.party);
        recount.recorded.again.push(count);
        let is_disputed = is_disputed(&recount.recorded);
        if !is_leased {
            self.wait(key);
        }
        is_disputed && self.cases.insert(key)
    }

    fn wait(&mut self, key: Key) {
        if let Some(recount) = self.all.get(&key) {
            self.waiting.entry(recount.excluded_parties()).or_default().insert(key);
        }
    }

    fn unwait(&mut self, key: Key) {
        let Some(recount) = self.all.get(&key).filter(|recount| !recount.is_leased) else { return };
        let excluded_parties = recount.excluded_parties();
        if let Some(keys) = self.waiting.get_mut(&excluded_parties) {
            keys.remove(&key);
            if keys.is_empty() {
                self.waiting.remove(&excluded_parties);
            }
        }
    }
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
