//! The secret of one run of a coordinator, and the seeds and lease tokens derived from it.

use std::hash::Hasher;

use queens_model::{JobId, LeaseId};
use siphasher::sip128::{Hasher128, SipHasher24};

/// The secret of one run, drawn at random at each start. All other random values of the run are derived from it and
/// reveal nothing of it.
#[derive(Clone, Copy, Debug)]
pub struct Run(u128);

impl Run {
    /// Creates a run with this secret.
    #[must_use]
    pub const fn new(secret: u128) -> Self {
        Self(secret)
    }

    /// Returns the first lease token of this run.
    pub(crate) fn first_token(self) -> u64 {
        // This leaves room below 2^63, the limit of a database column.
        let half = self.draw("lease tokens", 0) >> 66;
        u64::try_from(half).unwrap_or_default()
    }

    /// Returns the secret of the lotteries that draw parties.
    pub(crate) fn draw_secret(self) -> u128 {
        self.draw("lotteries", 0)
    }

    /// Returns a new seed for a job.
    pub(crate) fn seed(self, job: JobId) -> u128 {
        self.draw("seed", job.0)
    }

    fn draw(self, what: &str, number: u64) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.0.to_be_bytes());
        hasher.write(what.as_bytes());
        hasher.write_u64(number);
        hasher.finish128().as_u128()
    }
}

/// The most tokens of one run of a coordinator: at a million a second, enough for twelve days.
const TOKENS_OF_A_RUN: u64 = 1 << 40;

/// The tokens of this run of the coordinator. They begin at a random number, so that two runs never share one.
#[derive(Debug)]
pub(crate) struct Tokens {
    first: u64,
    next: u64,
}

impl Tokens {
    /// Creates the tokens of a run.
    pub(crate) fn of(run: Run) -> Self {
        let first = run.first_token();
        Self { first, next: first }
    }

    /// Returns a token that was never used.
    pub(crate) fn draw(&mut self) -> LeaseId {
        let token = LeaseId(self.next);
        self.next += 1;
        token
    }

    /// Whether another run may have used a token: it is not reserved for this run, and fits a database column.
    pub(crate) fn may_be_of_another_run(&self, lease: LeaseId) -> bool {
        let number = lease.0.checked_sub(self.first);
        i64::try_from(lease.0).is_ok() && number.is_none_or(|number| number >= TOKENS_OF_A_RUN)
    }
}
