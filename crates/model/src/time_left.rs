//! Holds a job's estimated remaining time with its 95 % interval. The ledger's `pace.rs` computes it.

use thiserror::Error;

/// The estimated remaining time of a job in seconds, with a 95 % interval: 0 ≤ `low` ≤ `expected` ≤ `high`, all finite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeLeft {
    low: f64,
    expected: f64,
    high: f64,
}

/// The error for numbers that are not a remaining time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a time left is three finite numbers from 0 on, in order")]
pub struct InvalidTimeLeft;

impl TimeLeft {
    /// Creates an estimate between `low` and `high` seconds.
    ///
    /// # Errors
    /// If the numbers are not finite, negative, or not in order.
    pub fn new(low: f64, expected: f64, high: f64) -> Result<Self, InvalidTimeLeft> {
        let fits = 0.0 <= low && low <= expected && expected <= high && high.is_finite();
        if fits { Ok(Self { low, expected, high }) } else { Err(InvalidTimeLeft) }
    }

    /// Returns the lower end of the interval, in seconds.
    #[must_use]
    pub const fn low(self) -> f64 {
        self.low
    }

    /// Returns the estimate, in seconds.
    #[must_use]
    pub const fn expected(self) -> f64 {
        self.expected
    }

    /// Returns the upper end of the interval, in seconds.
    #[must_use]
    pub const fn high(self) -> f64 {
        self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_what_is_expected_in_it() {
        for (low, expected, high) in [(0.0, 0.0, 0.0), (1.0, 2.0, 3.0), (0.0, 5.0, 5.0)] {
            let left = TimeLeft::new(low, expected, high).expect("in order");
            assert_eq!((left.low(), left.expected(), left.high()), (low, expected, high));
        }
        for (low, expected, high) in [
            (-1.0, 0.0, 1.0),
            (2.0, 1.0, 3.0),
            (1.0, 3.0, 2.0),
            (0.0, 1.0, f64::INFINITY),
            (0.0, f64::NAN, 1.0),
        ] {
            assert!(TimeLeft::new(low, expected, high).is_err(), "{low} {expected} {high}");
        }
    }
}
