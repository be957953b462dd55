//! Predicts how long a batch takes.

use std::time::Duration;

/// How long batches take, by the last ones.
pub(crate) struct Pace {
    /// For each set.
    of_set: Duration,
}

impl Pace {
    pub(crate) const fn new(of_set: Duration) -> Self {
        Self { of_set }
    }

    /// Returns the time that a batch of some sets is expected to take.
    pub(crate) fn of_sets(&self, n_sets: usize) -> Duration {
        self.of_set.saturating_mul(u32::try_from(n_sets).unwrap_or(u32::MAX))
    }

    /// Learns from a batch. A part of a set, as in a check, says little of whole ones, and some sets hold nothing.
    pub(crate) fn learn(&mut self, taken: Duration, n_sets: usize, is_partial: bool) {
        let of_set = taken / u32::try_from(n_sets).unwrap_or(u32::MAX).max(1);
        self.of_set = of_set.max(if is_partial { self.of_set } else { self.of_set / 2 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_batch_does_not_hide_that_sets_take_long() {
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(50));
        for _ in 0..20 {
            pace.learn(ms(200), 100, false);
        }
        assert_eq!(pace.of_sets(100), ms(200));
        // A check of one subproblem, and sets that hold nothing.
        pace.learn(ms(1), 1, true);
        assert_eq!(pace.of_sets(100), ms(200));
        pace.learn(ms(1), 1, false);
        assert_eq!(pace.of_sets(100), ms(100));
        pace.learn(ms(30), 1, true);
        assert_eq!(pace.of_sets(100), ms(3000));
    }
}
