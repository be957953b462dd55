//! What goes wrong in a history: a counted number of faults, each of a kind and at a time drawn beforehand.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::random::Random;

/// Most faults of one history.
const MOST: u64 = 14;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// One direction of a link holds its messages back for a while.
    Delay,
    /// A report is delivered again, some time after the first time.
    Duplicate,
    /// A link breaks; its two ends find out in their own time, and the worker connects again.
    LinkLost,
    /// A worker is cut off for good.
    Partition,
    /// A worker dies with all it has not reported; another may take its place.
    Crash,
    /// A worker does nothing for up to a minute, then goes on.
    Stall,
    /// The threads of a worker do nothing for a while, and its session goes on.
    Stuck,
    /// A worker becomes much slower or faster.
    Speed,
    /// A worker reports what can't be.
    CorruptReport,
    /// A worker says at its next hello that it holds what can't be.
    CorruptHello,
    /// A worker contradicts a record.
    Lie,
    /// A worker reports what nobody asked it for.
    Unsolicited,
    /// The coordinator's clock jumps.
    ClockJump,
    /// The coordinator dies between two steps.
    Restart,
    /// The coordinator dies after a commit, with some of its messages not sent.
    RestartAfterCommit,
    /// Some commits fail.
    CommitFails,
    /// Some commits fail, though what they wrote is durable.
    CommitFailsLate,
    /// A worker leaves in good order.
    Leave,
    /// The second job is given up.
    Cancel,
}

impl Fault {
    const ALL: [Self; 19] = [
        Self::Delay,
        Self::Duplicate,
        Self::LinkLost,
        Self::Partition,
        Self::Crash,
        Self::Stall,
        Self::Stuck,
        Self::Speed,
        Self::CorruptReport,
        Self::CorruptHello,
        Self::Lie,
        Self::Unsolicited,
        Self::ClockJump,
        Self::Restart,
        Self::RestartAfterCommit,
        Self::CommitFails,
        Self::CommitFailsLate,
        Self::Leave,
        Self::Cancel,
    ];
}

/// The faults of a history in no order, of which a smaller budget takes the first.
pub(crate) fn draw(random: &mut Random) -> Vec<(Duration, Fault)> {
    // Some histories have one favourite, so that several faults of one kind come together.
    let favourite = random.pick(&Fault::ALL).filter(|_| random.percent(40));
    let budget = random.between(0, MOST);
    let one = |_| {
        let any = random.pick(&Fault::ALL).expect("not empty");
        let fault = favourite.filter(|_| random.percent(50)).unwrap_or(any);
        (random.ms(0, 25_000), fault)
    };
    (0..budget).map(one).collect()
}

/// How many faults of each kind there were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(BTreeMap<Fault, u64>);

impl Tally {
    pub(crate) fn count(&mut self, fault: Fault) {
        *self.0.entry(fault).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (&fault, n) in &other.0 {
            *self.0.entry(fault).or_default() += n;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0).finish()
    }
}
