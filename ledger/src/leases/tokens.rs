//! Lease tokens.

use queens_model::LeaseId;

use crate::run::Run;

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
