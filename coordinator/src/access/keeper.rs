//! The thread that reads and writes the book of a running coordinator.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use queens_access::{Invitation, Pin, Proof};
use queens_messages::{Decision, Name};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::book::{Book, BookError};
use crate::journal::unix_ms;

/// What may wait for the thread.
const QUEUE: usize = 1024;

/// How long an answer may wait for its decision to be recorded.
const PATIENCE: Duration = Duration::from_secs(2);

/// A way to talk to the thread; cheap to clone. It ends with the last of these.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    commands: mpsc::Sender<Command>,
    known: Known,
}

/// All invitations as they were when the book was read last.
type Known = Arc<RwLock<Guests>>;

/// All who were invited.
#[derive(Debug, Default)]
struct Guests {
    by_number: HashMap<u64, Guest>,
    /// Of those that are known by a key, the latest invitation.
    by_key: HashMap<Pin, u64>,
}

/// Somebody who was invited, as long as that lasts.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    pub(super) invitation: Arc<Invitation>,
    /// Cancelled when the invitation ends.
    pub(super) ended: CancellationToken,
}

/// Why a worker can't call itself so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotBound {
    /// It may not, now or later.
    Refused(String),
    /// It is not known at present.
    Unknown(String),
}

#[derive(Debug)]
enum Command {
    /// Read the book again if it has changed.
    Look { reply: oneshot::Sender<()> },
    /// Record a decision, or that somebody was not let in.
    Note { decision: Decision, is_refusal: bool, reply: Option<oneshot::Sender<()>> },
    /// Tell decisions.
    Decisions { before: Option<u64>, reply: oneshot::Sender<Result<Vec<Decision>, BookError>> },
    /// Bind a name to an invitation.
    Bind { invitation: u64, name: Name, reply: oneshot::Sender<Result<(), BookError>> },
}

impl Keeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// If it can't be started, or the book can't be read.
    pub(super) fn start(book: Book) -> Result<Self, StartFailure> {
        let known = Known::default();
        let mut keeping = Keeping { version: None, book, known: known.clone(), troubled: false };
        keeping.read()?;
        let (commands, queue) = mpsc::channel(QUEUE);
        thread::Builder::new().name("access".to_owned()).spawn(move || keeping.run(queue))?;
        Ok(Self { commands, known })
    }

    /// Somebody who was invited, open or not.
    pub(super) fn guest(&self, invitation: u64) -> Option<Guest> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).by_number.get(&invitation).cloned()
    }

    /// Whoever was invited last with this key.
    pub(super) fn guest_with_key(&self, key: &Pin) -> Option<Guest> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.by_key.get(key).and_then(|invitation| known.by_number.get(invitation)).cloned()
    }

    /// Reads what other processes have changed in the book.
    pub(super) async fn look(&self) {
        let (reply, answer) = oneshot::channel();
        if self.commands.send(Command::Look { reply }).await.is_ok() {
            _ = answer.await;
        }
    }

    /// Records a decision; it is durable when this returns, if that does not take long.
    pub(super) async fn note(&self, decision: Decision) {
        let (reply, answer) = oneshot::channel();
        let note = async {
            let command = Command::Note { decision, is_refusal: false, reply: Some(reply) };
            if self.commands.send(command).await.is_ok() {
                _ = answer.await;
            }
        };
        if tokio::time::timeout(PATIENCE, note).await.is_err() {
            warn!("a decision is not recorded in time");
        }
    }

    /// The same for what waits for nothing; and that somebody was not let in.
    pub(super) fn note_soon(&self, decision: Decision, is_refusal: bool) {
        if self.commands.try_send(Command::Note { decision, is_refusal, reply: None }).is_err() {
            warn!("a decision is not recorded: there is too much to do");
        }
    }

    /// The latest decisions, or the latest before one.
    pub(super) async fn decisions(&self, before: Option<u64>) -> Result<Vec<Decision>, String> {
        let (reply, answer) = oneshot::channel();
        let gone = || "the coordinator is stopping".to_owned();
        self.commands.send(Command::Decisions { before, reply }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?.map_err(|error| error.to_string())
    }

    pub(super) async fn bind(&self, invitation: u64, name: Name) -> Result<(), NotBound> {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(Command::Bind { invitation, name, reply }).await;
        let answer = match sent {
            Ok(()) => answer.await.ok(),
            Err(_) => None,
        };
        match answer {
            Some(Ok(())) => Ok(()),
            Some(Err(error @ BookError::Unusable { .. })) => Err(NotBound::Unknown(error.to_string())),
            Some(Err(refused)) => Err(NotBound::Refused(refused.to_string())),
            None => Err(NotBound::Unknown("the coordinator is stopping".to_owned())),
        }
    }
}

/// Why the thread does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartFailure {
    /// The book can't be read.
    #[error(transparent)]
    Book(#[from] BookError),
    /// There is no thread.
    #[error("failed to start the thread that keeps invitations: {0}")]
    Thread(#[from] io::Error),
}

struct Keeping {
    book: Book,
    /// What of the book is known, by SQLite's count of what others have written.
    version: Option<i64>,
    known: Known,
    /// Whether the book could not be read, which is said once.
    troubled: bool,
}

impl Keeping {
    fn run(mut self, mut queue: mpsc::Receiver<Command>) {
        while let Some(command) = queue.blocking_recv() {
            match command {
                Command::Look { reply } => {
                    self.look();
                    _ = reply.send(());
                }
                Command::Note { decision, is_refusal, reply } => {
                    if let Err(error) = self.book.note(&[decision], is_refusal) {
                        warn!(%error, "a decision can't be recorded");
                    }
                    _ = reply.map(|reply| reply.send(()));
                }
                Command::Decisions { before, reply } => _ = reply.send(self.book.decisions(before)),
                Command::Bind { invitation, name, reply } => {
                    let bound = self.book.bind(invitation, &name);
                    if bound.is_ok() {
                        self.note_bound(invitation, name);
                    }
                    _ = reply.send(bound);
                }
            }
        }
    }

    fn look(&mut self) {
        match self.read() {
            Ok(()) => self.troubled = false,
            Err(error) if !self.troubled => {
                self.troubled = true;
                warn!(%error, "invitations can't be read: those known before are gone by");
            }
            Err(_) => {}
        }
        self.end_expired();
    }

    /// Reads all invitations, if others may have changed them.
    fn read(&mut self) -> Result<(), BookError> {
        let version = self.book.version()?;
        if self.version == Some(version) {
            return Ok(());
        }
        let all = self.book.invitations()?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *known).by_number;
        // In the order of their numbers: the latest of a key stays.
        for invitation in all {
            let number = invitation.number;
            if let Proof::Key(key) = invitation.proof {
                known.by_key.insert(key, number);
            }
            let ended = before.remove(&number).map(|guest| guest.ended).unwrap_or_default();
            known.by_number.insert(number, Guest { invitation: Arc::new(invitation), ended });
        }
        // Whoever is not in the book any more was put out by hand.
        before.values().for_each(|guest| guest.ended.cancel());
        drop(known);
        self.version = Some(version);
        self.end_expired();
        Ok(())
    }

    /// A name is bound: nothing else has changed by that. Takes time with the names of that invitation.
    fn note_bound(&self, number: u64, name: Name) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(guest) = known.by_number.get_mut(&number) {
            let mut invitation = (*guest.invitation).clone();
            invitation.names.insert(name);
            guest.invitation = Arc::new(invitation);
        }
    }

    fn end_expired(&self) {
        let now_ms = unix_ms();
        let has_ended = |invitation: &Invitation| invitation.is_open(now_ms).is_err();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known
            .by_number
            .values()
            .filter(|guest| has_ended(&guest.invitation))
            .for_each(|guest| guest.ended.cancel());
    }
}
