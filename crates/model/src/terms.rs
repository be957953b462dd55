//! The terms of a job: which parts of its plan are counted, and what is recounted.

use std::fmt;
use std::num::ParseIntError;
use std::ops::Range;
use std::str::FromStr;

use queens_solver::{BoardSize, Method};
use thiserror::Error;

use crate::id::JobId;
use crate::party::Party;
use crate::priority::Priority;

/// A request to submit a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The size of the board.
    pub n: BoardSize,
    /// The method that counts it.
    pub method: Method,
    /// The priority.
    pub priority: Priority,
    /// The only parts of the plan to count; `None` for all.
    pub part_range: Option<PartRange>,
    /// The share of the work to recount; `None` for the [default](crate::default_recount).
    pub recount: Option<Share>,
    /// The party that recounts; `None` for any party except the one that counted.
    pub recount_by: Option<Arbiter>,
    /// The method of a second pass, if one is requested.
    pub second_pass: Option<Method>,
    /// Whether the sender accepts the job's [cost](crate::price_of_job), whatever it is.
    pub confirmed: bool,
}

impl Submission {
    /// Creates a request to count a whole board once, whatever it costs.
    #[must_use]
    pub fn new(n: BoardSize, method: Method) -> Self {
        let (priority, recount) = (Priority::default(), Some(Share::NOTHING));
        Self {
            n,
            method,
            priority,
            part_range: None,
            recount,
            recount_by: None,
            second_pass: None,
            confirmed: true,
        }
    }
}

/// The terms of a job besides its board. Some may be raised later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The only parts of the plan that are counted; `None` if all are.
    pub part_range: Option<PartRange>,
    /// The share of the work that is recounted.
    pub recount: Share,
    /// The party that recounts; `None` for any party except the one that counted.
    pub recount_by: Option<Arbiter>,
    /// The job whose second pass this is, if it is one.
    pub second_of: Option<JobId>,
    /// The random seed that selects the records to recount. It is drawn at submission and secret until the job is done:
    /// with it, a cheater would know which records nobody recounts.
    pub seed: u128,
    /// Time of the first export, in milliseconds since 1970; `None` if it was not exported.
    pub exported_ms: Option<u64>,
}

/// The party that must take part in the recounts of a job: without it, no two parties agree on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arbiter {
    /// The party; all zeros if it was not sent.
    pub party: Party,
    /// The number of its invitation; `None` if the coordinator does not authenticate, where each name is a party.
    pub invitation: Option<u64>,
}

impl fmt::Display for Arbiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.invitation {
            Some(number) => write!(f, "invitation {number}"),
            None => f.write_str("the name that was given"),
        }
    }
}

/// Consecutive parts of a plan, by their numbers; at least one.
///
/// ```
/// use queens_model::PartRange;
/// let parts: PartRange = "3..7".parse().unwrap();
/// assert_eq!((parts.range(), parts.to_string().as_str()), (3..7, "3..7"));
/// assert!("7..7".parse::<PartRange>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartRange {
    from: u32,
    to: u32,
}

/// The error for a text that is not a range of parts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected numbers of parts such as 0..10, the end left out and behind the beginning, not '{0}'")]
pub struct InvalidPartRange(String);

impl PartRange {
    /// Creates the range from one part to another, which is excluded.
    ///
    /// # Errors
    /// If the range is empty.
    pub fn new(from: u32, to: u32) -> Result<Self, InvalidPartRange> {
        if from < to { Ok(Self { from, to }) } else { Err(InvalidPartRange(format!("{from}..{to}"))) }
    }

    /// Returns the numbers of the parts.
    #[must_use]
    pub const fn range(self) -> Range<u32> {
        self.from..self.to
    }

    /// Returns whether the range contains a part.
    #[must_use]
    pub fn contains(self, part: u32) -> bool {
        self.range().contains(&part)
    }
}

impl fmt::Display for PartRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}..{}", self.from, self.to))
    }
}

impl FromStr for PartRange {
    type Err = InvalidPartRange;

    fn from_str(text: &str) -> Result<Self, InvalidPartRange> {
        let number = |text: &str| -> Option<u32> {
            let parsed: Result<u32, ParseIntError> = text.parse();
            parsed.ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let found = text.split_once("..").and_then(|(from, to)| Some((number(from)?, number(to)?)));
        found.and_then(|(from, to)| Self::new(from, to).ok()).ok_or_else(|| InvalidPartRange(text.to_owned()))
    }
}

/// A share of a job's work, in parts per million.
///
/// ```
/// use queens_model::Share;
/// let share: Share = "0.5".parse().unwrap();
/// assert_eq!((share.ppm(), share.to_string().as_str()), (5_000, "0.5 %"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

/// The error for a number or a text that is not a share.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected a share in per cent, 0 to 100 with at most 4 decimals, not '{0}'")]
pub struct InvalidShare(String);

impl Share {
    /// No share.
    pub const NOTHING: Self = Self(0);
    /// One per cent.
    pub const PERCENT: Self = Self(10_000);
    /// The whole.
    pub const ALL: Self = Self(1_000_000);

    /// Creates a share of this many parts per million.
    ///
    /// # Errors
    /// If it is more than the whole.
    pub fn of_ppm(ppm: u32) -> Result<Self, InvalidShare> {
        let share = Self(ppm);
        if share <= Self::ALL { Ok(share) } else { Err(InvalidShare(share.percent())) }
    }

    /// Returns the share in parts per million.
    #[must_use]
    pub const fn ppm(self) -> u32 {
        self.0
    }

    /// Returns the share as a number from 0 to 1.
    #[must_use]
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ALL.0)
    }

    /// Formats the share in per cent, without the sign.
    fn percent(self) -> String {
        let decimals = format!("{:04}", self.0 % 10_000);
        let decimals = decimals.trim_end_matches('0');
        let whole = self.0 / 10_000;
        if decimals.is_empty() { whole.to_string() } else { format!("{whole}.{decimals}") }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} %", self.percent()))
    }
}

impl FromStr for Share {
    type Err = InvalidShare;

    /// Parses a number of per cent.
    fn from_str(text: &str) -> Result<Self, InvalidShare> {
        let invalid = || InvalidShare(text.to_owned());
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || whole.len() > 3 || decimals.len() > 4 {
            return Err(invalid());
        }
        let ppm = format!("{whole}{decimals:0<4}").parse().map_err(|_| invalid())?;
        Self::of_ppm(ppm).map_err(|_| invalid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crosses_are_named_in_one_way() {
        for (from, to) in [(0, 1), (3, 7), (0, u32::MAX)] {
            let part_range = PartRange::new(from, to).expect("not empty");
            assert_eq!(part_range.to_string().parse(), Ok(part_range));
        }
        for text in ["", "..", "1", "1..", "..1", "1..1", "2..1", "+1..2", "1..=2", "1...2", "0..4294967296"]
        {
            assert!(text.parse::<PartRange>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn shares_are_read_in_per_cent() {
        #[track_caller]
        fn check(text: &str, ppm: u32, shown: &str) {
            let share: Share = text.parse().expect("a share");
            assert_eq!((share.ppm(), share.to_string().as_str()), (ppm, shown));
        }
        check("0", 0, "0 %");
        check("1", 10_000, "1 %");
        check("1.0", 10_000, "1 %");
        check("0.0001", 1, "0.0001 %");
        check("12.345", 123_450, "12.345 %");
        check("100", 1_000_000, "100 %");
        for text in ["", ".", "1.", ".5", "-1", "+1", "100.0001", "101", "0.00001", "1e1", "1 %", "1,5"] {
            assert!(text.parse::<Share>().is_err(), "{text:?}");
        }
        assert!(Share::of_ppm(1_000_001).is_err());
    }
}
