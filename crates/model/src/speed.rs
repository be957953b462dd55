//! Counting speeds, in total and by method.

use std::iter::Sum;

use queens_solver::Method;
use thiserror::Error;

/// Work per second, in nodes for the search and in units for halves: finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Speed(f64);

/// The error for a number that is not a speed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0} nodes per second are no speed: expected a finite number from 0")]
pub struct InvalidSpeed(String);

impl Speed {
    /// The speed zero.
    pub const ZERO: Self = Self(0.0);

    /// Returns the speed in nodes per second.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Speed {
    type Error = InvalidSpeed;

    fn try_from(work_per_second: f64) -> Result<Self, InvalidSpeed> {
        if work_per_second.is_finite() && work_per_second >= 0.0 {
            // Turns a negative zero, which would print as "-0", into zero.
            Ok(Self(work_per_second + 0.0))
        } else {
            Err(InvalidSpeed(work_per_second.to_string()))
        }
    }
}

impl From<u32> for Speed {
    fn from(work_per_second: u32) -> Self {
        Self(work_per_second.into())
    }
}

/// Speed by method. Nodes and units are different things: their sum tells only which of two workers does more, and
/// whether any work is done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MethodSpeeds {
    /// Search speed, in nodes per second.
    pub search: Speed,
    /// Speed by halves, in units per second.
    pub halves: Speed,
}

impl MethodSpeeds {
    /// The speed zero.
    pub const ZERO: Self = Self { search: Speed::ZERO, halves: Speed::ZERO };

    /// Returns the speed of a method.
    #[must_use]
    pub const fn of(self, method: Method) -> Speed {
        match method {
            Method::Search => self.search,
            Method::Halves => self.halves,
        }
    }

    /// Returns the sum of both speeds.
    #[must_use]
    pub fn sum(self) -> Speed {
        [self.search, self.halves].into_iter().sum()
    }
}

impl Sum for MethodSpeeds {
    fn sum<I: Iterator<Item = Self>>(speeds: I) -> Self {
        let add = |sum: Self, one: Self| Self {
            search: [sum.search, one.search].into_iter().sum(),
            halves: [sum.halves, one.halves].into_iter().sum(),
        };
        speeds.fold(Self::ZERO, add)
    }
}

/// Adds speeds, saturating at the largest finite number.
impl Sum for Speed {
    fn sum<I: Iterator<Item = Self>>(speeds: I) -> Self {
        Self(speeds.map(Self::get).fold(0.0, |sum, speed| sum + speed).min(f64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_finite_and_not_negative() {
        for speed in [0.0, 1e-300, 1e12, f64::MAX] {
            assert_eq!(Speed::try_from(speed).map(Speed::get), Ok(speed));
        }
        for speed in [-1e-300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(Speed::try_from(speed).is_err(), "{speed}");
        }
        let most = Speed::try_from(f64::MAX).expect("a speed");
        assert_eq!([most, most].into_iter().sum::<Speed>(), most);
    }

    #[test]
    fn speeds_of_each_method_are_added_up_alone() {
        let of = |search: u32, halves: u32| MethodSpeeds { search: search.into(), halves: halves.into() };
        let sum: MethodSpeeds = [of(3, 0), of(0, 20), of(4, 50)].into_iter().sum();
        assert_eq!((sum, sum.sum()), (of(7, 70), 77.into()));
        assert_eq!(Method::ALL.map(|method| sum.of(method)), [7.into(), 70.into()]);
    }

    /// The sum of no numbers is -0, which would print as "-0".
    #[test]
    fn no_speed_has_a_sign() {
        for zero in [std::iter::empty::<Speed>().sum(), Speed::try_from(-0.0).expect("a speed")] {
            assert!(zero.get().is_sign_positive(), "{zero:?}");
        }
    }
}
