//! Situations that must occur in histories of two coordinators, or the histories would prove nothing.

use std::collections::BTreeMap;
use std::fmt;

/// A situation that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sight {
    /// A coordinator took the lead after another process had it.
    Takeover,
    /// It did so while the one before was still running.
    TakeoverFromTheLiving,
    /// A coordinator goes on after it was stopped while another took the lead.
    OldLeaderResumed,
    /// It does so in the middle of a transaction, or of the messages after one.
    OldLeaderResumedInAStep,
    /// A coordinator was stopped between taking the lead and reading the durable state, and has lost the lead by then.
    LedTooLate,
    /// A transaction of an old leader was refused.
    LateWriteRefused,
    /// An old leader noticed by itself that it leads no more.
    LossNoticed,
    /// A worker said hello to an old leader.
    OldLeaderJoined,
    /// A worker got leases from an old leader.
    LeasedByOldLeader,
    /// An old leader acknowledged a worker's report.
    AcknowledgedByOldLeader,
    /// A worker reported to an old leader, in vain, spans that the new leader had granted.
    DroppedByOldLeader,
    /// A worker told a new leader about a lease of another.
    LeaseTakenAlong,
    /// An operator asked an old leader.
    OldLeaderAsked,
    /// An operator asked again for a job that another coordinator was too late to accept.
    JobAskedForAgain,
    /// A worker left after its coordinator had answered its goodbye.
    GoodbyeAnswered,
}

impl Sight {
    const ALL: [Self; 15] = [
        Self::Takeover,
        Self::TakeoverFromTheLiving,
        Self::OldLeaderResumed,
        Self::OldLeaderResumedInAStep,
        Self::LedTooLate,
        Self::LateWriteRefused,
        Self::LossNoticed,
        Self::OldLeaderJoined,
        Self::LeasedByOldLeader,
        Self::AcknowledgedByOldLeader,
        Self::DroppedByOldLeader,
        Self::LeaseTakenAlong,
        Self::OldLeaderAsked,
        Self::JobAskedForAgain,
        Self::GoodbyeAnswered,
    ];

    /// Returns the number of histories in which it occurs, whatever the seeds are.
    const fn enough(self) -> u64 {
        match self {
            Self::AcknowledgedByOldLeader | Self::DroppedByOldLeader => 3000,
            _ => 300,
        }
    }
}

/// How often each situation occurred.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sights(BTreeMap<Sight, u64>);

impl Sights {
    pub(crate) fn see(&mut self, sight: Sight) {
        *self.0.entry(sight).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (&sight, n) in &other.0 {
            *self.0.entry(sight).or_default() += n;
        }
    }

    /// Returns the situations that should have occurred in this number of histories, and did not.
    pub(crate) fn missing(&self, n_histories: u64) -> Vec<Sight> {
        let is_due = |sight: &Sight| n_histories >= sight.enough();
        Sight::ALL.into_iter().filter(|sight| is_due(sight) && !self.0.contains_key(sight)).collect()
    }
}

impl fmt::Display for Sights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0).finish()
    }
}
