//! Limits the rate of log lines that any client can cause.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of lines in a period, and its length.
const MOST_LINES: u64 = 10;
const PERIOD: Duration = Duration::from_secs(10);

/// Decides whether one kind of line may be logged: ten in ten seconds.
#[derive(Debug, Default)]
pub struct LogThrottle(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    /// The start of the period, if one has begun.
    began: Option<Instant>,
    n_logged: u64,
    n_left_out: u64,
}

impl LogThrottle {
    /// Returns whether a line may be logged now, and then the number of lines that were left out before it.
    pub fn allows(&self) -> Option<u64> {
        self.allows_at(Instant::now())
    }

    fn allows_at(&self, now: Instant) -> Option<u64> {
        // Holders of the lock leave no inconsistent state, even if they panic.
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.began.is_none_or(|began| now.duration_since(began) >= PERIOD) {
            (lines.began, lines.n_logged) = (Some(now), 0);
        }
        if lines.n_logged == MOST_LINES {
            lines.n_left_out += 1;
            return None;
        }
        lines.n_logged += 1;
        Some(std::mem::take(&mut lines.n_left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_ten_lines_and_a_number() {
        let (throttle, now) = (LogThrottle::default(), Instant::now());
        let allowed = (0..1000).filter(|_| throttle.allows_at(now) == Some(0)).count();
        assert_eq!(allowed, 10);
        let later = now + PERIOD;
        assert_eq!([throttle.allows_at(later), throttle.allows_at(later)], [Some(990), Some(0)]);
    }
}
