//! Validation of the fields of a message.

use std::time::Duration;

use queens_model::{
    InvalidFraction, InvalidName, InvalidPartRange, InvalidPriority, InvalidReportInterval, InvalidShare,
    InvalidSpeed, InvalidTimeLeft, JobIdentity, Name, plain,
};
use queens_solver::{EmptySpan, InvalidBoardSize, Method, Span};
use thiserror::Error;

use crate::pb;

/// The protocol version that this program speaks.
pub(crate) const PROTOCOL: u32 = 2;

/// The longest text that is passed on to people, in characters.
const LONGEST_TEXT: usize = 500;

/// An invalid message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidMessage {
    /// It has another protocol version.
    #[error("protocol version {found} is not supported: this program supports {PROTOCOL}")]
    Protocol {
        /// Its version.
        found: u32,
    },
    /// A required field is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A span is empty.
    #[error(transparent)]
    EmptySpan(#[from] EmptySpan),
    /// A board is too large.
    #[error(transparent)]
    BoardSize(#[from] InvalidBoardSize),
    /// A number is not a priority.
    #[error(transparent)]
    Priority(#[from] InvalidPriority),
    /// A number is not a share of a whole.
    #[error("the share of the plan: {0}")]
    Fraction(#[from] InvalidFraction),
    /// Numbers are not a range of parts.
    #[error(transparent)]
    PartRange(#[from] InvalidPartRange),
    /// A number is not a share of a job's work.
    #[error("the share that is counted again: {0}")]
    Share(#[from] InvalidShare),
    /// A number is not a speed.
    #[error("the worker's speed: {0}")]
    Speed(#[from] InvalidSpeed),
    /// A time is not a report interval.
    #[error(transparent)]
    ReportInterval(#[from] InvalidReportInterval),
    /// Numbers are not a remaining time.
    #[error("the time left: {0}")]
    TimeLeft(#[from] InvalidTimeLeft),
    /// A number is out of range.
    #[error("{what} is {found}, expected {expected}")]
    OutOfRange {
        /// The name of the field.
        what: &'static str,
        /// The value.
        found: String,
        /// The expected range.
        expected: String,
    },
    /// A program with more methods sent it.
    #[error("there is no method {0} here")]
    Method(i32),
    /// It was garbled on its way.
    #[error("{0} does not match its checksum")]
    Garbled(&'static str),
    /// A text is not a name.
    #[error("{what} is no name: {reason}")]
    Name {
        /// The thing to be named.
        what: &'static str,
        /// The reason.
        reason: InvalidName,
    },
}

/// Checks that a whole number is in `range`; the error names it.
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

pub(super) fn new_name(what: &'static str, text: &str) -> Result<Name, InvalidMessage> {
    Name::new(text).map_err(|reason| InvalidMessage::Name { what, reason })
}

/// Converts a text to one printable line.
pub(super) fn one_line(text: &str) -> String {
    let start: String = text.chars().take(LONGEST_TEXT).collect();
    plain::line(&start).chars().take(LONGEST_TEXT).collect()
}

/// Converts a text to one printable line; `None` if it is empty.
pub(crate) fn some_line(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| one_line(text))
}

/// Parses a decimal number of at most 39 digits.
pub(super) fn decimal(what: &'static str, text: &str) -> Result<u128, InvalidMessage> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| malformed(what, text, "a decimal number below 2^128"))
}

/// Returns the error for a text of another form, with its beginning.
pub(super) fn malformed(what: &'static str, text: &str, expected: &str) -> InvalidMessage {
    let found = format!("'{}'", text.chars().take(50).collect::<String>());
    InvalidMessage::OutOfRange { what, found, expected: expected.to_owned() }
}

impl From<Span> for pb::Span {
    fn from(span: Span) -> Self {
        Self { part: span.part(), from: span.from(), to: span.to() }
    }
}

impl TryFrom<pb::Span> for Span {
    type Error = InvalidMessage;

    fn try_from(span: pb::Span) -> Result<Self, InvalidMessage> {
        Ok(Self::new(span.part, span.from, span.to)?)
    }
}

pub(super) fn identity(bytes: &[u8]) -> Result<JobIdentity, InvalidMessage> {
    JobIdentity::from_bytes(bytes).ok_or(InvalidMessage::Missing("a job's identity"))
}

pub(super) fn spans(spans: Vec<pb::Span>) -> Result<Vec<Span>, InvalidMessage> {
    spans.into_iter().map(Span::try_from).collect()
}

/// Parses a worker's name from an operator.
///
/// # Errors
/// If no worker can have it.
pub fn worker_name(text: &str) -> Result<Name, InvalidMessage> {
    text.parse().map_err(|reason| InvalidMessage::Name { what: "the worker's name", reason })
}

/// Converts to whole milliseconds, saturating.
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

/// Converts the method of a job.
///
/// # Errors
/// If it is unspecified, or this program does not know it.
pub(super) fn method(method: i32) -> Result<Method, InvalidMessage> {
    match pb::Method::try_from(method) {
        Ok(pb::Method::Search) => Ok(Method::Search),
        Ok(pb::Method::Halves) => Ok(Method::Halves),
        Ok(pb::Method::Unspecified) => Err(InvalidMessage::Missing("the method")),
        Err(_) => Err(InvalidMessage::Method(method)),
    }
}
