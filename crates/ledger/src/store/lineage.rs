//! Detects whether a store is still in the state in which its coordinator left it.
//!
//! Each state has a number, which the transaction that makes it draws at random. Each transaction of a coordinator
//! compares the current number with that of its last transaction, and sets the next. So it detects, before any write, a
//! store that was put back to an earlier state or taken over by another coordinator.

use thiserror::Error;

/// The states that a store may be in, as far as its coordinator knows.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    known: Option<i64>,
    /// The state of a transaction whose answer is missing: it may have happened.
    attempted: Option<i64>,
}

/// The error for a store in a state that its coordinator has not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the database is not as this coordinator left it: an earlier state was put back, or another took its place"
)]
pub struct OtherState;

impl Lineage {
    /// Returns the number of the state that the next transaction must find. Returns `None` if it is uncertain: the
    /// caller must ask the store and pass the answer to [`settle`](Self::settle).
    #[must_use]
    pub fn known(&self) -> Option<i64> {
        self.known.filter(|_| self.attempted.is_none())
    }

    /// Notes that a transaction is about to replace the known state by this one.
    pub fn attempt(&mut self, next: i64) {
        self.attempted = Some(next);
    }

    /// Notes that the transaction succeeded.
    pub fn succeed(&mut self) {
        self.known = self.attempted.take().or(self.known);
    }

    /// Sets the state in which the store was found, with no transaction in flight.
    ///
    /// # Errors
    /// If it is neither the known state nor that of the last transaction.
    pub fn settle(&mut self, found: i64) -> Result<(), OtherState> {
        let is_ours = self.known.is_none_or(|known| known == found) || self.attempted == Some(found);
        if !is_ours {
            return Err(OtherState);
        }
        *self = Self { known: Some(found), attempted: None };
        Ok(())
    }

    /// Starts from this state, after everything was read anew.
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
