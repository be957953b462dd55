//! Configuration of a worker: name, kernel, threads and CPU share.

use std::num::NonZeroUsize;
use std::time::Duration;

use queens_gpu::CardId;
use queens_model::Name;
use queens_solver::Kernel;

/// A worker's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name shown to people.
    pub name: Name,
    /// The kernel that counts.
    pub kernel: Kernel,
    /// Number of counting threads, unless cards count.
    pub n_threads: NonZeroUsize,
    /// Cards that count instead of the processor's threads. The kernel counts what cards can't.
    pub cards: Vec<CardId>,
    /// The share of its time that each thread counts.
    pub duty: Duty,
}

impl Config {
    /// Returns the name of what counts: the kernel's, or that of the cards' driver.
    pub(crate) fn counter_name(&self) -> &'static str {
        self.cards.first().map_or(self.kernel.name(), |card| card.driver())
    }
}

/// The share of its time that a thread counts, in percent, 1 to 100. It pauses for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duty(u8);

/// The longest pause. It lets a stopping thread end within a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Duty {
    /// A thread that never pauses.
    pub const FULL: Self = Self(100);

    /// Returns this share in percent; `None` unless it is 1 to 100.
    #[must_use]
    pub fn percent(percent: u8) -> Option<Self> {
        (1..=100).contains(&percent).then_some(Self(percent))
    }

    /// Returns the pause after a chunk that took `counted`. The chunk size adapts until chunk and pause together take a
    /// tenth of a second.
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
