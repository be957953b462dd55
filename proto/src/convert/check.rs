//! Checks of what a message is made of.

use std::time::Duration;

use queens_model::{
    InvalidCrosses, InvalidFraction, InvalidName, InvalidPriority, InvalidReportInterval, InvalidShare,
    InvalidSpeed, InvalidTimeLeft, Name, plain,
};
use queens_solver::{EmptySpan, InvalidBoardSize, Method, Span};
use thiserror::Error;

use crate::pb;

/// The version of the protocol that this program speaks.
pub(crate) const PROTOCOL: u32 = 1;

/// The longest text that is passed on to people, in characters.
const LONGEST_TEXT: usize = 500;

/// A message that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidMessage {
    /// It comes from a program of another protocol version.
    #[error("protocol version {found} is not supported: this program supports {PROTOCOL}")]
    Protocol {
        /// The version it is in.
        found: u32,
    },
    /// A part that has to be there is not.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A span holds nothing.
    #[error(transparent)]
    EmptySpan(#[from] EmptySpan),
    /// A board is too large.
    #[error(transparent)]
    BoardSize(#[from] InvalidBoardSize),
    /// A number is no priority.
    #[error(transparent)]
    Priority(#[from] InvalidPriority),
    /// A number is no share of a whole.
    #[error("the share of the plan: {0}")]
    Fraction(#[from] InvalidFraction),
    /// Numbers are no parts of a plan.
    #[error(transparent)]
    Crosses(#[from] InvalidCrosses),
    /// A number is no share of a job's work.
    #[error("the share that is counted again: {0}")]
    Share(#[from] InvalidShare),
    /// A number is no speed.
    #[error("the worker's speed: {0}")]
    Speed(#[from] InvalidSpeed),
    /// A time is none to report at.
    #[error(transparent)]
    ReportInterval(#[from] InvalidReportInterval),
    /// Numbers are no time left.
    #[error("the time left: {0}")]
    TimeLeft(#[from] InvalidTimeLeft),
    /// A number is outside its range.
    #[error("{what} is {found}, expected {expected}")]
    OutOfRange {
        /// What the number is of.
        what: &'static str,
        /// What it is.
        found: String,
        /// What it can be.
        expected: String,
    },
    /// It is of a program that knows more ways to count.
    #[error("there is no method {0} here")]
    Method(i32),
    /// It was changed on its way.
    #[error("{0} does not match its checksum")]
    Garbled(&'static str),
    /// A text is no name.
    #[error("{what} is no name: {reason}")]
    Name {
        /// What should have been named by it.
        what: &'static str,
        /// What a name is.
        reason: InvalidName,
    },
}

/// A whole number in `range`, or an error that names it.
pub(super) fn in_range<T: TryFrom<u64> + Into<u64>>(
    what: &'static str,
    found: u64,
    most: T,
) -> Result<T, InvalidMessage> {
    let most: u64 = most.into();
    let error =
        || InvalidMessage::OutOfRange { what, found: found.to_string(), expected: format!("at most {most}") };
    if found > most {
        return Err(error());
    }
    T::try_from(found).map_err(|_| error())
}

pub(super) fn at_most(what: &'static str, found: usize, most: usize) -> Result<(), InvalidMessage> {
    in_range(what, found as u64, most as u64).map(|_| ())
}

pub(super) fn name(what: &'static str, text: &str) -> Result<Name, InvalidMessage> {
    text.parse().map_err(|reason| InvalidMessage::Name { what, reason })
}

/// What can be shown of a text in one line.
pub(super) fn one_line(text: &str) -> String {
    let start: String = text.chars().take(LONGEST_TEXT).collect();
    plain::line(&start).chars().take(LONGEST_TEXT).collect()
}

/// The same, of a text that is empty if there is none.
pub(crate) fn some_line(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| one_line(text))
}

/// A decimal number of at most 39 digits.
pub(super) fn decimal(what: &'static str, text: &str) -> Result<u128, InvalidMessage> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let error = || InvalidMessage::OutOfRange {
        what,
        found: format!("'{}'", text.chars().take(50).collect::<String>()),
        expected: "a decimal number below 2^128".to_owned(),
    };
    text.parse().ok().filter(|_| digits).ok_or_else(error)
}

impl From<Span> for pb::Span {
    fn from(span: Span) -> Self {
        Self { cross: span.cross(), from: span.from(), to: span.to() }
    }
}

impl TryFrom<pb::Span> for Span {
    type Error = InvalidMessage;

    fn try_from(span: pb::Span) -> Result<Self, InvalidMessage> {
        Ok(Self::new(span.cross, span.from, span.to)?)
    }
}

pub(super) fn spans(spans: Vec<pb::Span>) -> Result<Vec<Span>, InvalidMessage> {
    spans.into_iter().map(Span::try_from).collect()
}

/// A worker's name, as operators ask for it.
///
/// # Errors
/// If no worker can have it.
pub fn worker_name(text: &str) -> Result<Name, InvalidMessage> {
    name("the worker's name", text)
}

/// Whole milliseconds, as many as there is room for.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl From<Method> for pb::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Search => Self::Search,
            Method::Halves => Self::Halves,
        }
    }
}

/// How something is counted.
///
/// # Errors
/// If nothing is said of it, or it is by a method that this program does not know.
pub(super) fn method(method: i32) -> Result<Method, InvalidMessage> {
    match pb::Method::try_from(method) {
        Ok(pb::Method::Search) => Ok(Method::Search),
        Ok(pb::Method::Halves) => Ok(Method::Halves),
        Ok(pb::Method::Unspecified) => Err(InvalidMessage::Missing("the method")),
        Err(_) => Err(InvalidMessage::Method(method)),
    }
}
