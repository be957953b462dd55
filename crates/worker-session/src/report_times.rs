//! Schedules a worker's reports.

use std::time::Duration;

use queens_model::{ReportInterval, WorkerId};

/// The schedule of reports of counts. Urgent messages go out in between and do not change it.
#[derive(Debug)]
pub(crate) struct ReportTimes {
    /// This worker's position in the interval: above 0, at most 1. It spreads the reports of workers that connected
    /// together, as after a coordinator's restart.
    phase: f64,
    interval: ReportInterval,
    last: Duration,
    next: Duration,
}

impl ReportTimes {
    pub(crate) fn of(worker: WorkerId) -> Self {
        // Multiples of the golden ratio have evenly spread fractions, for random and for sequential ids.
        let fraction = worker.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        Self {
            phase: (fraction as f64 + 1.0) / 4_294_967_296.0,
            interval: ReportInterval::USUAL,
            last: Duration::ZERO,
            next: Duration::ZERO,
        }
    }

    /// Starts a session: the first report is due, and the coordinator has set no interval yet.
    pub(crate) fn begin(&mut self, now: Duration) {
        (self.interval, self.last, self.next) = (ReportInterval::USUAL, now, now);
    }

    /// Changes the interval. Two reports are never further apart than the longer of the old and the new interval.
    pub(crate) fn change(&mut self, now: Duration, interval: ReportInterval) {
        let in_phase = now + interval.get().mul_f64(self.phase);
        self.next = if interval < self.interval {
            self.next.min(in_phase)
        } else {
            in_phase.min(self.last + interval.get()).max(self.next)
        };
        self.interval = interval;
    }

    /// Records that a report goes out now.
    pub(crate) fn report(&mut self, now: Duration) {
        (self.last, self.next) = (now, now + self.interval.get());
    }

    pub(crate) fn interval(&self) -> Duration {
        self.interval.get()
    }

    pub(crate) fn next(&self) -> Duration {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn every(seconds: u32) -> ReportInterval {
        (SECOND * seconds).try_into().expect("an interval")
    }

    #[test]
    fn workers_that_come_together_report_evenly() {
        let mut of_tenths = [0; 10];
        for worker in 0..1000 {
            let mut times = ReportTimes::of(WorkerId(worker));
            times.begin(SECOND);
            times.report(SECOND);
            times.change(SECOND, every(30));
            let after = (times.next() - SECOND).as_millis();
            let mut tenths = of_tenths.iter_mut().zip(1..);
            *tenths.find(|(_, tenth)| after <= tenth * 3_000).expect("within the interval").0 += 1;
        }
        assert!(of_tenths.iter().all(|n| (90..=110).contains(n)), "{of_tenths:?}");
    }

    #[test]
    fn no_report_is_later_than_the_longer_of_both_intervals() {
        for worker in 0..100 {
            for (before, after, told) in
                [(1, 30, 0), (30, 3, 20), (30, 3, 29), (10, 12, 9), (10, 30, 9), (30, 30, 7)]
            {
                let mut times = ReportTimes::of(WorkerId(worker));
                times.begin(Duration::ZERO);
                times.change(Duration::ZERO, every(before));
                times.report(Duration::ZERO);
                times.change(SECOND * told, every(after));
                let next = times.next();
                assert!(next >= SECOND * told, "{before} {after} {told}: {next:?}");
                assert!(next <= SECOND * before.max(after), "{before} {after} {told}: {next:?}");
                if after < before {
                    assert!(next <= SECOND * (told + after), "{before} {after} {told}: {next:?}");
                }
            }
        }
    }
}
