//! What can go wrong between a coordinator and whoever speaks to it.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::iter::successors;

use queens_model::plain;
use thiserror::Error;
use tokio_rustls::rustls::Error as TlsError;
use tonic::{Code, ConnectError, Status};

use crate::LEADER_KEY;
use crate::convert::InvalidMessage;

/// An operator did not get an answer.
///
/// Its text is for people, and the only place where they are told what they can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    /// The URL of the coordinator.
    pub coordinator: String,
    /// What went wrong.
    pub problem: Problem,
}

/// What went wrong, whoever asked. The texts say neither whom nor what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// No connection could be opened, or it broke.
    #[error("{0}")]
    Connection(String),
    /// Nothing came in time.
    #[error("no answer")]
    Silent,
    /// Something was asked for that changes something, and no answer came, for this reason.
    #[error("{0}, but it may be done all the same")]
    Unconfirmed(String),
    /// It can't show that it is the coordinator.
    #[error("it is not known to be the coordinator: {0}")]
    Untrusted(String),
    /// A server of HTTP has answered that is none of gRPC.
    #[error("what answers there speaks HTTP and is no coordinator, or it is the address of its --http")]
    SpeaksHttp,
    /// Something is there that does not keep to HTTP/2, or hangs up.
    #[error(
        "what answers there is no coordinator, or one that is just ending, or one that is reached by https: {0}"
    )]
    SpeaksOtherwise(String),
    /// A server of gRPC has answered that does not know the call.
    #[error("it is no coordinator, or of another version")]
    Unimplemented,
    /// The coordinator will not do it, in its own words, and would say the same again.
    #[error("{0}")]
    Refused(String),
    /// A worker is refused because another has its number, in the coordinator's own words: it can draw another.
    #[error("{0}")]
    NumberTaken(String),
    /// The coordinator can't do it now, in its own words: it is stopping, or busy.
    #[error("{0}")]
    Unavailable(String),
    /// The coordinator stands by for another, and has done nothing.
    #[error("{words}")]
    StandsBy {
        /// How it says so.
        words: String,
        /// The URL of whoever leads, as it was named; empty if it was not. It may be anything.
        leader: String,
    },
    /// Of several coordinators none could be asked: which, and why.
    #[error("none of the coordinators that can be reached leads: {0}")]
    NoneLeads(String),
    /// The coordinator has answered what makes no sense.
    #[error("the coordinator sent nonsense: {0}")]
    Nonsense(String),
}

impl Problem {
    /// Whether the same would come of asking again.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            Self::SpeaksHttp | Self::Unimplemented | Self::Refused(_) | Self::Nonsense(_) => true,
            Self::Connection(_)
            | Self::Silent
            | Self::Unconfirmed(_)
            | Self::SpeaksOtherwise(_)
            | Self::Untrusted(_)
            | Self::NumberTaken(_)
            | Self::Unavailable(_)
            | Self::StandsBy { .. }
            | Self::NoneLeads(_) => false,
        }
    }

    /// What has gone wrong with a call that changes something.
    pub(super) fn of_change(status: Status) -> Self {
        let is_due = |test: fn(&(dyn Error + 'static)) -> bool| status.source().is_some_and(test);
        let is_unsent = is_due(|error| is_due_to(error, |_: &ConnectError| true));
        // A server that talks nonsense is none that does anything.
        let has_hung_up = is_due(|error| is_due_to(error, |_: &io::Error| true));
        match Self::from(status) {
            problem if is_unsent => problem,
            problem @ Self::SpeaksOtherwise(_) if !has_hung_up => problem,
            problem => problem.unconfirmed(),
        }
    }

    /// The same of a call that changes something and that the coordinator may have heard: if it has not answered, nobody
    /// knows what became of it.
    pub(super) fn unconfirmed(self) -> Self {
        match self {
            Self::Connection(reason) => {
                Self::Unconfirmed(format!("the connection broke before there was an answer ({reason})"))
            }
            Self::Silent | Self::SpeaksOtherwise(_) => Self::Unconfirmed(self.to_string()),
            _ => self,
        }
    }

    /// What somebody can do about it who has chosen the address by `--coordinator`.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Connection(_) | Self::Silent | Self::SpeaksOtherwise(_) | Self::Unimplemented => {
                Some("is it running there? --coordinator says where to look")
            }
            Self::Untrusted(_) => Some("--pin or --ca says whom to take for it"),
            Self::SpeaksHttp => Some("--coordinator wants the address of its --listen"),
            Self::Unconfirmed(_)
            | Self::Refused(_)
            | Self::NumberTaken(_)
            | Self::Unavailable(_)
            | Self::StandsBy { .. }
            | Self::NoneLeads(_)
            | Self::Nonsense(_) => None,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { coordinator, problem } = self;
        match (problem, problem.hint()) {
            (_, Some(hint)) => {
                write!(formatter, "failed to reach the coordinator at {coordinator}: {problem} ({hint})")
            }
            (Problem::Unconfirmed(reason), None) => {
                let silence = "the coordinator at";
                write!(
                    formatter,
                    "{silence} {coordinator} has not confirmed it: {reason}; it may be done all the same"
                )
            }
            (_, None) => write!(formatter, "{problem}"),
        }
    }
}

impl Error for ClientError {}

/// An answer that is none of gRPC, on its way through the client that tonic generates.
#[derive(Clone, Copy, Debug, Error)]
#[error("no answer of gRPC")]
pub(super) struct NotGrpc;

/// What has gone wrong with a server that has never answered by gRPC, on the same way.
#[derive(Debug, Error)]
#[error("no server of gRPC is known to be there")]
pub(super) struct Stranger(#[source] pub(super) tonic::transport::Error);

impl From<tonic::transport::Error> for Problem {
    fn from(error: tonic::transport::Error) -> Self {
        match untrusted(&error) {
            Some(reason) => Self::Untrusted(reason),
            None => Self::Connection(innermost(&error)),
        }
    }
}

impl From<InvalidMessage> for Problem {
    fn from(invalid: InvalidMessage) -> Self {
        Self::Nonsense(invalid.to_string())
    }
}

impl From<Status> for Problem {
    fn from(status: Status) -> Self {
        // What the coordinator itself has said has no source.
        if let Some(source) = status.source() {
            return Self::of_transport(source);
        }
        let words = || plain::line(status.message()).into_owned();
        match status.code() {
            Code::Unavailable if let Some(leader) = status.metadata().get(LEADER_KEY) => {
                Self::StandsBy { words: words(), leader: leader.to_str().unwrap_or_default().to_owned() }
            }
            Code::Unimplemented => Self::Unimplemented,
            Code::NotFound
            | Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::PermissionDenied
            | Code::Unauthenticated => Self::Refused(words()),
            Code::AlreadyExists => Self::NumberTaken(words()),
            Code::DataLoss => Self::Nonsense(words()),
            Code::Ok
            | Code::Cancelled
            | Code::Unknown
            | Code::DeadlineExceeded
            // What gRPC itself says at either end of a message that is too large, or whose length is garbled.
            | Code::OutOfRange
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Internal
            | Code::Unavailable => Self::Unavailable(words()),
        }
    }
}

impl Problem {
    /// What has happened below gRPC.
    fn of_transport(error: &(dyn Error + 'static)) -> Self {
        if is_due_to(error, |_: &NotGrpc| true) {
            Self::SpeaksHttp
        } else if is_due_to(error, hyper::Error::is_timeout) {
            Self::Silent
        } else if is_due_to(error, |_: &Stranger| true) && !is_due_to(error, is_of_network) {
            Self::SpeaksOtherwise(innermost(error))
        } else {
            Self::Connection(innermost(error))
        }
    }
}

/// Whether it is due to the way to the other end, and not to what that does, which may be to hang up.
fn is_of_network(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::BrokenPipe
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::UnexpectedEof
    )
}

/// Whether an error of this type that meets a condition is one of the causes.
fn is_due_to<E: Error + 'static>(error: &(dyn Error + 'static), condition: impl Fn(&E) -> bool) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref()).any(condition)
}

/// An error and what has caused it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |error: &&'a (dyn Error + 'static)| (*error).source())
}

/// Why a server is not taken for the coordinator, if that is the reason.
fn untrusted(error: &(dyn Error + 'static)) -> Option<String> {
    let wrapped = |cause: &(dyn Error + 'static)| -> Option<String> {
        let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
        let reason = inner.downcast_ref::<TlsError>()?;
        let distrusts = matches!(reason, TlsError::InvalidCertificate(_) | TlsError::General(_));
        distrusts.then(|| plain::line(&reason.to_string()).into_owned())
    };
    causes(error).find_map(wrapped)
}

/// The innermost reason of an error, which is the one that tells ("connection refused").
fn innermost(error: &(dyn Error + 'static)) -> String {
    let reason = causes(error).last().unwrap_or(error).to_string();
    plain::line(&reason).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: Code, words: &str, expected: Problem, shown: &str) {
        let problem = Problem::from(Status::new(code, words));
        assert_eq!(problem, expected);
        let error = ClientError { coordinator: "http://host:1/".to_owned(), problem };
        assert_eq!(error.to_string(), shown);
    }

    #[test]
    fn a_coordinators_words_are_told_as_they_are_whatever_they_are() {
        for words in ["grpc-status header missing", "timed out", "x/: y (is it running)"] {
            check(Code::NotFound, words, Problem::Refused(words.to_owned()), words);
            check(Code::Unavailable, words, Problem::Unavailable(words.to_owned()), words);
        }
        check(Code::NotFound, "a\u{1b}[2J", Problem::Refused(r"a\u{1b}[2J".to_owned()), r"a\u{1b}[2J");
    }

    #[test]
    fn a_coordinator_that_stands_by_says_so_and_may_name_who_leads() {
        let stands_by = |leader: &'static str, source: Option<io::Error>| {
            let mut status = Status::unavailable("this coordinator stands by\u{7}");
            status.metadata_mut().insert(LEADER_KEY, leader.parse().expect("ASCII"));
            if let Some(source) = source {
                status.set_source(std::sync::Arc::new(source));
            }
            Problem::of_change(status)
        };
        let words = r"this coordinator stands by\u{7}".to_owned();
        for leader in ["http://a:1/", "nonsense", ""] {
            let expected = Problem::StandsBy { words: words.clone(), leader: leader.to_owned() };
            assert_eq!(stands_by(leader, None), expected);
        }
        // What no coordinator has said names nobody.
        let broken = stands_by("http://a:1/", Some(ErrorKind::ConnectionReset.into()));
        assert!(matches!(broken, Problem::Unconfirmed(_)), "{broken:?}");
    }

    /// A worker would end for a refusal.
    #[test]
    fn a_message_that_is_too_large_is_no_refusal() {
        let words =
            "Error, decoded message length too large: found 17825802 bytes, the limit is: 16777216 bytes";
        check(Code::OutOfRange, words, Problem::Unavailable(words.to_owned()), words);
    }

    /// What was sent and not answered may be done; what could not be sent is not.
    #[test]
    fn a_change_without_an_answer_may_be_done() {
        let of = |source: Box<dyn Error + Send + Sync>| {
            let mut status = Status::unavailable("anything");
            status.set_source(source.into());
            Problem::of_change(status)
        };
        let reset = || io::Error::from(ErrorKind::ConnectionReset);
        let broken = "the connection broke before there was an answer (connection reset)";
        assert_eq!(of(reset().into()), Problem::Unconfirmed(broken.to_owned()));
        let refused = io::Error::from(ErrorKind::ConnectionRefused);
        let unsent = of(ConnectError(refused.into()).into());
        assert_eq!(unsent, Problem::Connection("connection refused".to_owned()));
        let said = Problem::of_change(Status::unavailable("busy"));
        assert_eq!(said, Problem::Unavailable("busy".to_owned()));
    }

    #[test]
    fn hints_are_given_once() {
        check(
            Code::Unimplemented,
            "",
            Problem::Unimplemented,
            "failed to reach the coordinator at http://host:1/: it is no coordinator, or of another version (is it \
             running there? --coordinator says where to look)",
        );
        let mut status = Status::unknown("anything");
        status.set_source(std::sync::Arc::new(NotGrpc));
        assert_eq!(Problem::from(status), Problem::SpeaksHttp);
        let mut status = Status::internal("anything");
        status.set_source(std::sync::Arc::new(io::Error::from(ErrorKind::ConnectionReset)));
        assert_eq!(Problem::from(status), Problem::Connection("connection reset".to_owned()));
    }
}
