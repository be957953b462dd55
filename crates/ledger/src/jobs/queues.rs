//! Queues of records and parts: one for each party that was drawn, and those that wait for a draw.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use queens_model::Party;

use crate::by_method::ByMethod;

/// Queues that nobody looked at for longer than this were not served, so their parties are not late.
const LOOKED_AT: Duration = Duration::from_secs(2);

/// After a lost session, further losses with the same record or part are forgiven for this long.
const BREAK: Duration = Duration::from_secs(60);

/// The interval between checks of a queue's time: other parties may have been measured meanwhile.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// What waits to be drawn, and what waits for the party that was drawn: records to recount, or parts of a second pass.
#[derive(Clone, Debug)]
pub(crate) struct Queues<K> {
    undrawn: BTreeSet<K>,
    of: BTreeMap<Party, Queue<K>>,
    /// The party that was asked last whether it has capacity.
    asked: Option<Party>,
    /// When the queues were last checked for late parties.
    checked: Duration,
}

#[derive(Clone, Debug)]
struct Queue<K> {
    keys: BTreeSet<K>,
    /// Their estimated work.
    work: u128,
    /// All work that came into the queue since it was empty.
    total: u128,
    /// `None` if nobody has looked at it yet.
    time: Option<Time>,
    /// When its time was last checked.
    checked: Duration,
}

/// The time that a party has for a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    pub(crate) since: Duration,
    /// The work of all that the party had counted by then.
    pub(crate) counted: ByMethod<u128>,
    /// When it may be late.
    pub(crate) due: Duration,
}

/// A queue whose time must be checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToCheck {
    pub(crate) party: Party,
    pub(crate) total: u128,
    pub(crate) time: Option<Time>,
}

/// The first time that a party lost its lease of a record or a part with its session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Break(Option<Duration>);

impl Break {
    /// Notes that the party has lost a lease with its session. Returns whether that is a lapse: a party could hold a
    /// record for ever by reconnecting. All its sessions may break at about the same time.
    pub(crate) fn note(&mut self, now: Duration) -> bool {
        now.saturating_sub(*self.0.get_or_insert(now)) > BREAK
    }
}

impl<K> Default for Queues<K> {
    fn default() -> Self {
        Self { undrawn: BTreeSet::new(), of: BTreeMap::new(), asked: None, checked: Duration::ZERO }
    }
}

/// Queries.
impl<K: Ord + Copy> Queues<K> {
    /// Whether something waits for a party's worker.
    pub(crate) fn has_drawn(&self) -> bool {
        !self.of.is_empty()
    }

    /// Whether no party is drawn for something.
    pub(crate) fn has_undrawn(&self) -> bool {
        !self.undrawn.is_empty()
    }

    pub(crate) fn undrawn(&self) -> impl Iterator<Item = K> {
        self.undrawn.iter().copied()
    }

    /// Returns what waits for a party's worker, in order.
    pub(crate) fn queue(&self, party: Party) -> impl Iterator<Item = K> {
        self.of.get(&party).into_iter().flat_map(|queue| queue.keys.iter().copied())
    }

    /// Returns the estimated work of a party's queue.
    pub(crate) fn work(&self, party: Party) -> u128 {
        self.of.get(&party).map_or(0, |queue| queue.work)
    }

    /// Returns the parties with queues, from the one after the party that was asked last.
    pub(crate) fn parties(&self) -> impl Iterator<Item = Party> {
        let from = self.asked.map_or(Bound::Unbounded, Bound::Excluded);
        let to = self.asked.map_or(Bound::Excluded(Party::COORDINATOR), Bound::Included);
        let after = self.of.range((from, Bound::Unbounded));
        after.chain(self.of.range((Bound::Unbounded, to))).map(|(party, _)| *party)
    }
}

/// Changes.
impl<K: Ord + Copy> Queues<K> {
    /// Adds something that no party is drawn for.
    pub(crate) fn add_undrawn(&mut self, key: K) {
        self.undrawn.insert(key);
    }

    pub(crate) fn remove_undrawn(&mut self, key: K) {
        self.undrawn.remove(&key);
    }

    /// Adds something of this estimated work to a party's queue.
    pub(crate) fn add(&mut self, key: K, party: Party, work: u128) {
        self.insert(key, party, work, work);
    }

    /// Puts something of this estimated work back into a party's queue, from which it was taken. That gives the party no
    /// more time, unless the queue was empty meanwhile.
    pub(crate) fn put_back(&mut self, key: K, party: Party, work: u128) {
        let more = if self.of.contains_key(&party) { 0 } else { work };
        self.insert(key, party, work, more);
    }

    fn insert(&mut self, key: K, party: Party, work: u128, more: u128) {
        self.undrawn.remove(&key);
        let new = || Queue { keys: BTreeSet::new(), work: 0, total: 0, time: None, checked: Duration::ZERO };
        let queue = self.of.entry(party).or_insert_with(new);
        if queue.keys.insert(key) {
            queue.work = queue.work.saturating_add(work);
            queue.total = queue.total.saturating_add(more);
        }
    }

    /// Removes something of this estimated work from a party's queue, if it is in it.
    pub(crate) fn remove(&mut self, key: K, party: Party, work: u128) {
        let Some(queue) = self.of.get_mut(&party) else { return };
        if queue.keys.remove(&key) {
            queue.work = queue.work.saturating_sub(work);
        }
        if queue.keys.is_empty() {
            self.of.remove(&party);
        }
    }

    /// Gives a party time for its queue, from when it had none, and not less than before.
    pub(crate) fn give_time(&mut self, party: Party, time: Time) {
        if let Some(queue) = self.of.get_mut(&party) {
            let before = queue.time.get_or_insert(time);
            before.due = before.due.max(time.due);
        }
    }

    /// Gives a party no more time for its queue than until then.
    pub(crate) fn limit_time(&mut self, party: Party, due: Duration) {
        let time = self.of.get_mut(&party).and_then(|queue| queue.time.as_mut());
        time.into_iter().for_each(|time| time.due = time.due.min(due));
    }

    /// Notes that a party was asked whether it has capacity.
    pub(crate) fn note_asked(&mut self, party: Party) {
        self.asked = Some(party);
    }

    /// Returns the queues whose time is over, or was not checked for [`LOOK_AGAIN`]. Time in which nobody looked does not
    /// count, unless other jobs had their turn, for `round` at most.
    pub(crate) fn take_due(&mut self, now: Duration, round: Duration) -> Vec<ToCheck> {
        let unseen = now.saturating_sub(self.checked);
        self.checked = now;
        let due = self.of.iter_mut().filter_map(|(party, queue)| {
            if let Some(time) = queue.time.as_mut().filter(|_| unseen > LOOKED_AT + round) {
                // A new queue was not unseen for longer than it is there.
                let unseen = unseen.min(now.saturating_sub(time.since));
                (time.since, time.due) = (time.since + unseen, time.due.saturating_add(unseen));
            }
            let is_due = queue.time.is_none_or(|time| time.due < now) || now >= queue.checked + LOOK_AGAIN;
            is_due.then(|| {
                queue.checked = now;
                ToCheck { party: *party, total: queue.total, time: queue.time }
            })
        });
        due.collect()
    }
}
