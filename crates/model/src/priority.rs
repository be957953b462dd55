//! The priority of a job.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A job's priority, from -1000 to 1000; 0 by default. Jobs of a higher priority are counted first, those of the same
/// priority in the order of submission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(i32);

/// The error for a number that is not a priority.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is no priority: expected a whole number from -{MOST} to {MOST}", MOST = Priority::MOST)]
pub struct InvalidPriority(String);

impl Priority {
    const MOST: i32 = 1000;

    /// Returns the priority as a number.
    #[must_use]
    pub const fn get(self) -> i32 {
        self.0
    }
}

impl TryFrom<i32> for Priority {
    type Error = InvalidPriority;

    fn try_from(priority: i32) -> Result<Self, InvalidPriority> {
        let fits = (-Self::MOST..=Self::MOST).contains(&priority);
        if fits { Ok(Self(priority)) } else { Err(InvalidPriority(priority.to_string())) }
    }
}

impl FromStr for Priority {
    type Err = InvalidPriority;

    fn from_str(text: &str) -> Result<Self, InvalidPriority> {
        let priority = text.parse::<i32>().map_err(|_| InvalidPriority(text.to_owned()))?;
        Self::try_from(priority)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
