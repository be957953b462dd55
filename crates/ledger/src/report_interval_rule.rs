//! Decides how often workers report.
//!
//! A coordinator can serve only so many reports, so the more workers there are, the less often each reports. The
//! interval bounds how much work a crash of a worker loses, and how stale progress is. It has no other effect: leases
//! that end are reported at once, and leases get short when a job nears its end.

use std::time::Duration;

use queens_model::ReportInterval;

/// The factor by which the report rate may rise while tails are cut off, which needs fresh progress.
const HURRY: f64 = 4.0;

/// The rule for how often workers report.
#[derive(Clone, Copy, Debug)]
pub struct Reporting {
    /// The approximate reports a second of all workers together, without leases that end.
    pub per_second: f64,
    /// The longest interval of a worker: a crash may lose this much work.
    pub longest: ReportInterval,
}

impl Default for Reporting {
    fn default() -> Self {
        let longest = Duration::from_secs(30).try_into().unwrap_or_default();
        Self { per_second: 300.0, longest }
    }
}

impl Reporting {
    /// Returns the report interval for this number of workers.
    pub(crate) fn interval(self, n_workers: usize, is_hurried: bool) -> ReportInterval {
        let per_second = self.per_second * if is_hurried { HURRY } else { 1.0 };
        let (least, most) = (ReportInterval::USUAL, self.longest);
        let seconds =
            (n_workers as f64 / per_second).clamp(least.get().as_secs_f64(), most.get().as_secs_f64());
        Duration::try_from_secs_f64(seconds).ok().and_then(|time| time.try_into().ok()).unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_workers_the_less_often_each_reports() {
        let reporting = Reporting::default();
        let table = [
            (0, 1.0, 1.0),
            (50, 1.0, 1.0),
            (300, 1.0, 1.0),
            (600, 2.0, 1.0),
            (6_000, 20.0, 5.0),
            (10_000, 30.0, 25.0 / 3.0),
            (1_000_000, 30.0, 30.0),
        ];
        for (n_workers, usual, hurried) in table {
            let seconds = |is_hurried| reporting.interval(n_workers, is_hurried).get().as_secs_f64();
            assert!((seconds(false) - usual).abs() < 1e-6, "{n_workers}: {}", seconds(false));
            assert!((seconds(true) - hurried).abs() < 1e-6, "{n_workers}: {}", seconds(true));
        }
    }

    #[test]
    fn whatever_is_asked_for_there_is_an_interval() {
        for per_second in [0.0, 1e-300, f64::MAX, f64::NAN] {
            let reporting = Reporting { per_second, ..Reporting::default() };
            assert!(reporting.interval(0, true) <= reporting.longest);
            assert!(reporting.interval(usize::MAX, false) <= reporting.longest);
        }
    }
}
