//! Monitors whether the event loop keeps up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A step of the event loop that takes longer is reported, because all senders of commands wait that long.
pub(crate) const SLOW: Duration = Duration::from_millis(250);

/// The timing of the event loop, shared between threads.
#[derive(Clone, Debug)]
pub struct LoopMonitor {
    started: Instant,
    /// The start of the present step: microseconds since `started`, plus one; 0 while the loop waits for commands.
    step_began: Arc<AtomicU64>,
    /// The last contact with a worker, in microseconds since `started`.
    heard: Arc<AtomicU64>,
    longest: Arc<Mutex<Longest>>,
}

/// The longest steps of this minute and of the previous one.
#[derive(Debug, Default)]
struct Longest {
    minute: u64,
    now: Duration,
    before: Duration,
}

impl Longest {
    /// Advances to a minute, counted from the start.
    fn turn_to(&mut self, minute: u64) {
        if minute != self.minute {
            self.before = if minute == self.minute + 1 { self.now } else { Duration::ZERO };
            (self.minute, self.now) = (minute, Duration::ZERO);
        }
    }
}

impl LoopMonitor {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            step_began: Arc::default(),
            heard: Arc::default(),
            longest: Arc::default(),
        }
    }

    /// Marks the start of a step.
    pub(crate) fn begin(&self) {
        self.step_began.store(self.now() + 1, Ordering::Relaxed);
    }

    /// Marks the end of the step, and returns its duration.
    pub(crate) fn end(&self) -> Duration {
        let took = self.since(self.step_began.swap(0, Ordering::Relaxed)).unwrap_or_default();
        self.with_longest(|longest| longest.now = longest.now.max(took));
        took
    }

    /// Marks a contact with a worker.
    pub(crate) fn note_contact(&self) {
        self.heard.store(self.now(), Ordering::Relaxed);
    }

    /// Returns the time since the last contact with a worker.
    #[must_use]
    pub fn since_worker_contact(&self) -> Duration {
        Duration::from_micros(self.now().saturating_sub(self.heard.load(Ordering::Relaxed)))
    }

    /// Returns the time since the coordinator started.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the duration of the longest step in the last minute or two, the present one included.
    pub(crate) fn slowest(&self) -> Duration {
        let done = self.with_longest(|longest| longest.now.max(longest.before));
        done.max(self.since(self.step_began.load(Ordering::Relaxed)).unwrap_or_default())
    }

    fn with_longest<T>(&self, look: impl FnOnce(&mut Longest) -> T) -> T {
        let mut longest = self.longest.lock();
        longest.turn_to(self.uptime().as_secs() / 60);
        look(&mut longest)
    }

    /// Returns the duration of the present step, if that is long.
    #[must_use]
    pub fn busy(&self) -> Option<Duration> {
        self.since(self.step_began.load(Ordering::Relaxed)).filter(|busy| *busy >= SLOW)
    }

    fn since(&self, began: u64) -> Option<Duration> {
        let began = began.checked_sub(1)?;
        Some(Duration::from_micros(self.now().saturating_sub(began)))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_is_slow_while_it_lasts() {
        let loop_monitor = LoopMonitor::new();
        assert_eq!(loop_monitor.busy(), None);
        loop_monitor.begin();
        tokio::time::advance(SLOW - Duration::from_millis(1)).await;
        assert_eq!(loop_monitor.busy(), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(loop_monitor.busy(), Some(SLOW));
        assert_eq!((loop_monitor.slowest(), loop_monitor.end(), loop_monitor.busy()), (SLOW, SLOW, None));
    }

    #[tokio::test(start_paused = true)]
    async fn the_slowest_step_is_forgotten_after_two_minutes() {
        let loop_monitor = LoopMonitor::new();
        loop_monitor.begin();
        tokio::time::advance(SLOW).await;
        loop_monitor.end();
        tokio::time::advance(Duration::from_secs(60)).await;
        loop_monitor.begin();
        assert_eq!((loop_monitor.end(), loop_monitor.slowest()), (Duration::ZERO, SLOW));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(
            (loop_monitor.slowest(), loop_monitor.uptime()),
            (Duration::ZERO, SLOW + Duration::from_secs(120))
        );
    }
}
