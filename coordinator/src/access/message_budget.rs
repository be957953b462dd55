//! Lets the large messages of one caller's sessions take turns, within a limit of bytes.
//!
//! A message is read completely before it is decoded, and it may be large. Large messages take turns.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::Frame;
use queens_model::LARGEST_OF_WORKER;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tokio_util::sync::PollSemaphore;
use tonic::Status;

/// Messages above this size in bytes are large. The usual reports of workers are far smaller.
const LARGE: usize = 64 << 10;

/// Bytes of large messages that one principal may send at the same time: two of the largest.
const MOST_LARGE: usize = 2 * LARGEST_OF_WORKER;

/// How long a large message may wait for its turn, and then take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);

/// The bytes before each gRPC message: whether it is compressed, and its length.
const HEAD: usize = 5;

/// The bytes that all sessions of a principal may have in flight.
#[derive(Clone, Debug)]
pub(super) struct MessageBudget(Arc<Semaphore>);

impl Default for MessageBudget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST_LARGE)))
    }
}

impl MessageBudget {
    /// Returns the share of a new session.
    pub(super) fn for_session(&self) -> SessionBudget {
        SessionBudget { budget: self.0.clone(), taken: Arc::default() }
    }
}

/// The part of a budget that one session holds.
#[derive(Clone, Debug)]
pub(crate) struct SessionBudget {
    budget: Arc<Semaphore>,
    taken: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl SessionBudget {
    /// Returns whether a large message was read and is not processed yet.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Releases the budget of a message that was processed.
    pub(crate) fn give_back(&self) {
        self.take(None);
    }

    fn take(&self, permit: Option<OwnedSemaphorePermit>) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }

    /// Wraps the body of a request so that large messages wait for their turns.
    pub(crate) fn body(&self, body: Body) -> Body {
        Body::new(BudgetedBody {
            body,
            turns: PollSemaphore::new(self.budget.clone()),
            session_budget: self.clone(),
            read: Bytes::new(),
            at: At::Head { n_read: 0, length: 0 },
            too_late: None,
        })
    }
}

/// A position in a stream of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before a message. The length has been read as far as it has arrived.
    Head { n_read: usize, length: usize },
    /// Before a large message that waits for its turn.
    Turn { length: usize },
    /// In a message.
    Message { left: usize },
}

/// The body of a request in which large messages wait for their turns.
struct BudgetedBody {
    body: Body,
    turns: PollSemaphore,
    session_budget: SessionBudget,
    /// Received and not passed on yet.
    read: Bytes,
    at: At,
    /// Ends when a large message has taken too long.
    too_late: Option<Pin<Box<Sleep>>>,
}

impl BudgetedBody {
    /// Waits for the turn of a large message.
    fn poll_turn(&mut self, context: &mut Context<'_>, length: usize) -> Poll<Result<(), Status>> {
        self.session_budget.give_back();
        let n_bytes = u32::try_from(length).unwrap_or(u32::MAX);
        let permit = match self.turns.poll_acquire_many(context, n_bytes) {
            Poll::Ready(permit) => permit,
            Poll::Pending => {
                ready!(self.poll_too_late(context));
                let reason = "other large messages of this invitation are being read: try again later";
                return Poll::Ready(Err(Status::resource_exhausted(reason)));
            }
        };
        self.session_budget.take(permit);
        self.too_late = None;
        self.at = At::Message { left: length };
        Poll::Ready(Ok(()))
    }

    fn poll_too_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let too_late = self.too_late.get_or_insert_with(|| Box::pin(tokio::time::sleep(ARRIVAL)));
        too_late.as_mut().poll(context)
    }

    /// Returns the received bytes up to the next large message.
    fn next_piece(&mut self) -> Bytes {
        let mut n_passed = 0;
        while let Some(&byte) = self.read.get(n_passed) {
            match self.at {
                At::Turn { .. } => break,
                At::Head { n_read, length } => {
                    n_passed += 1;
                    // The first byte says whether the message is compressed.
                    let length = if n_read == 0 { 0 } else { length << 8 | usize::from(byte) };
                    self.at = match length {
                        _ if n_read + 1 < HEAD => At::Head { n_read: n_read + 1, length },
                        0 => At::Head { n_read: 0, length: 0 },
                        // Larger messages are rejected once their length is known.
                        LARGE..=LARGEST_OF_WORKER => At::Turn { length },
                        left => At::Message { left },
                    };
                }
                At::Message { left } => {
                    let n_bytes = left.min(self.read.len() - n_passed);
                    n_passed += n_bytes;
                    self.at = At::Message { left: left - n_bytes };
                    if left == n_bytes {
                        self.at = At::Head { n_read: 0, length: 0 };
                        self.too_late = None;
                    }
                }
            }
        }
        self.read.split_to(n_passed)
    }
}

impl HttpBody for BudgetedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            if let At::Turn { length } = self.at
                && let Err(status) = ready!(self.poll_turn(context, length))
            {
                return Poll::Ready(Some(Err(axum::Error::new(status))));
            }
            if !self.read.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(self.next_piece()))));
            }
            let is_large = self.session_budget.is_taken() && matches!(self.at, At::Message { .. });
            if is_large && self.poll_too_late(context).is_ready() {
                let reason = format!("a message did not arrive within {} s", ARRIVAL.as_secs());
                return Poll::Ready(Some(Err(axum::Error::new(Status::deadline_exceeded(reason)))));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.read = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;

    use tokio::sync::mpsc;
    use tokio::task::unconstrained;
    use tokio_stream::StreamExt;
    use tokio_stream::wrappers::UnboundedReceiverStream;

    use super::*;

    /// Returns the head and the bytes of a gRPC message.
    fn message(length: usize) -> Vec<u8> {
        let mut message = vec![0];
        message.extend(u32::try_from(length).expect("small").to_be_bytes());
        message.resize(HEAD + length, 7);
        message
    }

    /// A session of a principal, and the sender of its messages.
    struct Played {
        session_budget: SessionBudget,
        says: mpsc::UnboundedSender<Vec<u8>>,
        body: Body,
    }

    impl Played {
        fn new(budget: &MessageBudget) -> Self {
            let (says, said) = mpsc::unbounded_channel();
            let said = UnboundedReceiverStream::new(said).map(Ok::<Vec<u8>, Infallible>);
            let session_budget = budget.for_session();
            Self { body: session_budget.body(Body::from_stream(said)), session_budget, says }
        }

        fn say(&self, bytes: Vec<u8>) {
            self.says.send(bytes).expect("somebody listens");
        }

        /// Reads until nothing is pending; returns the number of bytes.
        async fn read(&mut self) -> Result<usize, Status> {
            let mut n_read = 0;
            loop {
                let next = poll_fn(|context| Poll::Ready(Pin::new(&mut self.body).poll_frame(context)));
                match unconstrained(next).await {
                    Poll::Ready(Some(Ok(frame))) => n_read += frame.into_data().expect("data").len(),
                    Poll::Ready(Some(Err(error))) => {
                        return Err(Status::from_error(error.into_inner()));
                    }
                    Poll::Ready(None) | Poll::Pending => return Ok(n_read),
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_is_said_arrives_however_it_is_cut() {
        let budget = MessageBudget::default();
        let mut played = Played::new(&budget);
        let all = [message(0), message(1), message(LARGE), message(LARGE - 1), message(3 * LARGE)].concat();
        for piece in [1, 2, 3, 4, 5, 6, 7, 1000, LARGE, all.len()] {
            for bytes in all.chunks(piece) {
                played.say(bytes.to_vec());
            }
            let mut n_read = 0;
            while n_read < all.len() {
                n_read += played.read().await.expect("nobody else says anything");
                played.session_budget.give_back();
            }
            assert_eq!(n_read, all.len());
        }
        assert_eq!(budget.0.available_permits(), MOST_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn large_messages_take_turns_and_small_ones_do_not_wait() {
        let budget = MessageBudget::default();
        let [mut first, mut second, mut third] = [(); 3].map(|()| Played::new(&budget));
        let (large, small) = (message(LARGEST_OF_WORKER), message(LARGE - 1));
        for played in [&mut first, &mut second] {
            played.say(large.clone());
            assert_eq!(played.read().await.expect("its turn"), large.len());
            assert!(played.session_budget.is_taken());
        }
        third.say(small.clone());
        third.say(large.clone());
        assert_eq!(third.read().await.expect("no turn yet"), small.len() + HEAD);
        first.session_budget.give_back();
        assert_eq!(third.read().await.expect("its turn"), LARGEST_OF_WORKER);
        // A session that ends releases its budget.
        drop((first, second, third));
        assert_eq!(budget.0.available_permits(), MOST_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_keeps_others_waiting_for_long() {
        let budget = MessageBudget::default();
        let [mut first, mut second, mut third] = [(); 3].map(|()| Played::new(&budget));
        let large = message(LARGEST_OF_WORKER);
        for played in [&mut first, &mut second] {
            played.say(large[..1000].to_vec());
            assert_eq!(played.read().await.expect("its turn"), 1000);
        }
        third.say(large.clone());
        assert_eq!(third.read().await.expect("no turn yet"), HEAD);
        tokio::time::advance(ARRIVAL).await;
        assert_eq!(third.read().await.expect_err("too late").code(), tonic::Code::ResourceExhausted);
        for played in [&mut first, &mut second] {
            assert_eq!(played.read().await.expect_err("too late").code(), tonic::Code::DeadlineExceeded);
        }
        // A pause between two messages does not count as time in a message.
        let mut fourth = Played::new(&budget);
        drop((first, second, third));
        fourth.say(message(LARGE));
        assert_eq!(fourth.read().await.expect("its turn"), HEAD + LARGE);
        fourth.session_budget.give_back();
        tokio::time::advance(10 * ARRIVAL).await;
        fourth.say(message(LARGE));
        assert_eq!(fourth.read().await.expect("its turn"), HEAD + LARGE);
    }
}
