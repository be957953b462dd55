//! Reads stored records: the earlier count to compare a new one with, and records to recount.

use queens_ledger::Comparison;
use queens_ledger::store::StoreError;
use queens_ledger::store::draw::Draw;
use tracing::error;

use super::EventLoop;
use crate::metrics::Fate;

impl EventLoop {
    /// Looks up earlier counts. Sets aside jobs whose stored data differ from what was written. Errors are permanent.
    pub(super) fn look_up(&mut self, comparisons: &[Comparison], draws: &[Draw]) -> Result<(), StoreError> {
        match self.try_look_up(comparisons, draws) {
            Err(error) if error.may_heal() => {
                if let Some(left_out) = self.failed_reads.allows() {
                    error!(%error, left_out, "can't read the earlier count");
                }
                Ok(())
            }
            looked_up => looked_up,
        }
    }

    /// After a failure of the store, asks it nothing more: each answer may take long.
    fn try_look_up(&mut self, comparisons: &[Comparison], draws: &[Draw]) -> Result<(), StoreError> {
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

    /// Returns the store's answer. If a job is damaged, sets it aside and returns `None`.
    fn unless_damaged<T>(&mut self, answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match answer {
            Err(StoreError::DamagedJob { job, reason }) => {
                // Fails if an earlier state was restored, which contradicts everything in memory.
                self.store.confirm()?;
                self.core.set_aside(job, reason);
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }
}
