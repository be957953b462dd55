//! Errors of the coordinator's clients, by type.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::iter::successors;

use queens_auth::tls_reason;
use queens_model::plain;
use thiserror::Error;
use tokio_rustls::rustls::Error as TlsError;
use tonic::{Code, ConnectError, Status};

use crate::LEADER_KEY;
use crate::convert::InvalidMessage;

/// The failure of an operator's call.
///
/// Only its text tells people what they can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    /// The URL of the coordinator.
    pub coordinator: String,
    /// The cause.
    pub problem: Problem,
}

/// The cause of a failed call. Its text names neither the coordinator nor a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// No connection could be opened, or it broke.
    #[error("{0}")]
    Connection(String),
    /// No answer came in time.
    #[error("no answer")]
    Silent,
    /// A change was sent and not answered, for this reason.
    #[error("{0}, but it may be done all the same")]
    Unconfirmed(String),
    /// The server can't prove that it is the coordinator.
    #[error("it is not known to be the coordinator: {0}")]
    Untrusted(String),
    /// An HTTP server answered that does not speak gRPC.
    #[error("what answers there speaks HTTP and is no coordinator, or it is the address of its --http")]
    SpeaksHttp,
    /// The server does not speak HTTP/2, or hangs up.
    #[error(
        "what answers there is no coordinator, or one that is just ending, or one that is reached by https: {0}"
    )]
    SpeaksOtherwise(String),
    /// A gRPC server answered that does not know the call.
    #[error("it is no coordinator, or of another version")]
    Unimplemented,
    /// The coordinator refuses the call, in its own words, and would refuse it again.
    #[error("{0}")]
    Refused(String),
    /// The coordinator refuses a worker because another has its number, in its own words. The worker can draw another.
    #[error("{0}")]
    NumberTaken(String),
    /// The coordinator can't execute the call now, in its own words: it is stopping, or busy.
    #[error("{0}")]
    Unavailable(String),
    /// The coordinator is a standby and has done nothing.
    #[error("{words}")]
    StandsBy {
        /// Its own words.
        words: String,
        /// The leader's URL as the standby sent it, unvalidated; empty if it sent none.
        leader: String,
    },
    /// None of several coordinators could be asked: their URLs, and the reasons.
    #[error("none of the coordinators that can be reached leads: {0}")]
    NoneLeads(String),
    /// The coordinator's answer is invalid.
    #[error("the coordinator sent nonsense: {0}")]
    Nonsense(String),
}

impl Problem {
    /// Returns whether the same call would fail again.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::SpeaksHttp | Self::Unimplemented | Self::Refused(_) | Self::Nonsense(_))
    }

    /// Classifies the failure of a call that changes something.
    pub(super) fn of_change(status: Status) -> Self {
        let is_due = |test: fn(&(dyn Error + 'static)) -> bool| status.source().is_some_and(test);
        let is_unsent = is_due(|error| is_due_to(error, |_: &ConnectError| true));
        // A server that is not a valid coordinator does not change anything.
        let has_hung_up = is_due(|error| is_due_to(error, |_: &io::Error| true));
        match Self::from(status) {
            problem if is_unsent => problem,
            problem @ Self::SpeaksOtherwise(_) if !has_hung_up => problem,
            problem => problem.unconfirmed(),
        }
    }

    /// Converts the failure of a change that the coordinator may have received. Without an answer, its outcome is
    /// unknown.
    pub(super) fn unconfirmed(self) -> Self {
        match self {
            Self::Connection(reason) => {
                Self::Unconfirmed(format!("the connection broke before there was an answer ({reason})"))
            }
            Self::Silent | Self::SpeaksOtherwise(_) => Self::Unconfirmed(self.to_string()),
            _ => self,
        }
    }

    /// Returns a remedy for a person who has given the address by `--coordinator`.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Connection(_) | Self::Silent | Self::Unimplemented => {
                Some("is it running there? --coordinator says where to look")
            }
            Self::SpeaksOtherwise(_) => {
                Some("--coordinator wants the address of its --listen, with https:// if it has TLS")
            }
            Self::Untrusted(_) => Some("--pin or --ca says whom to take for it"),
            Self::SpeaksHttp => Some("--coordinator wants the address of its --listen"),
            _ => None,
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

/// A response that is not gRPC, passed through the client that tonic generates.
#[derive(Clone, Copy, Debug, Error)]
#[error("no answer of gRPC")]
pub(super) struct NotGrpc;

/// An error of a server that has never answered by gRPC, passed in the same way.
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
        // A status that the coordinator itself sent has no source.
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
            _ => Self::Unavailable(words()),
        }
    }
}

impl Problem {
    /// Classifies an error below gRPC.
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

/// Returns whether the network failed, rather than the other end, which may hang up.
fn is_of_network(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::BrokenPipe
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::UnexpectedEof
    )
}

/// Returns whether one of the causes is an error of this type that meets a condition.
fn is_due_to<E: Error + 'static>(error: &(dyn Error + 'static), condition: impl Fn(&E) -> bool) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref()).any(condition)
}

/// Iterates over an error and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |error: &&'a (dyn Error + 'static)| (*error).source())
}

/// Returns why the server's identity was rejected, if that is the cause.
fn untrusted(error: &(dyn Error + 'static)) -> Option<String> {
    let wrapped = |cause: &(dyn Error + 'static)| -> Option<String> {
        let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
        let reason = inner.downcast_ref::<TlsError>()?;
        let distrusts = matches!(reason, TlsError::InvalidCertificate(_) | TlsError::General(_));
        distrusts.then(|| plain::line(&reason.to_string()).into_owned())
    };
    causes(error).find_map(wrapped)
}

/// Returns the innermost cause of an error, which is the most telling ("connection refused").
fn innermost(error: &(dyn Error + 'static)) -> String {
    let reason = causes(error).last().unwrap_or(error).to_string();
    plain::line(tls_reason(&reason)).into_owned()
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::InvalidMessage as InvalidMessageOfTls;

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
        // An error that no coordinator sent names no leader.
        let broken = stands_by("http://a:1/", Some(ErrorKind::ConnectionReset.into()));
        assert!(matches!(broken, Problem::Unconfirmed(_)), "{broken:?}");
    }

    /// A refusal would end the worker.
    #[test]
    fn a_message_that_is_too_large_is_no_refusal() {
        let words =
            "Error, decoded message length too large: found 17825802 bytes, the limit is: 16777216 bytes";
        check(Code::OutOfRange, words, Problem::Unavailable(words.to_owned()), words);
    }

    /// A change that was sent and not answered may be done; one that could not be sent is not.
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
    fn errors_of_tls_are_told_without_the_terms_of_its_library() {
        let said = |error: io::Error| innermost(&error);
        let corrupt = TlsError::InvalidMessage(InvalidMessageOfTls::InvalidContentType);
        let mixed_up = said(io::Error::new(ErrorKind::InvalidData, corrupt));
        assert!(mixed_up.starts_with("the other end does not speak TLS"), "{mixed_up}");
        let link = "peer closed connection without sending TLS close_notify: https://docs.rs/rustls/…";
        assert_eq!(said(io::Error::new(ErrorKind::UnexpectedEof, link)), "the other end hung up");
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
