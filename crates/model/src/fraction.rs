//! A share of a whole, as a checked number.

use thiserror::Error;

/// A share of a whole: a number from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Fraction(f64);

/// The error for a number outside 0 to 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0} is no share of a whole: expected a number from 0 to 1")]
pub struct InvalidFraction(String);

impl Fraction {
    /// Returns the share as a number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Fraction {
    type Error = InvalidFraction;

    fn try_from(share: f64) -> Result<Self, InvalidFraction> {
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err(InvalidFraction(share.to_string())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_lie_between_nothing_and_all() {
        for share in [0.0, 1e-300, 0.5, 1.0] {
            assert_eq!(Fraction::try_from(share).map(Fraction::get), Ok(share));
        }
        for share in [-1e-300, 1.0 + f64::EPSILON, f64::INFINITY, f64::NAN] {
            assert!(Fraction::try_from(share).is_err(), "{share}");
        }
    }
}
