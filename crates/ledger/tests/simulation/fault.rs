//! The faults of a history: a limited number, each of a kind and at a time drawn beforehand.

use std::collections::BTreeMap;
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::time::Duration;

use super::random::Random;
use super::sight::Sights;

/// The most faults of one history.
const MOST: u64 = 14;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// One direction of a link delays its messages for a while.
    Delay,
    /// A report is delivered again, some time after the first time.
    Duplicate,
    /// A link breaks. Its two ends notice at different times, and the worker connects again.
    LinkLost,
    /// A worker is cut off for good.
    Partition,
    /// A worker dies and loses all that it has not reported; another may take its place.
    Crash,
    /// A worker does nothing for up to a minute, then goes on.
    Stall,
    /// The threads of a worker do nothing for a while, but its session goes on.
    Stuck,
    /// A worker becomes much slower or faster.
    Speed,
    /// A worker sends an impossible report.
    CorruptReport,
    /// A worker claims impossible leases in its next hello.
    CorruptHello,
    /// A worker contradicts a record.
    Lie,
    /// A worker reports spans that it was not asked to count.
    Unsolicited,
    /// The coordinator's clock jumps.
    ClockJump,
    /// The coordinator dies between two steps.
    Restart,
    /// The coordinator dies after a commit, before it has sent all its messages.
    RestartAfterCommit,
    /// Some commits fail.
    CommitFails,
    /// Some commits fail, though their writes are durable.
    CommitFailsLate,
    /// A worker leaves in good order.
    Leave,
    /// The second job is cancelled.
    Cancel,
    /// A job is paused for a while.
    Pause,
    /// The priority of a job changes.
    Priority,
    /// All workers of a name are drained, and others take their places.
    Drain,
    /// A name is blocked for a while.
    Block,
    /// A worker fails to count a chunk.
    Failure,
    /// A worker reports wrong counts of spans that it was not granted, or has reported, under any token.
    Liar,
    /// A worker claims leases of others, or spans that it was not granted, in its next hello.
    Impostor,
    /// A worker reports a failure for each subproblem that it holds.
    Flood,
    /// A coordinator is stopped for a while, between two steps.
    Freeze,
    /// It is stopped before its next commit.
    FreezeBeforeCommit,
    /// It is stopped after its next commit, before it has sent all its messages.
    FreezeAfterCommit,
    /// A coordinator can't reach the store for a while.
    CutOff,
    /// Some workers can't reach a coordinator for a while.
    CutOffFromWorkers,
    /// A coordinator ends in good order, and lets another lead at once.
    Retire,
    /// The state of the store is saved.
    Backup,
    /// The last saved state, or an empty store, is restored: under running coordinators, or while they are down.
    GoBack,
}

impl Fault {
    /// The faults where one coordinator may take the lead from another.
    const OF_LEADERS: [Self; 10] = [
        Self::Freeze,
        Self::FreezeBeforeCommit,
        Self::FreezeAfterCommit,
        Self::CutOff,
        Self::CutOffFromWorkers,
        Self::Retire,
        Self::Restart,
        Self::CommitFailsLate,
        Self::Backup,
        Self::GoBack,
    ];

    /// The faults of any coordinator.
    const ALL: [Self; 29] = [
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
        Self::Pause,
        Self::Priority,
        Self::Drain,
        Self::Block,
        Self::Failure,
        Self::Liar,
        Self::Impostor,
        Self::Flood,
        Self::Backup,
        Self::GoBack,
    ];
}

/// Draws the faults of a history of two coordinators, unordered: half of them concern the lead.
pub(crate) fn draw_of_two(random: &mut Random) -> Vec<(Duration, Fault)> {
    let favourite = random.pick(&Fault::OF_LEADERS).filter(|_| random.percent(40));
    let budget = random.between(1, MOST);
    let one = |_| {
        let kinds = if random.percent(50) { &Fault::OF_LEADERS[..] } else { &Fault::ALL };
        let any = random.pick(kinds).expect("not empty");
        let fault = favourite.filter(|_| random.percent(40)).unwrap_or(any);
        (random.ms(0, 45_000), fault)
    };
    (0..budget).map(one).collect()
}

/// Draws the faults of a history, unordered.
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

/// The subset of a history's faults to inflict, by their numbers in the order of drawing; all by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Option<Vec<u64>>);

impl Faults {
    pub(crate) fn has(&self, number: u64) -> bool {
        self.0.as_ref().is_none_or(|kept| kept.contains(&number))
    }

    /// Returns a minimal subset with which a history still fails, if it fails with all of them.
    pub(crate) fn fewest(&self, fails: impl Fn(&Self) -> bool) -> Self {
        let all: Vec<u64> = (0..MOST).filter(|&number| self.has(number)).collect();
        let first = |n: usize| Self(Some(all[..n].to_vec()));
        let Some(mut fewest) = (0..=all.len()).map(first).find(|some| fails(some)) else {
            return first(all.len());
        };
        for number in all {
            let without = |kept: &Vec<u64>| kept.iter().copied().filter(|&other| other != number).collect();
            let fewer = Self(fewest.0.as_ref().map(without));
            if fewest.has(number) && fails(&fewer) {
                fewest = fewer;
            }
        }
        fewest
    }
}

/// For example `0,3,12`.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().flatten().map(u64::to_string).collect();
        f.write_str(&numbers.join(","))
    }
}

impl FromStr for Faults {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let numbers = text.split(',').filter(|number| !number.is_empty()).map(str::parse);
        Ok(Self(Some(numbers.collect::<Result<_, _>>()?)))
    }
}

/// The number of faults of each kind, and their consequences.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) sights: Sights,
    faults: BTreeMap<Fault, u64>,
}

impl Tally {
    pub(crate) fn count(&mut self, fault: Fault) {
        *self.faults.entry(fault).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (&fault, n) in &other.faults {
            *self.faults.entry(fault).or_default() += n;
        }
        self.sights.add(&other.sights);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_faults: u64 = self.faults.values().sum();
        write!(f, "{n_faults} faults: ")?;
        f.debug_map().entries(&self.faults).finish()
    }
}
