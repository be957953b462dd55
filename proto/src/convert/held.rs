//! The leases that a worker holds when it connects again: a Hello names them in pieces, each far below the size that a
//! coordinator accepts.

use queens_model::{Held, Hello, LeaseId, ToCoordinator};

use super::check::{InvalidMessage, at_most, identity, spans};
use crate::pb::{self, worker_message};

/// The most leases and spans in a piece.
const MOST_IN_PIECE: usize = 4096;

/// The most leases that a worker can hold, including finished ones that are not acknowledged.
const MOST_HELD: usize = 65_536;

/// The most spans in all of them.
const MOST_SPANS_HELD: usize = 1_000_000;

/// Converts a message to those that are sent: a Hello may take several.
pub fn in_pieces(message: ToCoordinator) -> Vec<pb::WorkerMessage> {
    let ToCoordinator::Hello(mut hello) = message else { return vec![message.into()] };
    let mut pieces = pieces(std::mem::take(&mut hello.held)).into_iter();
    hello.held = pieces.next().unwrap_or_default();
    let mut messages = vec![ToCoordinator::Hello(hello).into()];
    for held in pieces {
        match messages.last_mut().and_then(|last: &mut pb::WorkerMessage| last.message.as_mut()) {
            Some(worker_message::Message::Hello(pb::Hello { held: Some(last), .. })) => last.more = true,
            Some(worker_message::Message::Held(last)) => last.more = true,
            _ => {}
        }
        let message = worker_message::Message::Held(held.into());
        messages.push(pb::WorkerMessage { message: Some(message) });
    }
    messages
}

/// Divides leases into pieces of at most [`MOST_IN_PIECE`] leases and spans. A long lease is in several.
fn pieces(held: Vec<Held>) -> Vec<Vec<Held>> {
    let (mut pieces, mut piece, mut n_left) = (Vec::new(), Vec::new(), MOST_IN_PIECE);
    for Held { lease, job, mut spans } in held {
        loop {
            if n_left < 1 + spans.len().min(1) {
                pieces.push(std::mem::take(&mut piece));
                n_left = MOST_IN_PIECE;
            }
            let rest = spans.split_off(spans.len().min(n_left - 1));
            n_left -= 1 + spans.len();
            piece.push(Held { lease, job, spans });
            if rest.is_empty() {
                break;
            }
            spans = rest;
        }
    }
    pieces.push(piece);
    pieces
}

impl From<Vec<Held>> for pb::HeldLeases {
    fn from(held: Vec<Held>) -> Self {
        let held = held.into_iter().map(|Held { lease, job, spans }| pb::HeldLease {
            lease: lease.0,
            job: job.to_bytes().to_vec(),
            spans: spans.into_iter().map(pb::Span::from).collect(),
        });
        Self { leases: held.collect(), more: false }
    }
}

/// Converts one piece.
pub(super) fn held(piece: pb::HeldLeases) -> Result<Vec<Held>, InvalidMessage> {
    let held = |held: pb::HeldLease| -> Result<Held, InvalidMessage> {
        Ok(Held { lease: LeaseId(held.lease), job: identity(&held.job)?, spans: spans(held.spans)? })
    };
    piece.leases.into_iter().map(held).collect()
}

/// Puts the pieces of a Hello together.
#[derive(Debug)]
pub struct HeldPieces {
    hello: Box<Hello>,
    n_spans: usize,
}

impl HeldPieces {
    /// Begins with a Hello and the leases in it.
    #[must_use]
    pub fn of(hello: Box<Hello>) -> Self {
        let n_spans = hello.held.iter().map(|held| held.spans.len()).sum();
        Self { hello, n_spans }
    }

    /// Adds the leases of the next message. Returns whether more follow.
    ///
    /// # Errors
    /// If the message has something else, or there are more leases or spans than a worker can hold.
    pub fn add(&mut self, message: pb::WorkerMessage) -> Result<bool, InvalidMessage> {
        let Some(worker_message::Message::Held(piece)) = message.message else {
            return Err(InvalidMessage::Missing("the rest of the held leases"));
        };
        let more = piece.more;
        for mut next in held(piece)? {
            self.n_spans += next.spans.len();
            match self.hello.held.last_mut() {
                Some(last) if (last.lease, last.job) == (next.lease, next.job) => {
                    last.spans.append(&mut next.spans);
                }
                _ => self.hello.held.push(next),
            }
        }
        at_most("the number of held leases", self.hello.held.len(), MOST_HELD)?;
        at_most("the number of held spans", self.n_spans, MOST_SPANS_HELD)?;
        Ok(more)
    }

    /// Returns the whole Hello.
    #[must_use]
    pub fn whole(self) -> Box<Hello> {
        self.hello
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use queens_model::{HalvesSkill, JobIdentity, MOST_DELTAS, MOST_THREADS, Name, Report, Speed, WorkerId};
    use queens_solver::{Count, Span};

    use super::*;

    /// The most bytes of a worker's message.
    const LARGEST: usize = 256 << 10;

    fn span(number: u64) -> Span {
        Span::new(u32::MAX, u64::MAX - 2 * number - 2, u64::MAX - 2 * number - 1).expect("a span")
    }

    fn hello(leases: &[usize]) -> Hello {
        let name = Name::of_any(&"\u{20000}".repeat(100));
        let job = JobIdentity::from_bytes(&[7; 16]).expect("an identity");
        let held = |(number, n_spans): (u64, &usize)| Held {
            lease: LeaseId(u64::MAX - number),
            job,
            spans: (0..*n_spans as u64).map(span).collect(),
        };
        Hello {
            worker: WorkerId(u64::MAX),
            name: name.clone(),
            build: name.clone(),
            kernel: name,
            n_threads: MOST_THREADS,
            speed: Speed::try_from(1e6).expect("a speed"),
            decomposition: u32::MAX,
            halves: HalvesSkill { decomposition: u32::MAX, speed: Speed::ZERO },
            machine: u64::MAX,
            held: (0..).zip(leases).map(held).collect(),
        }
    }

    #[track_caller]
    fn check(leases: &[usize], n_messages: usize) {
        let said = hello(leases);
        let mut messages = in_pieces(ToCoordinator::Hello(Box::new(said.clone()))).into_iter();
        assert_eq!(messages.len(), n_messages);
        assert!(messages.as_slice().iter().all(|message| message.encoded_len() < LARGEST));
        let first = messages.next().expect("a Hello");
        let mut more = match &first.message {
            Some(worker_message::Message::Hello(hello)) => hello.held.as_ref().is_some_and(|held| held.more),
            _ => false,
        };
        let first = match ToCoordinator::try_from(first) {
            Ok(ToCoordinator::Hello(first)) => first,
            other => panic!("{other:?}"),
        };
        let mut heard = HeldPieces::of(first);
        for message in messages {
            assert!(more);
            more = heard.add(message).expect("a piece");
        }
        assert!(!more);
        assert_eq!(*heard.whole(), said);
    }

    #[test]
    fn a_hello_comes_in_pieces_and_is_put_together() {
        check(&[], 1);
        check(&[0, 1, 0], 1);
        check(&[4095], 1);
        check(&[4096], 2);
        check(&[4094, 0], 1);
        check(&[4095, 0], 2);
        check(&[1000; 100], 25);
        check(&[0; 2 * MOST_THREADS as usize], 2);
        check(&[20_000, 0, 3, 20_000], 10);
    }

    #[test]
    fn no_worker_holds_so_much() {
        let hello = |held| Box::new(Hello { held, ..hello(&[]) });
        let add = |leases: &[usize]| {
            let mut pieces = HeldPieces::of(hello(self::hello(&[1]).held));
            let message = worker_message::Message::Held(self::hello(leases).held.into());
            pieces.add(pb::WorkerMessage { message: Some(message) })
        };
        assert_eq!(add(&[MOST_SPANS_HELD - 1]), Ok(false), "the first lease goes on");
        add(&[MOST_SPANS_HELD]).expect_err("too many spans");
        assert_eq!(add(&[0; MOST_HELD]), Ok(false));
        add(&[0; MOST_HELD + 1]).expect_err("too many leases");
        let mut pieces = HeldPieces::of(hello(Vec::new()));
        pieces.add(ToCoordinator::Goodbye.into()).expect_err("something else");
    }

    #[test]
    fn a_report_is_small_enough() {
        let job = JobIdentity::from_bytes(&[7; 16]).expect("an identity");
        let count = Count { solutions: i64::MAX as u64, work: i64::MAX as u64 };
        let delta = queens_model::Delta {
            job,
            lease: LeaseId(u64::MAX),
            span: span(0),
            count,
            duration: std::time::Duration::from_micros(i64::MAX as u64),
        };
        let report = Report {
            sequence: u64::MAX,
            deltas: vec![delta; MOST_DELTAS],
            finished: vec![LeaseId(u64::MAX); 2 * MOST_THREADS as usize],
        };
        assert!(pb::WorkerMessage::from(ToCoordinator::Report(report)).encoded_len() < LARGEST);
    }
}
