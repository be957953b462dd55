//! The leader election of coordinators that share a database, with the rules of the row `lease` there.

use std::time::Duration;

/// The term of a lead, the interval of its renewal, and the interval at which others try to take it.
const TERM: Duration = Duration::from_secs(6);
pub(crate) const RENEWED: Duration = Duration::from_secs(2);
pub(crate) const RETRY: Duration = Duration::from_millis(500);

/// The row of the lead. Its times are by the store's clock, the only one that counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lead {
    epoch: u64,
    /// The last epoch that was used. It stays when an earlier state is restored, because real epochs are times.
    last_epoch: u64,
    expires: Option<Duration>,
}

/// Another coordinator has taken the lead since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fenced;

impl Lead {
    /// Takes the lead, if nobody has it, and returns its epoch.
    pub(crate) fn take(&mut self, now: Duration) -> Option<u64> {
        if self.expires.is_some_and(|expires| now <= expires) {
            return None;
        }
        self.last_epoch += 1;
        self.epoch = self.last_epoch;
        self.expires = Some(now + TERM);
        Some(self.epoch)
    }

    /// Restores the row of an earlier state.
    pub(crate) fn put_back(&mut self, earlier: &Self) {
        *self = Self { last_epoch: self.last_epoch, ..earlier.clone() };
    }

    /// Renews the lead for another term, even after the last one has expired, unless another has taken it.
    pub(crate) fn renew(&mut self, now: Duration, epoch: u64) -> Result<(), Fenced> {
        self.hold(epoch)?;
        self.expires = Some(now + TERM);
        Ok(())
    }

    /// Lets another coordinator lead at once.
    pub(crate) fn give_up(&mut self, epoch: u64) {
        if self.hold(epoch).is_ok() {
            self.expires = None;
        }
    }

    /// Checks the lead at the start of every transaction that writes.
    pub(crate) fn hold(&self, epoch: u64) -> Result<(), Fenced> {
        if self.is_of(epoch) { Ok(()) } else { Err(Fenced) }
    }

    /// Whether nobody has taken the lead since this epoch.
    pub(crate) fn is_of(&self, epoch: u64) -> bool {
        self.epoch == epoch
    }
}
