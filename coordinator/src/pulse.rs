//! Whether the event loop keeps up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// A step of the event loop that takes longer is worth telling: whoever has something to say waits for as long.
pub(crate) const SLOW: Duration = Duration::from_millis(250);

/// When the event loop began its present step, for everybody to look at.
#[derive(Clone, Debug)]
pub(crate) struct Pulse {
    started: Instant,
    /// In microseconds since `started`, and one more; 0 while it listens.
    step_began: Arc<AtomicU64>,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), step_began: Arc::default() }
    }

    /// The event loop begins a step.
    pub(crate) fn begin(&self) {
        self.step_began.store(self.now() + 1, Ordering::Relaxed);
    }

    /// The step is done; returns how long it took.
    pub(crate) fn end(&self) -> Duration {
        self.since(self.step_began.swap(0, Ordering::Relaxed)).unwrap_or_default()
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
        let pulse = Pulse::new();
        assert_eq!(pulse.busy(), None);
        pulse.begin();
        tokio::time::advance(SLOW - Duration::from_millis(1)).await;
        assert_eq!(pulse.busy(), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(pulse.busy(), Some(SLOW));
        assert_eq!((pulse.end(), pulse.busy()), (SLOW, None));
    }
}
