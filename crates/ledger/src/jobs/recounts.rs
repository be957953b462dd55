//! The recounts of one job's records, by parties that have not counted them yet.
//!
//! For each record, a [lottery](crate::workers::proofs::Lottery) draws the party that counts it, before it is known who
//! is idle. The draw stands: only that party's workers get the record, until it lapses.
//!
//! Only some are kept here: the store is asked for more when few are left. They are hints like leases. The store has
//! the truth about each record's counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_model::{Party, Share};
use queens_solver::{Plan, Span};

use crate::jobs::queues::{Break, Queues};
use crate::jobs::record_counts::{is_disputed, is_doubtful};
use crate::jobs::recount::{Key, Recount, Turn};
use crate::store::SecondCount;
use crate::store::draw::{Drawn, MOST_SEEN, Recorded};
use crate::work::work_of;

/// With this many records at hand, no more are asked for.
const ENOUGH: usize = MOST_SEEN;

/// The most records in a queue that are searched for those that suit a worker best.
const MOST_LOOKS: usize = 64;

/// The recounts of a job's records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recounts {
    all: BTreeMap<Key, Recount>,
    /// The records that no worker has.
    queues: Queues<Key>,
    /// The records that the coordinator has to count itself.
    to_judge: BTreeSet<Key>,
    /// The records with different counts.
    cases: BTreeSet<Key>,
    /// The parties whose counts need no decision by the coordinator.
    suspects: Arc<BTreeSet<Party>>,
    /// The estimated work of all of them.
    work: u128,
    search: Search,
    /// The share of recounts before this search, if its result lowers the share because the recounts end.
    withdrawn: Option<Share>,
    /// The smallest share above which that search has seen a confirmed record drawn.
    least_drawn: Share,
    /// The number of records that this search has looked at, and their parties.
    n_seen: u64,
    seen: BTreeSet<Party>,
    /// Parts whose records are all recounted, with the number of parties that have to agree on each record.
    doubted: BTreeMap<u32, usize>,
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

    /// Returns the share of recounts before this search, if its result lowers the share because the recounts end.
    pub(crate) fn withdrawn(&self) -> Option<Share> {
        self.withdrawn
    }

    /// Returns the smallest share above which that search has seen a confirmed record drawn.
    pub(crate) fn least_drawn(&self) -> Share {
        self.least_drawn
    }

    pub(crate) fn n_seen(&self) -> u64 {
        self.n_seen
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.search != Search::Idle
    }

    /// Returns the parts whose records are all recounted.
    pub(crate) fn doubted(&self) -> BTreeSet<u32> {
        self.doubted.keys().copied().collect()
    }

    /// Returns the number of parties that have to agree on each record of a part.
    pub(crate) fn n_parties(&self, part: u32) -> usize {
        self.doubted.get(&part).copied().unwrap_or(2)
    }

    /// Whether more than two parties have to agree on some records.
    pub(crate) fn asks_further_parties(&self) -> bool {
        self.doubted.values().any(|n_parties| *n_parties > 2)
    }

    pub(crate) fn has_second_counts(&self) -> bool {
        self.has_second_counts
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        self.all.keys().copied().collect()
    }

    /// Returns the records that no worker has.
    pub(crate) fn queues(&self) -> &Queues<Key> {
        &self.queues
    }

    pub(crate) fn queues_mut(&mut self) -> &mut Queues<Key> {
        &mut self.queues
    }

    /// Returns the records that no party is drawn for.
    pub(crate) fn undrawn(&self) -> impl Iterator<Item = &Recount> {
        self.queues.undrawn().filter_map(|key| self.all.get(&key))
    }

    /// Returns the first record, or the first disputed one, that the coordinator has to count.
    pub(crate) fn first_to_judge(&self, is_disputed: bool) -> Option<Span> {
        let first = match is_disputed {
            true => self.to_judge.intersection(&self.cases).next(),
            false => self.to_judge.first(),
        };
        Some(self.all.get(first?)?.span())
    }

    /// Returns the parties that counted some of the records in a party's queue.
    pub(crate) fn others(&self, party: Party) -> BTreeSet<Party> {
        let keys = self.queues.queue(party).take(MOST_LOOKS);
        keys.filter_map(|key| self.all.get(&key)).flat_map(Recount::counted_by).collect()
    }

    /// Whether the search has seen a record of a party.
    pub(crate) fn has_seen(&self, party: Party) -> bool {
        self.seen.contains(&party)
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
}

/// Changes.
impl Recounts {
    /// Searches all records from the first one, for a lower share than this.
    pub(crate) fn withdraw(&mut self, share: Share) {
        self.search();
        (self.withdrawn, self.least_drawn) = (Some(share), Share::ALL);
    }

    /// Notes that a confirmed record is drawn by each larger share.
    pub(crate) fn note_drawn(&mut self, share: Share) {
        self.least_drawn = self.least_drawn.min(share);
    }

    /// Searches all records from the first one.
    pub(crate) fn search(&mut self) {
        self.search = Search::After(None);
        self.withdrawn = None;
        self.n_seen = 0;
        self.seen.clear();
    }

    /// Recounts all records of a part, until this many parties agree on each. Returns whether that is new.
    pub(crate) fn mismatch(&mut self, part: u32, n_parties: usize) -> bool {
        let known = self.doubted.entry(part).or_default();
        let is_new = *known < n_parties;
        *known = n_parties.max(*known);
        is_new
    }

    /// Lets two parties suffice again for all parts but these. Returns whether more had to agree on any.
    pub(crate) fn relax(&mut self, still: &[u32]) -> bool {
        let relaxed =
            self.doubted.iter_mut().filter(|(part, n_parties)| **n_parties > 2 && !still.contains(part));
        relaxed.map(|(_, n_parties)| *n_parties = 2).count() > 0
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
    pub(crate) fn searched(&mut self, after: Option<Key>, drawn: &Drawn) {
        if self.search != Search::After(after) {
            return;
        }
        self.n_seen += drawn.n_seen;
        self.search = drawn.next.map_or(Search::Ended, |next| Search::After(Some(next)));
        self.seen.extend(&drawn.seen);
    }

    /// Notes records that the coordinator has to count, as nobody else can.
    pub(crate) fn note_to_judge(&mut self, keys: Vec<Key>) {
        self.to_judge.extend(keys);
    }

    /// Sets the suspects. Takes O(r log r) for r records if that has changed.
    pub(crate) fn set_suspects(&mut self, suspects: &Arc<BTreeSet<Party>>) {
        if self.suspects != *suspects {
            self.suspects = Arc::clone(suspects);
            self.keys().into_iter().for_each(|key| self.place(key));
        }
    }

    /// Adds a record, unless it is there.
    pub(crate) fn insert(&mut self, plan: &Plan, recorded: Recorded) {
        let key = (recorded.record.span.part(), recorded.record.span.from());
        if self.all.contains_key(&key) {
            return;
        }
        self.work += work_of(plan, recorded.record.span);
        let (lapsed, n_failed) = (BTreeSet::new(), 0);
        let (turn, n_draws, broke) = (Turn::Nobody, 0, Break::default());
        self.all.insert(key, Recount { recorded, lapsed, n_failed, turn, n_draws, broke });
        self.place(key);
    }

    /// Removes a record that needs no recount.
    pub(crate) fn remove(&mut self, plan: &Plan, key: Key) -> Option<Recorded> {
        self.unqueue(plan, key);
        self.cases.remove(&key);
        self.to_judge.remove(&key);
        let removed = self.all.remove(&key)?;
        self.work = self.work.saturating_sub(work_of(plan, removed.span()));
        Some(removed.recorded)
    }

    /// Drops records that are undisputed and that nobody counts.
    pub(crate) fn forget_undisputed(&mut self, plan: &Plan) {
        let is_idle =
            |(key, it): &(&Key, &Recount)| !matches!(it.turn, Turn::Leased(_)) && !self.cases.contains(key);
        let idle: Vec<Key> = self.all.iter().filter(is_idle).map(|(key, _)| *key).collect();
        for key in idle {
            self.remove(plan, key);
        }
    }

    /// Gives a record to the party that was drawn for it: it alone may count it until it lapses.
    pub(crate) fn give(&mut self, plan: &Plan, key: Key, party: Party) {
        let Some(recount) = self.all.get_mut(&key).filter(|it| it.turn == Turn::Nobody) else { return };
        recount.n_draws = recount.n_draws.saturating_add(1);
        recount.broke = Break::default();
        recount.lapsed.remove(&party);
        recount.turn = Turn::Drawn(party);
        self.queues.add(key, party, work_of(plan, recount.span()));
        self.place(key);
    }

    /// Takes records from a party's queue for one lease: about this much work, at least one record. No two of them
    /// touch, so that a report belongs to one record. Among the first, those that `dislike` rates lower are preferred.
    pub(crate) fn take(
        &mut self,
        plan: &Plan,
        party: Party,
        work: u128,
        most_spans: usize,
        dislike: impl Fn(&Recorded) -> u8,
    ) -> Vec<Span> {
        self.queues.note_asked(party);
        let first = self.queues.queue(party).take(MOST_LOOKS).filter_map(|key| self.all.get(&key));
        let Some(least) = first.map(|it| dislike(&it.recorded)).min() else { return Vec::new() };
        let (mut taken, mut left): (Vec<Span>, u128) = (Vec::new(), work);
        let queue = self.queues.queue(party).filter_map(|key| self.all.get(&key));
        for recount in queue.take(2 * most_spans) {
            let span = recount.span();
            let its_work = work_of(plan, span);
            let touches =
                taken.last().is_some_and(|last| last.part() == span.part() && last.to() == span.from());
            if touches || dislike(&recount.recorded) > least {
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
            self.unqueue(plan, key);
            self.all.entry(key).and_modify(|recount| recount.turn = Turn::Leased(party));
        }
        taken
    }

    /// Puts a record that a party's lease ended without a count of back into its queue. The party is not to blame.
    pub(crate) fn put_back(&mut self, plan: &Plan, key: Key, party: Party) {
        let recount = self.all.get_mut(&key).filter(|recount| recount.turn == Turn::Leased(party));
        let Some(recount) = recount else { return };
        recount.turn = Turn::Drawn(party);
        self.queues.put_back(key, party, work_of(plan, recount.span()));
        self.place(key);
    }

    /// Notes that a party lost its lease of a record with its session. Returns whether that is a lapse.
    pub(crate) fn note_break(&mut self, key: Key, party: Party, now: Duration) -> bool {
        let recount = self.all.get_mut(&key).filter(|recount| recount.turn == Turn::Leased(party));
        recount.is_some_and(|recount| recount.broke.note(now))
    }

    /// Notes that a party did not count a record. Others are drawn before it is drawn again. Returns whether it was its
    /// turn: an older lease may end while it is another's.
    pub(crate) fn lapse(&mut self, plan: &Plan, key: Key, party: Party) -> bool {
        let is_turn = |it: &&Recount| matches!(it.turn, Turn::Drawn(of) | Turn::Leased(of) if of == party);
        if self.all.get(&key).filter(is_turn).is_none() {
            return false;
        }
        self.unqueue(plan, key);
        let Some(recount) = self.all.get_mut(&key) else { return false };
        recount.lapsed.insert(party);
        recount.turn = Turn::Nobody;
        self.place(key);
        true
    }

    /// Notes that a party failed on a record, and so did not count it. Returns whether it was its turn.
    pub(crate) fn fail(&mut self, plan: &Plan, key: Key, party: Party) -> bool {
        if let Some(recount) = self.all.get_mut(&key) {
            recount.n_failed += 1;
        }
        self.lapse(plan, key, party)
    }

    /// Takes all records from a party's queue, as those that it did not count.
    pub(crate) fn lapse_all(&mut self, plan: &Plan, party: Party) {
        let keys: Vec<Key> = self.queues.queue(party).collect();
        keys.into_iter().for_each(|key| _ = self.lapse(plan, key, party));
    }

    /// Lets the parties that have lapsed try again.
    pub(crate) fn retry_failed(&mut self) {
        for recount in self.all.values_mut() {
            recount.lapsed.clear();
            recount.n_failed = 0;
        }
    }

    /// Adds a count of a record. Returns whether the record is newly disputed.
    pub(crate) fn add(&mut self, plan: &Plan, key: Key, count: SecondCount) -> bool {
        let Some(recount) = self.all.get_mut(&key) else { return false };
        let party = count.source.party;
        recount.recorded.again.retain(|again| again.source.party != party);
        recount.recorded.again.push(count);
        if matches!(recount.turn, Turn::Drawn(drawn) | Turn::Leased(drawn) if drawn == party) {
            self.unqueue(plan, key);
            self.all.entry(key).and_modify(|recount| recount.turn = Turn::Nobody);
        }
        let was_disputed = self.cases.contains(&key);
        self.place(key);
        !was_disputed && self.cases.contains(&key)
    }

    /// Updates the indexes for a record whose counts or turn have changed.
    fn place(&mut self, key: Key) {
        let Some(recount) = self.all.get(&key) else { return };
        let is_disputed = is_disputed(&recount.recorded);
        let is_to_judge = is_doubtful(&recount.recorded, &self.suspects) && !recount.is_judged();
        let is_undrawn = recount.turn == Turn::Nobody && !is_to_judge;
        for (set, is_member) in [(&mut self.cases, is_disputed), (&mut self.to_judge, is_to_judge)] {
            if is_member {
                set.insert(key)
            } else {
                set.remove(&key)
            };
        }
        if is_undrawn {
            self.queues.add_undrawn(key);
        } else {
            self.queues.remove_undrawn(key);
        }
    }

    /// Removes a record from the queue of its party, if it is in one.
    fn unqueue(&mut self, plan: &Plan, key: Key) {
        self.queues.remove_undrawn(key);
        let Some(recount) = self.all.get(&key) else { return };
        if let Turn::Drawn(party) = recount.turn {
            self.queues.remove(key, party, work_of(plan, recount.span()));
        }
    }
}
