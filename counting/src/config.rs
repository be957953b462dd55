//! What a worker is made of.

use std::num::NonZeroUsize;
use std::time::Duration;

use queens_model::Name;
use queens_solver::Kernel;

/// What a worker is.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name people know it by.
    pub name: Name,
    /// What it counts with.
    pub kernel: Kernel,
    /// How many threads count.
    pub n_threads: NonZeroUsize,
    /// How much of its time each thread counts.
    pub duty: Duty,
}

/// The share of its time that a thread counts, in percent, 1 to 100. It pauses for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duty(u8);

/// Longer pauses are cut short, so that a thread that is to end does so within a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Duty {
    /// A thread that never pauses.
    pub const FULL: Self = Self(100);

    /// This share, in percent; `None` unless it is 1 to 100.
    #[must_use]
    pub fn percent(percent: u8) -> Option<Self> {
        (1..=100).contains(&percent).then_some(Self(percent))
    }

    /// The pause after a chunk that took so long. Chunks shrink until they take a tenth of a second with their pauses.
    pub(crate) fn pause_after(self, counted: Duration) -> Duration {
        let pause = counted * u32::from(100 - self.0) / u32::from(self.0);
        pause.min(LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(percent: u8, counted_ms: u64, pause_ms: u64) {
        let duty = Duty::percent(percent).expect("a share");
        let pause = duty.pause_after(Duration::from_millis(counted_ms));
        assert_eq!(pause, Duration::from_millis(pause_ms), "{percent} % after {counted_ms} ms");
    }

    #[test]
    fn pauses_make_up_the_rest_of_the_time() {
        check(100, 100, 0);
        check(50, 100, 100);
        check(25, 30, 90);
        check(1, 1, 99);
        check(1, 100, 1000);
        assert_eq!((Duty::percent(0), Duty::percent(101)), (None, None));
    }
}
