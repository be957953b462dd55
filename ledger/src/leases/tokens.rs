//! Lease tokens.

use queens_model::LeaseId;

use crate::run::Run;

/// The tokens that one run of a coordinator may give out: at a million a second, enough for twelve days.
const TOKENS_OF_A_RUN: u64 = 1 << 40;

/// The tokens of this run of the coordinator. They begin at a random place, so that those of two runs never meet.
#[derive(Debug)]
pub(crate) struct Tokens {
    first: u64,
    next: u64,
}

impl Tokens {
    /// Those of a run.
    pub(crate) fn of(run: Run) -> Self {
        let first = run.first_token();
        Self { first, next: first }
    }

    /// Draws a token that nobody has had.
    pub(crate) fn draw(&mut self) -> LeaseId {
        let token = LeaseId(self.next);
        self.next += 1;
        token
    }

    /// Whether another run may have given out a token: it is not one that this run alone may give out, and fits a column.
    pub(crate) fn may_be_of_another_run(&self, lease: LeaseId) -> bool {
        let number = lease.0.checked_sub(self.first);
        i64::try_from(lease.0).is_ok() && number.is_none_or(|number| number >= TOKENS_OF_A_RUN)
    }
}
