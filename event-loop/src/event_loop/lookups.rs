//! Looks up in the store what was counted before.

use queens_ledger::Comparison;
use queens_ledger::store::StoreError;
use queens_ledger::store::draw::Draw;

use super::EventLoop;
use crate::metrics::Fate;

impl EventLoop {
    /// Looks up what was counted before, and sets aside jobs of which something else is stored than was written. A store
    /// that can't be reached is asked once: each answer may be long in coming.
    pub(super) fn look_up(&mut self, comparisons: &[Comparison], draws: &[Draw]) -> Result<(), StoreError> {
        for comparison in comparisons {
            let found = self.store.find(comparison.job, comparison.second.span);
            let Some(recorded) = self.unless_damaged(found)? else { continue };
            let fate = Fate::of_repeated(comparison.second.count, recorded.as_ref());
            self.counters.add_spans(fate, 1);
            self.core.compared(comparison, recorded);
        }
        for draw in draws {
            let drawn = self.store.draw(draw);
            if let Some(drawn) = self.unless_damaged(drawn)? {
                self.core.drawn(draw, drawn);
            }
        }
        Ok(())
    }

    /// What the store has answered, or `None` if it says that a job is damaged, which is set aside then.
    fn unless_damaged<T>(&mut self, answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match answer {
            Err(StoreError::DamagedJob { job, reason }) => {
                // Unless an earlier state was put back, which contradicts all that is in memory.
                self.store.confirm()?;
                self.core.set_aside(job, reason);
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }
}
