//! Who leads: of all coordinators of a database, the one that may write. The same rules as those of the row `lease`
//! there.

use std::time::Duration;

/// For how long the lead is taken, how often it is renewed, and how often others try to take it.
const TERM: Duration = Duration::from_secs(6);
pub(crate) const RENEWED: Duration = Duration::from_secs(2);
pub(crate) const RETRY: Duration = Duration::from_millis(500);

/// The row. Its times are by the store's clock, which is the only one that counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lead {
    epoch: u64,
    /// The last one that was given out, which stays so when an earlier state is put back: epochs are times.
    last_epoch: u64,
    expires: Option<Duration>,
}

/// Somebody else has taken the lead since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fenced;

impl Lead {
    /// Takes the lead, if nobody has it; its epoch.
    pub(crate) fn take(&mut self, now: Duration) -> Option<u64> {
        if self.expires.is_some_and(|expires| now <= expires) {
            return None;
        }
        self.last_epoch += 1;
        self.epoch = self.last_epoch;
        self.expires = Some(now + TERM);
        Some(self.epoch)
    }

    /// What an earlier state says, which is put back.
    pub(crate) fn put_back(&mut self, earlier: &Self) {
        *self = Self { last_epoch: self.last_epoch, ..earlier.clone() };
    }

    /// Holds it for another term, also if the last one has passed, as long as nobody else has taken it.
    pub(crate) fn renew(&mut self, now: Duration, epoch: u64) -> Result<(), Fenced> {
        self.hold(epoch)?;
        self.expires = Some(now + TERM);
        Ok(())
    }

    /// Lets somebody else lead at once.
    pub(crate) fn give_up(&mut self, epoch: u64) {
        if self.hold(epoch).is_ok() {
            self.expires = None;
        }
    }

    /// What every transaction begins with that writes.
    pub(crate) fn hold(&self, epoch: u64) -> Result<(), Fenced> {
        if self.is_of(epoch) { Ok(()) } else { Err(Fenced) }
    }

    /// Whether nobody has taken the lead since it was taken in this epoch.
    pub(crate) fn is_of(&self, epoch: u64) -> bool {
        self.epoch == epoch
    }
}
