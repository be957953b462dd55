//! A checked report interval, one second to an hour. The ledger's `report_interval_rule.rs` chooses it.

use std::time::Duration;

use thiserror::Error;

/// The longest time between a worker's reports, a second to an hour. The end of a lease is reported at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportInterval(Duration);

/// The error for a time that is not a report interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no time between reports: expected one from a second to an hour")]
pub struct InvalidReportInterval(Duration);

impl ReportInterval {
    /// The default interval: a second.
    pub const USUAL: Self = Self(Duration::from_secs(1));

    /// An hour.
    const LONGEST: Self = Self(Duration::from_secs(3600));

    /// Returns the interval.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl Default for ReportInterval {
    fn default() -> Self {
        Self::USUAL
    }
}

impl TryFrom<Duration> for ReportInterval {
    type Error = InvalidReportInterval;

    fn try_from(time: Duration) -> Result<Self, InvalidReportInterval> {
        let is_one = (Self::USUAL.0..=Self::LONGEST.0).contains(&time);
        if is_one { Ok(Self(time)) } else { Err(InvalidReportInterval(time)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_to_an_hour() {
        for (millis, is_one) in
            [(999, false), (1000, true), (30_500, true), (3_600_000, true), (3_600_001, false)]
        {
            let time = Duration::from_millis(millis);
            assert_eq!(ReportInterval::try_from(time).ok().map(ReportInterval::get), is_one.then_some(time));
        }
    }
}
