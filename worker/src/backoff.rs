//! Backoff between a worker's attempts to connect.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// The first and the longest pause between attempts, in exponential growth. Random jitter adds up to once the pause, so
/// that thousands of workers that lost their coordinator together do not reconnect together. No pause reaches half a
/// minute.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(12));

/// The initial pauses with several coordinators: another one takes over within seconds. No pause reaches two seconds.
const SHORT_PAUSES: (Duration, Duration) = (PAUSES.0, Duration::from_secs(1));

/// How long pauses remain short.
const SHORTLY: Duration = Duration::from_secs(30);

/// The pauses of a worker without a connection, between rounds that try each coordinator once.
#[derive(Debug)]
pub struct Backoff {
    are_several: bool,
    short: ExponentialBackoff,
    long: ExponentialBackoff,
}

impl Backoff {
    /// Starts the backoff, for one coordinator or for several.
    #[must_use]
    pub fn new(are_several: bool) -> Self {
        let from = if are_several { SHORT_PAUSES.1 } else { PAUSES.0 };
        Self { are_several, short: growing(SHORT_PAUSES.0, SHORT_PAUSES.1), long: growing(from, PAUSES.1) }
    }

    /// Returns whether pauses are short: another coordinator should lead soon `after` the last one was lost.
    #[must_use]
    pub fn are_short(&self, after: Duration) -> bool {
        self.are_several && after < SHORTLY
    }

    /// Returns the next pause, at time `after` since the last coordinator was lost.
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

    /// Returns all pauses that end by this time, and their total.
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
