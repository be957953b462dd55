//! Turns real time into the ledger's time, which excludes the time in which the coordinator could not work.

use std::time::Duration;

/// The tick interval while leases are held, or the caller is busy. An idle thread waits this long for the tail of
/// another worker's lease.
const TICK: Duration = Duration::from_millis(100);

/// The tick interval while nothing is counted: silent workers must still be noticed.
pub(crate) const IDLE_TICK: Duration = Duration::from_secs(1);

/// A delay of at least `STANDSTILL` is the coordinator's own, so it is not held against silent workers. This is for a
/// process that was stopped, not for one that is always slow. So a delay within `LISTENING` after the last such delay
/// counts.
const STANDSTILL: Duration = Duration::from_secs(1);
const LISTENING: Duration = Duration::from_secs(10);

/// Turns the time since the start into the ledger's time.
///
/// The ledger's time stands still while the store can't be written, and while the process is stopped. The coordinator
/// hears no worker then, so it must not give up any for being silent.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// How long the ledger's time has stood still in all.
    stood: Duration,
    /// When the coordinator last woke.
    woke: Duration,
    /// The ledger's time. It never goes back.
    now: Duration,
    ticked: Duration,
    /// When a delay was last left out.
    left_out: Option<Duration>,
}

impl Clock {
    /// Returns the ledger's time. It changes only in [`wake`](Self::wake): all events that are handled together have
    /// one time. If the process is stopped in between, the next `wake` finds the delay.
    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    /// Returns when the next tick is due.
    pub(crate) fn next_tick(&self, is_busy: bool) -> Duration {
        self.ticked + if is_busy { TICK } else { IDLE_TICK }
    }

    /// Notes that a tick happens now.
    pub(crate) fn tick(&mut self) {
        self.ticked = self.woke;
    }

    /// Advances the time at the start of some work. If the work was due by `next_tick` and is late, the delay is left
    /// out and returned. It is late if the process or its machine was stopped, or a transaction took long.
    pub(crate) fn wake(&mut self, time: Duration, next_tick: Option<Duration>) -> Option<Duration> {
        let left_out = self.leave_out(time, next_tick);
        self.now = self.now.max(self.woke.saturating_sub(self.stood));
        left_out
    }

    fn leave_out(&mut self, time: Duration, next_tick: Option<Duration>) -> Option<Duration> {
        let due = next_tick.map(|next_tick| next_tick.max(self.woke));
        self.woke = time;
        let late = time.saturating_sub(due?);
        let has_listened =
            self.left_out.is_none_or(|at| time.saturating_sub(at).saturating_sub(late) >= LISTENING);
        if late < STANDSTILL || !has_listened {
            return None;
        }
        self.left_out = Some(time);
        self.stood += late;
        Some(late)
    }

    /// Leaves out the time until `time`, because nothing could be done.
    pub(crate) fn stand_still(&mut self, time: Duration) {
        self.stood += time.saturating_sub(self.woke);
        self.woke = time;
    }
}

/// Returns the time some seconds later; the end of time if that is not representable.
pub(crate) fn later(time: Duration, seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|seconds| time.checked_add(seconds))
        .unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_process_that_stood_still_has_not_missed_anybody() {
        let mut clock = Clock::default();
        assert_eq!(clock.wake(seconds(1), Some(clock.next_tick(false))), None, "in time");
        clock.tick();
        // The process may have stopped before its work or after it.
        assert_eq!(clock.now(), seconds(1));
        assert_eq!(clock.wake(seconds(42), Some(clock.next_tick(false))), Some(seconds(40)));
        assert_eq!(clock.now(), seconds(2));
    }

    #[test]
    fn a_process_that_is_always_slow_gives_nobody_time_without_end() {
        let mut clock = Clock::default();
        let mut n_left_out = 0;
        for late in 1..=10 {
            n_left_out += u32::from(clock.wake(seconds(late * 5), Some(seconds(late * 5 - 4))).is_some());
        }
        assert_eq!(n_left_out, 4, "not more than once in ten seconds of listening");
    }

    #[test]
    fn nobody_waits_for_a_coordinator_that_has_nothing_to_do() {
        let mut clock = Clock::default();
        assert_eq!(clock.wake(seconds(1000), None), None);
        assert_eq!(clock.now(), seconds(1000));
    }

    #[test]
    fn time_that_has_passed_is_not_taken_back() {
        let mut clock = Clock::default();
        for (time, expected) in [(10, 10), (9, 10), (11, 11)] {
            clock.wake(seconds(time), None);
            assert_eq!(clock.now(), seconds(expected), "told that it is {time}");
        }
    }

    #[test]
    fn time_in_which_nothing_can_be_written_does_not_pass() {
        let mut clock = Clock::default();
        clock.wake(seconds(10), None);
        clock.stand_still(seconds(70));
        assert_eq!(clock.now(), seconds(10));
        assert_eq!(clock.wake(seconds(71), Some(seconds(11))), Some(seconds(1)), "counted from then on");
    }
}
