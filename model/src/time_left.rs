//! How long a job should still take.

use thiserror::Error;

/// How many seconds a job should still take, and a range that the truth should lie in 19 times out of 20:
/// 0 ≤ `low` ≤ `expected` ≤ `high`, all finite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeLeft {
    low: f64,
    expected: f64,
    high: f64,
}

/// Numbers that are no time left.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{expected} s between {low} and {high} s are no time left: expected finite numbers from 0, in order")]
pub struct InvalidTimeLeft {
    low: String,
    expected: String,
    high: String,
}

impl TimeLeft {
    /// Between `low` and `high` seconds.
    ///
    /// # Errors
    /// If the numbers are not finite, negative, or not in order.
    pub fn new(low: f64, expected: f64, high: f64) -> Result<Self, InvalidTimeLeft> {
        if 0.0 <= low && low <= expected && expected <= high && high.is_finite() {
            Ok(Self { low, expected, high })
        } else {
            let [low, expected, high] = [low, expected, high].map(|seconds| seconds.to_string());
            Err(InvalidTimeLeft { low, expected, high })
        }
    }

    /// It should turn out to be no less, in seconds.
    #[must_use]
    pub const fn low(self) -> f64 {
        self.low
    }

    /// What it should turn out to be, in seconds.
    #[must_use]
    pub const fn expected(self) -> f64 {
        self.expected
    }

    /// It should turn out to be no more, in seconds.
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
