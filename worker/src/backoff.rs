//! How long a worker waits before it tries again.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// Pauses between attempts grow from the first to the second, and each is longer by any share of itself, so that
/// thousands of workers that lost their coordinator together do not come back together. Nobody waits for half a minute.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(12));

/// The same where there are other coordinators, at first: one of them takes over within seconds. Nobody waits for two.
const SHORT_PAUSES: (Duration, Duration) = (PAUSES.0, Duration::from_secs(1));

/// For how long pauses are short.
const SHORTLY: Duration = Duration::from_secs(30);

/// The pauses of a worker between rounds in which it tries each coordinator, since it has lost one.
#[derive(Debug)]
pub struct Backoff {
    are_several: bool,
    short: ExponentialBackoff,
    long: ExponentialBackoff,
}

impl Backoff {
    /// Where there are several coordinators, or one.
    #[must_use]
    pub fn new(are_several: bool) -> Self {
        let from = if are_several { SHORT_PAUSES.1 } else { PAUSES.0 };
        Self { are_several, short: growing(SHORT_PAUSES.0, SHORT_PAUSES.1), long: growing(from, PAUSES.1) }
    }

    /// Whether another coordinator should lead soon, so long after the last was lost.
    #[must_use]
    pub fn are_short(&self, after: Duration) -> bool {
        self.are_several && after < SHORTLY
    }

    /// The next one, so long after the last was lost.
    pub fn next(&mut self, after: Duration) -> Duration {
        if self.are_short(after) {
            self.short.next().unwrap_or(SHORT_PAUSES.1)
        } else {
            self.long.next().unwrap_or(PAUSES.1)
        }
    }
}

fn growing(from: Duration, to: Duration) -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(from)
        .with_max_delay(to)
        .without_max_times()
        .with_jitter()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pauses that end in this time, and how long they took.
    fn until(pauses: &mut Backoff, end: Duration) -> (Vec<Duration>, Duration) {
        let (mut taken, mut after) = (vec![], Duration::ZERO);
        while after < end {
            taken.push(pauses.next(after));
            after = taken.iter().sum();
        }
        (taken, after)
    }

    #[test]
    fn where_another_may_lead_pauses_are_short_for_half_a_minute_and_grow_then() {
        let mut pauses = Backoff::new(true);
        let (first, after) = until(&mut pauses, SHORTLY);
        assert!(first.len() >= 14 && first.iter().all(|pause| *pause <= Duration::from_secs(2)), "{first:?}");
        assert!(!pauses.are_short(after));
        let later: Vec<Duration> = (0..5).map(|_| pauses.next(after)).collect();
        assert!(later[0] <= 2 * SHORT_PAUSES.1 && later[4] >= PAUSES.1, "{later:?}");
    }

    #[test]
    fn where_there_is_nobody_else_they_grow_from_the_start() {
        let mut pauses = Backoff::new(false);
        let (all, after) = until(&mut pauses, Duration::from_secs(60));
        assert!(!pauses.are_short(Duration::ZERO) && all[0] <= 2 * PAUSES.0, "{all:?}");
        assert!(pauses.next(after) >= PAUSES.1, "{all:?}");
    }
}
