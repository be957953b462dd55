//! Lease tokens, and who gave them out.

use queens_messages::LeaseId;

/// The tokens of this ledger and of those that were stored before it. No token is given out twice.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// The first token ever given out for these jobs. Those from `first` to `next` are of this ledger or of one that
    /// was stored before it. All others are of other coordinators, whose jobs may have the same numbers.
    first: u64,
    /// The first that this ledger could give out.
    first_here: u64,
    next: u64,
    /// The epoch after this one, to be made durable before the first lease is granted.
    unclaimed_epoch: Option<u32>,
}

impl Tokens {
    /// Those of a ledger of this epoch, whose jobs were first leased in `first_epoch`.
    pub(crate) fn new(first_epoch: u32, epoch: u32) -> Self {
        Self {
            first: u64::from(first_epoch) << 32,
            first_here: u64::from(epoch) << 32,
            next: u64::from(epoch) << 32,
            unclaimed_epoch: Some(epoch.saturating_add(1)),
        }
    }

    /// A token that nobody has had. With the first one comes the next epoch, which has to be durable before anybody
    /// hears of the token.
    pub(crate) fn draw(&mut self) -> (LeaseId, Option<u32>) {
        let token = LeaseId(self.next);
        self.next += 1;
        (token, self.unclaimed_epoch.take())
    }

    /// Whether a token was given out here or by a ledger that this one follows. What is counted under any other token
    /// may be of another board: a worker outlives its coordinator, and the next one at that address may have other jobs
    /// of the same numbers.
    pub(crate) fn has(&self, lease: LeaseId) -> bool {
        (self.first..self.next).contains(&lease.0)
    }

    /// Whether a token was given out by a ledger that this one follows.
    pub(crate) fn has_from_before(&self, lease: LeaseId) -> bool {
        (self.first..self.first_here).contains(&lease.0)
    }
}
