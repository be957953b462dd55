//! Whether a store is still in the state in which its coordinator left it.
//!
//! Each state has a number, drawn at random by the transaction that makes it. A coordinator knows the number of the state
//! that its last transaction made, and each transaction compares it and sets the next. So a store that was put back to an
//! earlier state, or taken over by another, is found out before anything is written to it.

use thiserror::Error;

/// The states that a store may be in, as far as its coordinator knows.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    known: Option<i64>,
    /// That of a transaction whose answer is missing: it may have happened.
    attempted: Option<i64>,
}

/// A store is in a state that its coordinator has not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the database is not as this coordinator left it: an earlier state was put back, or another took its place"
)]
pub struct OtherState;

impl Lineage {
    /// The number of the state that the next transaction has to find; `None` if that is not settled: the store has to be
    /// asked, and the answer given to [`settle`](Self::settle).
    #[must_use]
    pub fn known(&self) -> Option<i64> {
        self.known.filter(|_| self.attempted.is_none())
    }

    /// A transaction is about to make this state of the known one.
    pub fn attempt(&mut self, next: i64) {
        self.attempted = Some(next);
    }

    /// It has.
    pub fn succeed(&mut self) {
        self.known = self.attempted.take().or(self.known);
    }

    /// No transaction is on its way any more, and the store is in this state.
    ///
    /// # Errors
    /// If that is neither the state it was in nor what the last transaction was to make of it.
    pub fn settle(&mut self, found: i64) -> Result<(), OtherState> {
        let is_ours = self.known.is_none_or(|known| known == found) || self.attempted == Some(found);
        if !is_ours {
            return Err(OtherState);
        }
        *self = Self { known: Some(found), attempted: None };
        Ok(())
    }

    /// Everything was read anew, in this state.
    pub fn begin(&mut self, found: i64) {
        *self = Self { known: Some(found), attempted: None };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_answer_is_settled_by_the_state() {
        for (found, settled) in [(1, Ok(())), (2, Ok(())), (3, Err(OtherState))] {
            let mut lineage = Lineage::default();
            assert_eq!(lineage.known(), None);
            lineage.settle(1).expect("nothing is known");
            lineage.attempt(2);
            assert_eq!(lineage.known(), None, "it may have happened");
            assert_eq!(lineage.settle(found), settled);
            assert_eq!(lineage.known(), settled.ok().map(|()| found));
        }
    }

    #[test]
    fn an_earlier_state_is_none_of_ours() {
        let mut lineage = Lineage::default();
        lineage.begin(1);
        lineage.attempt(2);
        lineage.succeed();
        assert_eq!((lineage.known(), lineage.settle(1)), (Some(2), Err(OtherState)));
        lineage.begin(1);
        assert_eq!(lineage.known(), Some(1));
    }
}
