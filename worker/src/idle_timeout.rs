//! Ends a worker that has had nothing to count for long.

use std::time::Duration;

use queens_counting::{Activity, Metrics, PauseFlag};
use tokio::time::{Instant, sleep};

/// The interval between looks at the worker.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Measures for how long a worker has had nothing to count. The time of pauses does not count.
#[derive(Debug)]
struct IdleTimer {
    since: Instant,
    n_subproblems: u64,
}

impl IdleTimer {
    /// Returns for how long the worker has been idle at this moment. Chunks that were counted since the last look show
    /// that it was not.
    fn idle_for(&mut self, now: Instant, activity: &Activity, is_paused: bool) -> Duration {
        let n_subproblems = activity.counted.n_subproblems;
        if is_paused || activity.n_leases > 0 || n_subproblems != self.n_subproblems {
            *self = Self { since: now, n_subproblems };
        }
        now.saturating_duration_since(self.since)
    }
}

/// Waits until the workers of this process have had nothing to count for this long, connected or not.
pub async fn has_been_idle(limit: Duration, metrics: &Metrics, pause: &PauseFlag) {
    let mut timer = IdleTimer { since: Instant::now(), n_subproblems: 0 };
    while timer.idle_for(Instant::now(), &metrics.activity(), pause.is_set()) < limit {
        sleep(LOOK_AGAIN.min(limit)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_a_count_and_a_pause_each_start_the_time_anew() {
        let start = Instant::now();
        let mut timer = IdleTimer { since: start, n_subproblems: 0 };
        let mut check = |second: u64, n_leases, n_subproblems, is_paused, idle_for: u64| {
            let mut activity = Activity { n_leases, ..Activity::default() };
            activity.counted.n_subproblems = n_subproblems;
            let now = start + Duration::from_secs(second);
            let found = timer.idle_for(now, &activity, is_paused);
            assert_eq!(found, Duration::from_secs(idle_for), "at {second} s");
        };
        check(5, 0, 0, false, 5);
        check(10, 2, 0, false, 0);
        check(11, 0, 0, false, 1);
        check(20, 0, 7, false, 0);
        check(29, 0, 7, false, 9);
        check(30, 0, 7, true, 0);
        check(600, 0, 7, true, 0);
        check(630, 0, 7, false, 30);
    }
}
