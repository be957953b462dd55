//! How a party of liars and their friends may act.

use std::time::Duration;

use super::random::Random;

/// What a friend does with a lease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    /// Counts truthfully, as fast as an honest worker.
    Count,
    /// Reports at once, and claims this duration.
    Fake(Duration),
    /// Ends the lease without a count.
    GiveBack,
    /// Reports that the span can't be counted.
    Fail,
    /// Keeps the lease and reports nothing.
    Hold,
    /// Reports after this duration.
    Late(Duration),
    /// Reports the first span of a lease at once, and gives the rest back.
    FirstSpan,
}

pub(crate) const FAKE: Action = Action::Fake(Duration::from_micros(1));
pub(crate) const SLOW_FAKE: Action = Action::Fake(Duration::from_secs(1));

/// What a friend reports in recounts of friends' records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Backing {
    /// He repeats them.
    All,
    /// He repeats one lie, and otherwise reports the truth.
    One,
    /// He treats them like other recounts.
    Nothing,
}

/// When a friend is connected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Presence {
    Always,
    /// From when everything is recorded.
    Late,
    /// He leaves and returns at random, under new names.
    Restless,
}

/// How a friend acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Play {
    /// The speed that he claims, in work units per second.
    pub(crate) claim: u64,
    pub(crate) n_threads: u32,
    pub(crate) n_workers: u64,
    /// The action until everything is recorded.
    pub(crate) first: Action,
    /// The action in recounts.
    pub(crate) again: Action,
    pub(crate) backing: Backing,
    pub(crate) presence: Presence,
    /// The most records that are lies.
    pub(crate) most_lies: usize,
    /// How many of a hundred leases start with a lie.
    pub(crate) lie_percent: u64,
    /// The length of the longest span that he lies about.
    pub(crate) longest_lie: u64,
    /// Whether he connects before the honest workers.
    pub(crate) is_first: bool,
    /// Until this second he returns all leases but five; then he reports the others at once.
    pub(crate) pauses_until: Option<u64>,
}

impl Play {
    /// A worker that counts truthfully, but repeats the lies of friends.
    pub(crate) const WORKER: Self = Self {
        claim: 1000,
        n_threads: 1,
        n_workers: 1,
        first: Action::Count,
        again: Action::Count,
        backing: Backing::All,
        presence: Presence::Always,
        most_lies: 0,
        lie_percent: 30,
        longest_lie: u64::MAX,
        is_first: false,
        pauses_until: None,
    };

    pub(crate) const LIAR: Self = Self { most_lies: 1, ..Self::WORKER };

    pub(crate) fn random(random: &mut Random) -> Self {
        let late = Action::Late(Duration::from_secs(random.between(1, 40)));
        let slow = Action::Fake(Duration::from_secs(100));
        let (count, give_back) = (Action::Count, Action::GiveBack);
        let (fail, hold, first_span) = (Action::Fail, Action::Hold, Action::FirstSpan);
        let first = [count, count, FAKE, SLOW_FAKE, slow, give_back, fail, hold, late, first_span];
        let again = [count, FAKE, give_back, fail, hold, late];
        let (always, restless) = (Presence::Always, Presence::Restless);
        Self {
            claim: random.pick(&[1, 100, 1000, 10_000, 1_000_000, 10_000_000_000_000]).expect("not empty"),
            n_threads: 1 << random.below(12),
            n_workers: random.between(1, 3),
            first: random.pick(&first).expect("not empty"),
            again: random.pick(&again).expect("not empty"),
            backing: random.pick(&[Backing::All, Backing::One, Backing::Nothing]).expect("not empty"),
            presence: random.pick(&[always, always, Presence::Late, restless]).expect("not empty"),
            most_lies: random.pick(&[0, 1, 2, 3, 4, 5]).expect("not empty"),
            lie_percent: 50,
            is_first: random.percent(20),
            ..Self::WORKER
        }
    }
}

/// Freedoms of friends beside their workers' actions: restarts of the coordinator, claims, and more urgent jobs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scheme {
    /// The liar lies in parts in which all honest parties have records and his friend has none.
    pub(crate) dodges: bool,
    /// The coordinator restarts once all is recorded. Friends come back at once, honest workers after this time.
    pub(crate) restart: Option<Duration>,
    /// After the restart, a friend claims to hold the parts with lies.
    pub(crate) adopts: bool,
    /// Friends report one span of a lease that has ended with this duration, and hold all recounts.
    pub(crate) slow: Option<Duration>,
    /// A more urgent job by halves has this many times the work of others.
    pub(crate) halves: Option<u64>,
    /// The liar lies only in the last quarter of the parts, of the last job.
    pub(crate) late_lies: bool,
    /// For how long the coordinator has been running already, in seconds.
    pub(crate) uptime: u64,
}
