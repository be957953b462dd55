//! What has to happen in histories of two coordinators, or they would prove nothing.

use std::collections::BTreeMap;
use std::fmt;

/// Something that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sight {
    /// A coordinator took the lead after another process had it.
    Takeover,
    /// So it did while the one before was still running.
    TakeoverFromTheLiving,
    /// A coordinator goes on that was stopped while another took the lead.
    OldLeaderResumed,
    /// So it does in the middle of a transaction or of what it had to say after one.
    OldLeaderResumedInAStep,
    /// A coordinator was stopped between taking the lead and reading what is durable, and has lost it by then.
    LedTooLate,
    /// A transaction of one that leads no more was refused.
    LateWriteRefused,
    /// One that leads no more found that out by itself.
    LossNoticed,
    /// A worker said hello to a coordinator that led no more.
    OldLeaderJoined,
    /// It got leases from one.
    LeasedByOldLeader,
    /// It got a report acknowledged by one.
    AcknowledgedByOldLeader,
    /// It reported to one what it was granted by another that leads, in vain.
    DroppedByOldLeader,
    /// It told a new leader what it holds of another.
    LeaseTakenAlong,
    /// An operator asked one that led no more.
    OldLeaderAsked,
    /// An operator asked again for a job that another coordinator did not come to accept.
    JobAskedForAgain,
    /// A worker left and knew that its coordinator knows.
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

    /// In how many histories it happens, whatever the seeds are.
    const fn enough(self) -> u64 {
        match self {
            Self::AcknowledgedByOldLeader | Self::DroppedByOldLeader => 3000,
            _ => 300,
        }
    }
}

/// How often each was seen.
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

    /// What was never seen in so many histories, though it should have been.
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
