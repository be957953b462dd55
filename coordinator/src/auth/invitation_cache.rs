//! The thread that reads and writes the book of a running coordinator.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use queens_auth::{Invitation, Pin, Proof};
use queens_model::{AuditEntry, Name, Party};
use queens_store::unix_ms;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::audit_entry::entry;
use super::invitation_store::{InvitationStore, PublishedAddress};
use super::invitation_store_error::InvitationStoreError;

/// What may wait for the thread.
const QUEUE: usize = 1024;

/// Decisions that are kept while they can't be recorded: the latest.
const MOST_UNRECORDED: usize = 1000;

/// How long an answer may wait for its decision to be recorded.
const PATIENCE: Duration = Duration::from_secs(2);

/// A way to talk to the thread; cheap to clone. It ends with the last of these.
#[derive(Clone, Debug)]
pub(crate) struct InvitationCache {
    commands: mpsc::Sender<Command>,
    known: Known,
}

/// All invitations as they were when the book was read last.
type Known = Arc<RwLock<Principals>>;

/// All who were invited.
#[derive(Debug, Default)]
struct Principals {
    by_number: HashMap<u64, Principal>,
    /// Their numbers, which may be others' when invitations were put back to an earlier state.
    by_party: HashMap<Party, u64>,
    /// Of those that are known by a key, the latest invitation.
    by_key: HashMap<Pin, u64>,
    /// Whose the names of workers are.
    names: HashMap<Name, Party>,
}

/// Somebody who was invited, as long as that lasts.
#[derive(Clone, Debug)]
pub(crate) struct Principal {
    pub(super) invitation: Arc<Invitation>,
    /// Cancelled when the invitation ends.
    pub(super) ended: CancellationToken,
}

/// Why a worker can't call itself so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NameError {
    /// It may not, now or later.
    Refused(String),
    /// It is not known at present.
    Unknown(String),
}

#[derive(Debug)]
enum Command {
    /// Read the book again if it has changed. Answered with whether it can be read.
    Look { reply: oneshot::Sender<bool> },
    /// Record a decision, or that somebody was not let in.
    Note { audit_entry: AuditEntry, is_refusal: bool, reply: Option<oneshot::Sender<()>> },
    /// Tell decisions.
    ReadAuditLog { before: Option<u64>, refusals: bool, reply: Told },
    /// Bind a name to an invitation.
    Bind { party: Party, name: Name, reply: oneshot::Sender<Result<(), NameError>> },
}

impl InvitationCache {
    /// Starts the thread. It notes where the coordinator is reached, if that is given. A book on a server that can't be
    /// reached is read, and written, as soon as it can: nobody is known before.
    ///
    /// # Errors
    /// If it can't be started, or the book can't be used.
    pub(super) fn start(
        store: InvitationStore,
        place: Option<PublishedAddress>,
    ) -> Result<Self, StartFailure> {
        let known = Known::default();
        let mut keeping = CacheThread::new(store, place, known.clone());
        match keeping.catch_up() {
            Err(error @ InvitationStoreError::Away { .. }) => keeping.in_trouble(&error),
            caught_up => caught_up?,
        }
        let (commands, queue) = mpsc::channel(QUEUE);
        thread::Builder::new().name("access".to_owned()).spawn(move || keeping.run(queue))?;
        Ok(Self { commands, known })
    }

    /// Somebody who was invited, open or not.
    pub(super) fn principal(&self, invitation: u64) -> Option<Principal> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).by_number.get(&invitation).cloned()
    }

    /// The same, by what stays theirs.
    pub(super) fn principal_of(&self, party: Party) -> Option<Principal> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.by_party.get(&party).and_then(|invitation| known.by_number.get(invitation)).cloned()
    }

    /// The open invitations that a text means: that of this number, or those of workers with this label.
    pub(super) fn meant_by(&self, text: &str) -> Vec<Arc<Invitation>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let principals = known.by_number.values().map(|principal| &principal.invitation);
        let is_meant = |invitation: &&Arc<Invitation>| {
            let has_label = invitation.label.as_ref().is_some_and(|label| label.as_str() == text);
            invitation.number.to_string() == text || has_label
        };
        principals.filter(is_meant).cloned().collect()
    }

    /// Whoever was invited last with this key.
    pub(super) fn principal_with_key(&self, key: &Pin) -> Option<Principal> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.by_key.get(key).and_then(|invitation| known.by_number.get(invitation)).cloned()
    }

    /// Reads what other processes have changed in the book. Whether it could be read.
    pub(super) async fn look(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Look { reply }).await.is_ok() && answer.await.unwrap_or_default()
    }

    /// Records a decision; it is durable when this returns, if that does not take long.
    pub(super) async fn note(&self, audit_entry: AuditEntry) {
        let (reply, answer) = oneshot::channel();
        let note = async {
            let command = Command::Note { audit_entry, is_refusal: false, reply: Some(reply) };
            if self.commands.send(command).await.is_ok() {
                _ = answer.await;
            }
        };
        if tokio::time::timeout(PATIENCE, note).await.is_err() {
            warn!("a decision is not recorded in time");
        }
    }

    /// The same for what waits for nothing; and that somebody was not let in.
    pub(super) fn note_soon(&self, audit_entry: AuditEntry, is_refusal: bool) {
        if self.commands.try_send(Command::Note { audit_entry, is_refusal, reply: None }).is_err() {
            warn!("a decision is not recorded: there is too much to do");
        }
    }

    /// The latest decisions, or the latest before one, with refusals or without.
    pub(super) async fn audit_entries(
        &self,
        before: Option<u64>,
        refusals: bool,
    ) -> Result<Vec<AuditEntry>, String> {
        let (reply, answer) = oneshot::channel();
        let gone = || "the coordinator is stopping".to_owned();
        self.commands.send(Command::ReadAuditLog { before, refusals, reply }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?.map_err(|error| error.to_string())
    }

    /// Sees to it that a worker may call itself so, now and later. Takes no time with how many names there are.
    pub(super) async fn bind(&self, party: Party, name: &Name) -> Result<(), NameError> {
        let owner = self.known.read().unwrap_or_else(PoisonError::into_inner).names.get(name).copied();
        if owner == Some(party) {
            return Ok(());
        }
        let gone = || NameError::Unknown("the coordinator is stopping".to_owned());
        let (reply, answer) = oneshot::channel();
        let command = Command::Bind { party, name: name.clone(), reply };
        self.commands.send(command).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

/// Why the thread does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartFailure {
    /// The book can't be read.
    #[error(transparent)]
    InvitationStore(#[from] InvitationStoreError),
    /// There is no thread.
    #[error("failed to start the thread that keeps invitations: {0}")]
    Thread(#[from] io::Error),
}

struct CacheThread {
    store: InvitationStore,
    /// What of the book is known, by its count of what others have written.
    version: Option<i64>,
    /// Where the coordinator is reached, as long as that is not noted.
    place: Option<PublishedAddress>,
    known: Known,
    /// Whether the book could not be read, which is said once.
    troubled: bool,
    /// Decisions that could not be recorded, and are with the next command.
    unrecorded: Vec<AuditEntry>,
}

/// Where decisions are told.
type Told = oneshot::Sender<Result<Vec<AuditEntry>, InvitationStoreError>>;

/// What waits for the thread, by kind.
#[derive(Default)]
struct Waiting {
    /// Names to bind, and who waits for each.
    wanted: Vec<(Party, Name)>,
    wanting: Vec<oneshot::Sender<Result<(), NameError>>>,
    /// Decisions and refusals, which the flag marks, as they came.
    entries: Vec<(bool, AuditEntry)>,
    /// Who waits for these to be recorded.
    deciding: Vec<oneshot::Sender<()>>,
    looking: Vec<oneshot::Sender<bool>>,
    reading: Vec<(Option<u64>, bool, Told)>,
}

impl Waiting {
    fn add(&mut self, command: Command) {
        match command {
            Command::Look { reply } => self.looking.push(reply),
            Command::Note { audit_entry, is_refusal, reply } => {
                self.entries.push((is_refusal, audit_entry));
                self.deciding.extend(reply);
            }
            Command::ReadAuditLog { before, refusals, reply } => self.reading.push((before, refusals, reply)),
            Command::Bind { party, name, reply } => {
                self.wanted.push((party, name));
                self.wanting.push(reply);
            }
        }
    }
}

impl CacheThread {
    fn new(store: InvitationStore, place: Option<PublishedAddress>, known: Known) -> Self {
        Self { version: None, store, place, known, troubled: false, unrecorded: Vec::new() }
    }

    /// Does what is asked for until nobody can ask any more. All that waits is written together: that takes one wait
    /// for the disk, not one for each.
    fn run(mut self, mut queue: mpsc::Receiver<Command>) {
        let mut commands = Vec::with_capacity(QUEUE);
        while queue.blocking_recv_many(&mut commands, QUEUE) > 0 {
            let mut waiting = Waiting::default();
            commands.drain(..).for_each(|command| waiting.add(command));
            self.bind(waiting.wanted, waiting.wanting);
            self.note(waiting.entries);
            for done in waiting.deciding {
                _ = done.send(());
            }
            if !waiting.looking.is_empty() {
                let is_read = self.look();
                for looking in waiting.looking {
                    _ = looking.send(is_read);
                }
            }
            for (before, refusals, reply) in waiting.reading {
                _ = reply.send(self.store.audit_entries(before, refusals));
            }
        }
    }

    fn bind(&mut self, wanted: Vec<(Party, Name)>, wanting: Vec<oneshot::Sender<Result<(), NameError>>>) {
        if wanted.is_empty() {
            return;
        }
        let bound: Vec<Result<(), NameError>> = match self.store.bind(&wanted) {
            Ok(bound) => {
                let refused = |error: InvitationStoreError| NameError::Refused(error.to_string());
                bound.into_iter().map(|one| one.map_err(refused)).collect()
            }
            Err(error) => vec![Err(NameError::Unknown(error.to_string())); wanted.len()],
        };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let of_each = wanted.into_iter().zip(&bound).filter(|(_, bound)| bound.is_ok());
        known.names.extend(of_each.map(|((party, name), _)| (name, party)));
        drop(known);
        for (reply, bound) in wanting.into_iter().zip(bound) {
            _ = reply.send(bound);
        }
    }

    /// Records entries in the order in which they came, behind those that could not be recorded before.
    fn note(&mut self, new: Vec<(bool, AuditEntry)>) {
        if new.is_empty() && self.unrecorded.is_empty() {
            return;
        }
        let before = std::mem::take(&mut self.unrecorded).into_iter().map(|audit_entry| (false, audit_entry));
        let entries: Vec<_> = before.chain(new).collect();
        // A connection that was lost is noticed when it is used, and then another is made. Better twice than never.
        let noted = match self.store.note(&entries) {
            Err(InvitationStoreError::Away { .. }) => self.store.note(&entries),
            noted => noted,
        };
        let Err(error) = noted else { return };
        warn!(%error, n_decisions = entries.len(), "decisions can't be recorded");
        if matches!(error, InvitationStoreError::Away { .. }) {
            let audit_entries = entries.into_iter().filter(|(is_refusal, _)| !is_refusal);
            self.unrecorded = audit_entries.map(|(_, audit_entry)| audit_entry).collect();
            let n_too_many = self.unrecorded.len().saturating_sub(MOST_UNRECORDED);
            self.unrecorded.drain(..n_too_many);
        }
    }

    /// Whether the book could be read.
    fn look(&mut self) -> bool {
        let caught_up = self.catch_up();
        match &caught_up {
            Ok(()) if self.troubled => {
                self.troubled = false;
                info!("invitations can be read again");
            }
            Ok(()) => {}
            Err(error) => self.in_trouble(error),
        }
        self.end_expired();
        caught_up.is_ok()
    }

    fn in_trouble(&mut self, error: &InvitationStoreError) {
        if !self.troubled {
            self.troubled = true;
            warn!(%error, "invitations can't be read: those known before are gone by");
        }
    }

    /// Reads what is new, and notes what is not noted yet.
    fn catch_up(&mut self) -> Result<(), InvitationStoreError> {
        self.read()?;
        if let Some(place) = &self.place {
            self.store.note_place(place)?;
            self.place = None;
        }
        Ok(())
    }

    /// Reads all invitations, if others may have changed them.
    fn read(&mut self) -> Result<(), InvitationStoreError> {
        let version = self.store.version()?;
        if self.version == Some(version) {
            return Ok(());
        }
        let (all, names) = (self.store.invitations()?, self.store.names()?);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut *known).by_number.into_values();
        let mut before: HashMap<Party, Principal> =
            before.map(|principal| (principal.invitation.party, principal)).collect();
        known.names = names;
        // In the order of their numbers: the latest of a key stays.
        for invitation in all {
            let (number, party) = (invitation.number, invitation.party);
            if let Proof::Key(key) = invitation.proof {
                known.by_key.insert(key, number);
            }
            let ended = before.remove(&party).map(|principal| principal.ended).unwrap_or_default();
            known.by_party.insert(party, number);
            known.by_number.insert(number, Principal { invitation: Arc::new(invitation), ended });
        }
        // Whoever is not in the book any more was removed by hand, or the book was put back to what it was before.
        before.values().for_each(|principal| principal.ended.cancel());
        drop(known);
        self.version = Some(version);
        self.end_expired();
        self.note_gone(before.into_values().map(|principal| principal.invitation).collect());
        Ok(())
    }

    /// Records that invitations are gone that were there, if any are.
    fn note_gone(&mut self, mut gone: Vec<Arc<Invitation>>) {
        const MOST_TOLD: usize = 10;
        if gone.is_empty() {
            return;
        }
        gone.sort_by_key(|invitation| invitation.number);
        let mut told: Vec<String> = gone.iter().take(MOST_TOLD).map(|gone| gone.to_string()).collect();
        if gone.len() > MOST_TOLD {
            told.push(format!("{} more", gone.len() - MOST_TOLD));
        }
        let told = told.join(", ");
        warn!(
            invitations = told,
            "invitations are gone: they were removed by hand, or put back to an earlier state; whoever came with them is \
             put out"
        );
        let what = format!("{told}: gone, removed by hand or put back to an earlier state");
        let noted = AuditEntry {
            outcome: "whoever came with them is put out".to_owned(),
            ..entry("the coordinator".to_owned(), "", None, &what)
        };
        self.note(vec![(false, noted)]);
    }

    fn end_expired(&self) {
        let now_ms = unix_ms();
        let has_ended = |invitation: &Invitation| invitation.is_open(now_ms).is_err();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known
            .by_number
            .values()
            .filter(|principal| has_ended(&principal.invitation))
            .for_each(|principal| principal.ended.cancel());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::store_location::StoreLocation;

    #[test]
    fn decisions_and_refusals_are_recorded_in_the_order_in_which_they_came() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let open = || InvitationStore::open(&StoreLocation::Directory(dir.path().to_owned())).expect("opens");
        let (commands, queue) = mpsc::channel(QUEUE);
        for (what, is_refusal) in [("a", true), ("b", false), ("c", true), ("d", false)] {
            let audit_entry = entry(String::new(), "", None, what);
            commands.try_send(Command::Note { audit_entry, is_refusal, reply: None }).expect("room");
        }
        drop(commands);
        CacheThread::new(open(), None, Known::default()).run(queue);
        let recorded = open().audit_entries(None, true).expect("readable");
        assert_eq!(recorded.iter().map(|it| it.what.as_str()).collect::<Vec<_>>(), ["d", "c", "b", "a"]);
    }
}
