//! Whether the event loop keeps up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A step of the event loop that takes longer is worth telling: whoever has something to say waits for as long.
pub(crate) const SLOW: Duration = Duration::from_millis(250);

/// When the event loop began its present step, for everybody to look at.
#[derive(Clone, Debug)]
pub(crate) struct LoopMonitor {
    started: Instant,
    /// In microseconds since `started`, and one more; 0 while it listens.
    step_began: Arc<AtomicU64>,
    /// When a worker was last heard of, in microseconds since `started`.
    heard: Arc<AtomicU64>,
    longest: Arc<Mutex<Longest>>,
}

/// The longest step of this minute and of the one before it.
#[derive(Debug, Default)]
struct Longest {
    minute: u64,
    now: Duration,
    before: Duration,
}

impl Longest {
    /// Goes on to a minute, counted from the start.
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

    /// The event loop begins a step.
    pub(crate) fn begin(&self) {
        self.step_began.store(self.now() + 1, Ordering::Relaxed);
    }

    /// The step is done; returns how long it took.
    pub(crate) fn end(&self) -> Duration {
        let took = self.since(self.step_began.swap(0, Ordering::Relaxed)).unwrap_or_default();
        self.with_longest(|longest| longest.now = longest.now.max(took));
        took
    }

    /// A worker has said something.
    pub(crate) fn hear(&self) {
        self.heard.store(self.now(), Ordering::Relaxed);
    }

    /// For how long no worker has said anything.
    pub(crate) fn since_worker_contact(&self) -> Duration {
        Duration::from_micros(self.now().saturating_sub(self.heard.load(Ordering::Relaxed)))
    }

    /// How long the coordinator has run.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// How long the longest step took in the last minute or two, or takes that is not done.
    pub(crate) fn slowest(&self) -> Duration {
        let done = self.with_longest(|longest| longest.now.max(longest.before));
        done.max(self.since(self.step_began.load(Ordering::Relaxed)).unwrap_or_default())
    }

    fn with_longest<T>(&self, look: impl FnOnce(&mut Longest) -> T) -> T {
        // Nothing is left half done in there.
        let mut longest = self.longest.lock().unwrap_or_else(PoisonError::into_inner);
        longest.turn_to(self.uptime().as_secs() / 60);
        look(&mut longest)
    }

    /// How long the present step has taken, if that is long.
    pub(crate) fn busy(&self) -> Option<Duration> {
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
