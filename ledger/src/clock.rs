//! The ledger's time.

use std::time::Duration;

/// How often time passes for the ledger while something is counted, or somebody else has something to do: an idle
/// thread waits this long for the tail of somebody else's lease.
const TICK: Duration = Duration::from_millis(100);

/// The same while nothing is counted: silent workers still have to be noticed.
const IDLE_TICK: Duration = Duration::from_secs(1);

/// A worker that was not heard because the coordinator came so late to listen was not silent. That goes for a process
/// that was stopped, not for one that is always slow: so much time passes between two such delays, or the second
/// counts.
const STANDSTILL: Duration = Duration::from_secs(1);
const LISTENING: Duration = Duration::from_secs(10);

/// Makes the ledger's time of the time that has passed since some start.
///
/// The ledger's time stands still while nothing can be written, and while the process does: nobody is heard then, so
/// that nobody is to be given up for his silence.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// For how long it has stood still.
    stood: Duration,
    /// When the coordinator last began to do something.
    woke: Duration,
    /// The ledger's time, which never goes back.
    now: Duration,
    ticked: Duration,
    /// When time was last left out for coming late.
    left_out: Option<Duration>,
}

impl Clock {
    /// The ledger's time. It stays the same from one [`wake`](Self::wake) to the next: what is taken up together
    /// happens at once, and if the process is stopped in the middle, the next `wake` finds that it was.
    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    /// When the next tick is due.
    pub(crate) fn next_tick(&self, is_busy: bool) -> Duration {
        self.ticked + if is_busy { TICK } else { IDLE_TICK }
    }

    /// There is a tick.
    pub(crate) fn tick(&mut self) {
        self.ticked = self.woke;
    }

    /// The coordinator begins to do something. If it should have begun by `next_tick` and is late, because the process
    /// or its machine was stopped or a transaction took long, that time is left out. Returns how much, if so.
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

    /// Nothing could be done until `time`.
    pub(crate) fn stand_still(&mut self, time: Duration) {
        self.stood += time.saturating_sub(self.woke);
        self.woke = time;
    }
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
        // Whether it stood still before it had done what it woke for, or after.
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
