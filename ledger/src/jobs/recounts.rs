//! Records of one job that are to be counted again, by parties that have not counted them yet.
//!
//! There may be many more than are kept here: the next are asked for when few are left. What is kept is a hint like a
//! lease. The truth, who has counted what, is in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use queens_model::{Name, Party};
use queens_solver::{Count, Plan, Span};

use crate::jobs::agreement_of_counts::{agreed, consistent, may_count};
use crate::store::draw::{MOST_SEEN, Recorded};
use crate::store::{SecondCount, Source, Verdict};
use crate::work::work_of;

/// No more are asked for while so many are there.
const ENOUGH: usize = MOST_SEEN;

/// Groups of records that are looked at for those that suit a worker best.
const MOST_LOOKS: usize = 64;

/// A span's cross and its first subproblem.
pub(crate) type Key = (u32, u64);

/// The records of a job that are to be counted again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recounts {
    all: BTreeMap<Key, Recount>,
    /// Those that nobody counts at present, by the parties that may not count them.
    waiting: BTreeMap<BTreeSet<Party>, BTreeSet<Key>>,
    /// Those of which there are different counts.
    cases: BTreeSet<Key>,
    /// The estimated work of all of them.
    work: u128,
    search: Search,
    /// Records that were looked at, since they are looked through from the first on.
    n_seen: u64,
    /// Crosses of which all records are to be counted again.
    doubted: BTreeSet<u32>,
    /// Whether there are second counts, which may contradict their records.
    has_second_counts: bool,
}

/// How far all records of the job have been looked through for those to be counted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Search {
    /// Not begun.
    #[default]
    Idle,
    /// It goes on behind this record, or at the first.
    After(Option<Key>),
    /// All were looked at.
    Ended,
}

/// A record that is to be counted again.
#[derive(Clone, Debug)]
pub(crate) struct Recount {
    recorded: Recorded,
    /// Parties of workers that have failed to count it.
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

    /// How many different counts of it there are.
    pub(crate) fn n_different(&self) -> usize {
        n_different(&self.recorded)
    }

    /// The parties that may not count it: they have done so, or failed.
    pub(crate) fn excluded_names(&self) -> BTreeSet<Party> {
        let counted = counts(&self.recorded).map(|(source, _)| source.party);
        counted.chain(self.failed.iter().copied()).collect()
    }

    /// The names that have counted it.
    pub(crate) fn names(&self) -> BTreeSet<&Name> {
        counts(&self.recorded).map(|(source, _)| &source.name).collect()
    }
}

/// All counts of a record's span, with those who made them. Some may come more than once: what has taken the record's
/// place is a second count as well.
fn counts(recorded: &Recorded) -> impl Iterator<Item = (&Source, Count)> {
    let span = recorded.record.span;
    // A record may have been longer when it was repeated, or may have grown since.
    let again = recorded.again.iter().filter(move |again| again.span == span);
    let lost = recorded.verdicts.iter().filter(move |verdict| verdict.span == span);
    let again = again.map(|again| (&*again.source, again.count));
    let lost = lost.map(|verdict| (&*verdict.lost_source, verdict.lost));
    [(&*recorded.record.source, recorded.count())].into_iter().chain(again).chain(lost)
}

/// The same with the parties alone: names of one party neither confirm nor outvote each other.
fn counts_of_parties(recorded: &Recorded) -> impl Iterator<Item = (Party, Count)> {
    counts(recorded).map(|(source, count)| (source.party, count))
}

/// The count on which two parties agree, if they do; one of them is the arbiter, if there is one.
pub(crate) fn settled(
    recorded: &Recorded,
    suspects: &BTreeSet<Party>,
    arbiter: Option<Party>,
) -> Option<Count> {
    agreed(counts_of_parties(recorded), suspects, arbiter)
}

/// The parties that came to this count and to no other.
fn agreeing(recorded: &Recorded, agreed: Count) -> BTreeSet<Party> {
    consistent(counts_of_parties(recorded)).remove(&(agreed.solutions, agreed.nodes)).unwrap_or_default()
}

/// A name of each party that came to this count and to no other.
pub(crate) fn agreeing_names(recorded: &Recorded, agreed: Count) -> Vec<&Name> {
    let parties = agreeing(recorded, agreed);
    let agreeing = counts(recorded).filter(|(source, _)| parties.contains(&source.party));
    let names: BTreeMap<Party, &Name> = agreeing.map(|(source, _)| (source.party, &source.name)).collect();
    let mut names: Vec<&Name> = names.into_values().collect();
    names.sort_unstable();
    names
}

/// Whether two parties agree on one of its counts, suspect or not.
pub(crate) fn is_confirmed(recorded: &Recorded) -> bool {
    consistent(counts_of_parties(recorded)).values().any(|parties| parties.len() > 1)
}

/// Whether there are different counts.
pub(crate) fn is_disputed(recorded: &Recorded) -> bool {
    n_different(recorded) > 1
}

fn n_different(recorded: &Recorded) -> usize {
    counts(recorded).map(|(_, count)| (count.solutions, count.nodes)).collect::<BTreeSet<_>>().len()
}

/// Looking.
impl Recounts {
    /// Whether nothing is left to be counted again, and all records were looked at.
    pub(crate) fn are_done(&self) -> bool {
        self.search == Search::Ended && self.all.is_empty()
    }

    /// Behind which record to look for more, if more are wanted.
    pub(crate) fn wanted(&self) -> Option<Option<Key>> {
        match self.search {
            Search::After(after) if self.all.len() < ENOUGH => Some(after),
            _ => None,
        }
    }

    /// Whether all were looked at, so that no more are going to be drawn.
    pub(crate) fn are_known(&self) -> bool {
        self.search == Search::Ended
    }

    /// How many records were looked at.
    pub(crate) fn n_seen(&self) -> u64 {
        self.n_seen
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.search != Search::Idle
    }

    /// Crosses of which all records are to be counted again.
    pub(crate) fn doubted(&self) -> &BTreeSet<u32> {
        &self.doubted
    }

    /// Whether there are second counts, which may contradict their records.
    pub(crate) fn has_second_counts(&self) -> bool {
        self.has_second_counts
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        self.all.keys().copied().collect()
    }

    /// Whether nobody counts some of them at present.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The estimated work of all that are kept here.
    pub(crate) fn work(&self) -> u128 {
        self.work
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Recount> {
        self.all.get(&key)
    }

    /// Those of which there are different counts.
    pub(crate) fn cases(&self) -> impl Iterator<Item = &Recount> {
        self.cases.iter().filter_map(|key| self.all.get(key))
    }

    pub(crate) fn n_cases(&self) -> usize {
        self.cases.len()
    }

    /// Groups of parties that may not count some of those that wait, with one of those.
    pub(crate) fn excluded_names(&self) -> impl Iterator<Item = (&BTreeSet<Party>, Option<&Recount>)> {
        self.waiting
            .iter()
            .map(|(excluded_names, keys)| (excluded_names, keys.first().and_then(|key| self.all.get(key))))
    }

    /// The parties that have counted what this party may count next.
    pub(crate) fn others(&self, party: Party, arbiter: Option<Party>) -> BTreeSet<Party> {
        self.groups_for(party, arbiter).flat_map(|(excluded_names, _)| excluded_names).copied().collect()
    }

    /// The first groups of those that wait and that this party may count.
    fn groups_for(
        &self,
        party: Party,
        arbiter: Option<Party>,
    ) -> impl Iterator<Item = (&BTreeSet<Party>, &BTreeSet<Key>)> {
        self.waiting
            .iter()
            .filter(move |(excluded_names, _)| may_count(excluded_names, party, arbiter))
            .take(MOST_LOOKS)
    }
}

/// Changing.
impl Recounts {
    /// Looks through all records, from the first one on.
    pub(crate) fn search(&mut self) {
        self.search = Search::After(None);
        self.n_seen = 0;
    }

    /// All records of a cross are to be counted again. Returns whether that is new.
    pub(crate) fn doubt(&mut self, cross: u32) -> bool {
        self.doubted.insert(cross)
    }

    /// There are second counts, which may contradict their records.
    pub(crate) fn note_second_count(&mut self) {
        self.has_second_counts = true;
    }

    /// Nothing is to be counted again.
    pub(crate) fn end_search(&mut self) {
        self.search = Search::Ended;
    }

    /// Records behind `after` were looked at, and there are more if `next` says so. What was asked for before something
    /// changed is looked for again.
    pub(crate) fn searched(&mut self, after: Option<Key>, next: Option<Key>, n_seen: u64) {
        if self.search == Search::After(after) {
            self.n_seen += n_seen;
            self.search = next.map_or(Search::Ended, |next| Search::After(Some(next)));
        }
    }

    /// Adds a record, unless it is there.
    pub(crate) fn insert(&mut self, plan: &Plan, recorded: Recorded) {
        let key = (recorded.record.span.cross(), recorded.record.span.from());
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

    /// Takes out a record: it need not be counted again any more.
    pub(crate) fn remove(&mut self, plan: &Plan, key: Key) -> Option<Recorded> {
        self.unwait(key);
        self.cases.remove(&key);
        let removed = self.all.remove(&key)?;
        self.work = self.work.saturating_sub(work_of(plan, removed.span()));
        Some(removed.recorded)
    }

    /// Forgets what is not in dispute and nobody counts.
    pub(crate) fn forget_undisputed(&mut self, plan: &Plan) {
        let is_idle = |(key, it): &(&Key, &Recount)| !it.is_leased && !self.cases.contains(key);
        let idle: Vec<Key> = self.all.iter().filter(is_idle).map(|(key, _)| *key).collect();
        for key in idle {
            self.remove(plan, key);
        }
    }

    /// Takes records that this party may count, for one lease: as many as come to about this much work, at least one. No
    /// two of them touch, so that what is reported can be told apart. Those are preferred of which `likes` says less.
    pub(crate) fn take(
        &mut self,
        plan: &Plan,
        (party, arbiter): (Party, Option<Party>),
        work: u128,
        most_spans: usize,
        dislike: impl Fn(&BTreeSet<Party>, &Recorded) -> u8,
    ) -> Vec<Span> {
        let weighed = self.groups_for(party, arbiter).filter_map(|(excluded_names, keys)| {
            let first = self.all.get(keys.first()?)?;
            Some((dislike(excluded_names, &first.recorded), excluded_names, keys))
        });
        let Some((.., keys)) = weighed.min_by_key(|(dislike, ..)| *dislike) else { return Vec::new() };
        let (mut taken, mut left): (Vec<Span>, u128) = (Vec::new(), work);
        for span in keys.iter().filter_map(|key| self.all.get(key)).map(Recount::span).take(2 * most_spans) {
            let its_work = work_of(plan, span);
            let touches =
                taken.last().is_some_and(|last| last.cross() == span.cross() && last.to() == span.from());
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
            let key = (span.cross(), span.from());
            self.unwait(key);
            self.all.entry(key).and_modify(|recount| recount.is_leased = true);
        }
        taken
    }

    /// Nobody counts a record any more.
    pub(crate) fn put_back(&mut self, key: Key) {
        self.unwait(key);
        if let Some(recount) = self.all.get_mut(&key) {
            (recount.is_leased, recount.n_returned) = (false, recount.n_returned.wrapping_add(1));
            self.wait(key);
        }
    }

    /// A worker of this party can't count a record.
    pub(crate) fn fail(&mut self, key: Key, party: Party) {
        self.unwait(key);
        if let Some(recount) = self.all.get_mut(&key) {
            recount.failed.insert(party);
            recount.is_leased = false;
            self.wait(key);
        }
    }

    /// What workers have failed to count may be tried by them again.
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

    /// A record was counted again. Returns whether there are different counts now and were not before.
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
            self.waiting.entry(recount.excluded_names()).or_default().insert(key);
        }
    }

    fn unwait(&mut self, key: Key) {
        let Some(recount) = self.all.get(&key).filter(|recount| !recount.is_leased) else { return };
        let excluded_names = recount.excluded_names();
        if let Some(keys) = self.waiting.get_mut(&excluded_names) {
            keys.remove(&key);
            if keys.is_empty() {
                self.waiting.remove(&excluded_names);
            }
        }
    }
}

/// The second count that is to be recorded in place of a record that has lost: of a party that does not contradict itself.
pub(crate) fn winner(recorded: &Recorded, agreed: Count) -> Option<&SecondCount> {
    let (span, agreeing) = (recorded.record.span, agreeing(recorded, agreed));
    let mut again = recorded.again.iter();
    again.find(|it| it.span == span && it.count == agreed && agreeing.contains(&it.source.party))
}

/// The verdicts that follow from what two parties agree on: one for each count that lost, unless it has lost before and
/// has not won since.
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
