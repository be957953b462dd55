//! Keeps the invitations in memory. Its thread rereads the store, binds worker names and writes audit entries.

use std::io;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::Duration;

use queens_auth::{Invitation, Pin};
use queens_model::{AuditEntry, Name, Party};
use queens_store::unix_ms;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::audit_log::entry;
use super::campaign::Campaign;
use super::invitation_store::{InvitationStore, PublishedAddress};
use super::invitation_store_error::InvitationStoreError;
use super::join::{Application, JoinRefusal, Joined};
use super::principals::{Principal, Principals};

/// Commands that may be queued for the thread.
const QUEUE: usize = 1024;

/// Audit entries that are kept in memory while they can't be written; the latest ones are kept.
const MOST_UNRECORDED: usize = 1000;

/// How long an answer waits until its audit entry is durable.
const PATIENCE: Duration = Duration::from_secs(2);

/// A handle to the thread; cheap to clone. The thread ends with the last handle.
#[derive(Clone, Debug)]
pub(super) struct InvitationCache {
    commands: mpsc::Sender<Command>,
    known: SharedPrincipals,
}

/// All invitations, as the store had them when it was last read.
type SharedPrincipals = Arc<RwLock<Principals>>;

/// Why a worker can't use a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NameError {
    /// The name can never be used.
    Refused(String),
    /// The name can't be checked at present.
    Unknown(String),
}

#[derive(Debug)]
enum Command {
    /// Reads the store again if it has changed. The reply tells whether the store could be read.
    Refresh { reply: oneshot::Sender<bool> },
    /// Records an audited action or a refused request.
    Audit { audit_entry: AuditEntry, is_refusal: bool, reply: Option<oneshot::Sender<()>> },
    /// Reads a page of the audit log.
    ReadAuditLog { before: Option<u64>, refusals: bool, reply: AuditReply },
    /// Binds a name to an invitation.
    Bind { party: Party, name: Name, reply: oneshot::Sender<Result<(), NameError>> },
    /// Creates the invitation of a person who joins a campaign.
    Join { application: Application, reply: JoinReply },
    /// Reads the published addresses of coordinators.
    Locate { reply: oneshot::Sender<Vec<PublishedAddress>> },
}

impl InvitationCache {
    /// Starts the thread, which publishes this coordinator's address if one is given. If a server is unreachable, it is
    /// read and written once it is back; no principal is known before.
    pub(super) fn start(
        store: InvitationStore,
        place: Option<PublishedAddress>,
    ) -> Result<Self, StartFailure> {
        let known = SharedPrincipals::default();
        let mut keeping = CacheThread::new(store, place, known.clone());
        match keeping.catch_up() {
            Err(error @ InvitationStoreError::Away { .. }) => keeping.in_trouble(&error),
            caught_up => caught_up?,
        }
        let (commands, queue) = mpsc::channel(QUEUE);
        thread::Builder::new().name("access".to_owned()).spawn(move || keeping.run(queue))?;
        Ok(Self { commands, known })
    }

    /// Returns the principal of an invitation, open or ended.
    pub(super) fn principal(&self, invitation: u64) -> Option<Principal> {
        self.known().of_number(invitation)
    }

    /// Returns the principal of a party. Unlike a number, a party never changes its invitation.
    pub(super) fn principal_of(&self, party: Party) -> Option<Principal> {
        self.known().of_party(party)
    }

    /// Returns the invitations that a text names, open or ended: digits by number, other texts by label. So nobody is
    /// taken for an invitation whose number is in the name.
    pub(super) fn meant_by(&self, text: &str) -> Vec<Arc<Invitation>> {
        let known = self.known();
        let principals = known.all().map(|principal| &principal.invitation);
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let is_meant = |invitation: &&Arc<Invitation>| match is_number {
            true => invitation.number.to_string() == text,
            false => invitation.label.as_ref().is_some_and(|label| label.as_str() == text),
        };
        principals.filter(is_meant).cloned().collect()
    }

    /// Returns the principal that was invited last with this key.
    pub(super) fn principal_with_key(&self, key: &Pin) -> Option<Principal> {
        self.known().of_key(key)
    }

    /// Returns the campaign whose code has this hash, open or ended, as the store had it when it was last read.
    pub(super) fn campaign(&self, hash: &[u8; 32]) -> Option<Campaign> {
        self.known().campaign(hash)
    }

    /// Joins a campaign: creates an invitation, and records that.
    pub(super) async fn join(&self, application: Application) -> Result<Joined, JoinRefusal> {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(Command::Join { application, reply }).await;
        sent.map_err(|_| JoinRefusal::Unavailable)?;
        answer.await.map_err(|_| JoinRefusal::Unavailable)?
    }

    /// Returns the published addresses of coordinators; none if they can't be read.
    pub(super) async fn places(&self) -> Vec<PublishedAddress> {
        let (reply, answer) = oneshot::channel();
        _ = self.commands.send(Command::Locate { reply }).await;
        answer.await.unwrap_or_default()
    }

    pub(super) fn known(&self) -> RwLockReadGuard<'_, Principals> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads changes by other processes from the store; returns whether it could be read.
    pub(super) async fn refresh(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Refresh { reply }).await.is_ok() && answer.await.unwrap_or_default()
    }

    /// Records an audited action. It is durable on return, unless the write takes longer than the timeout.
    pub(super) async fn note(&self, audit_entry: AuditEntry) {
        let (reply, answer) = oneshot::channel();
        let note = async {
            let command = Command::Audit { audit_entry, is_refusal: false, reply: Some(reply) };
            if self.commands.send(command).await.is_ok() {
                _ = answer.await;
            }
        };
        if tokio::time::timeout(PATIENCE, note).await.is_err() {
            warn!("a decision is not recorded in time");
        }
    }

    /// Records an audited action or a refused request without waiting.
    pub(super) fn note_soon(&self, audit_entry: AuditEntry, is_refusal: bool) {
        if self.commands.try_send(Command::Audit { audit_entry, is_refusal, reply: None }).is_err() {
            warn!("a decision is not recorded: there is too much to do");
        }
    }

    /// Returns the latest entries, or those before a number, with or without refused requests.
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

    /// Binds a worker name to a party for good. The time does not depend on the number of names.
    pub(super) async fn bind(&self, party: Party, name: &Name) -> Result<(), NameError> {
        if self.known().owner(name) == Some(party) {
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
pub(crate) enum StartFailure {
    #[error(transparent)]
    InvitationStore(#[from] InvitationStoreError),
    #[error("failed to start the thread that keeps invitations: {0}")]
    Thread(#[from] io::Error),
}

struct CacheThread {
    store: InvitationStore,
    /// The version of the store's contents that are in memory.
    version: Option<i64>,
    /// This coordinator's address, until it is published.
    place: Option<PublishedAddress>,
    known: SharedPrincipals,
    /// Whether the last read failed; logged only once.
    troubled: bool,
    /// Audit entries whose write failed; they are written with the next command.
    unrecorded: Vec<AuditEntry>,
}

type AuditReply = oneshot::Sender<Result<Vec<AuditEntry>, InvitationStoreError>>;

type JoinReply = oneshot::Sender<Result<Joined, JoinRefusal>>;

/// Queued commands by kind.
#[derive(Default)]
struct Waiting {
    /// Names to bind, and the reply channel of each.
    wanted: Vec<(Party, Name)>,
    wanting: Vec<oneshot::Sender<Result<(), NameError>>>,
    /// Audited actions and refused requests in the order of arrival; the flag marks refused requests.
    entries: Vec<(bool, AuditEntry)>,
    /// Callers that wait for these entries.
    deciding: Vec<oneshot::Sender<()>>,
    refreshing: Vec<oneshot::Sender<bool>>,
    reading: Vec<(Option<u64>, bool, AuditReply)>,
    joining: Vec<(Application, JoinReply)>,
    locating: Vec<oneshot::Sender<Vec<PublishedAddress>>>,
}

impl Waiting {
    fn add(&mut self, command: Command) {
        match command {
            Command::Refresh { reply } => self.refreshing.push(reply),
            Command::Audit { audit_entry, is_refusal, reply } => {
                self.entries.push((is_refusal, audit_entry));
                self.deciding.extend(reply);
            }
            Command::ReadAuditLog { before, refusals, reply } => self.reading.push((before, refusals, reply)),
            Command::Bind { party, name, reply } => {
                self.wanted.push((party, name));
                self.wanting.push(reply);
            }
            Command::Join { application, reply } => self.joining.push((application, reply)),
            Command::Locate { reply } => self.locating.push(reply),
        }
    }
}

impl CacheThread {
    fn new(store: InvitationStore, place: Option<PublishedAddress>, known: SharedPrincipals) -> Self {
        Self { version: None, store, place, known, troubled: false, unrecorded: Vec::new() }
    }

    /// Runs commands until the last handle is dropped. All queued commands are written together, for one disk flush
    /// instead of one each.
    fn run(mut self, mut queue: mpsc::Receiver<Command>) {
        let mut commands = Vec::with_capacity(QUEUE);
        while queue.blocking_recv_many(&mut commands, QUEUE) > 0 {
            let mut waiting = Waiting::default();
            commands.drain(..).for_each(|command| waiting.add(command));
            self.bind(waiting.wanted, waiting.wanting);
            for (application, reply) in waiting.joining {
                _ = reply.send(self.join(&application));
            }
            self.note(waiting.entries);
            for done in waiting.deciding {
                _ = done.send(());
            }
            if !waiting.refreshing.is_empty() {
                let is_read = self.refresh();
                for reply in waiting.refreshing {
                    _ = reply.send(is_read);
                }
            }
            if !waiting.locating.is_empty() {
                let places = self.store.places().unwrap_or_default();
                waiting.locating.into_iter().for_each(|reply| _ = reply.send(places.clone()));
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
        known.add_names(of_each.map(|((party, name), _)| (name, party)));
        drop(known);
        for (reply, bound) in wanting.into_iter().zip(bound) {
            _ = reply.send(bound);
        }
    }

    /// Creates the invitation of a person who joins a campaign. It is known at once, since the store does not report
    /// own changes.
    fn join(&mut self, application: &Application) -> Result<Joined, JoinRefusal> {
        let (joined, invitation) = self.store.join(application)?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.add_names([(joined.name.clone(), invitation.party)]);
        known.add(invitation, CancellationToken::new());
        Ok(joined)
    }

    /// Writes entries in the order of arrival, after those whose write failed before.
    fn note(&mut self, new: Vec<(bool, AuditEntry)>) {
        if new.is_empty() && self.unrecorded.is_empty() {
            return;
        }
        let before = std::mem::take(&mut self.unrecorded).into_iter().map(|audit_entry| (false, audit_entry));
        let entries: Vec<_> = before.chain(new).collect();
        // A lost connection is noticed only at its next use. A retry may record an entry twice, which is better than
        // never.
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

    /// Reads changes; returns whether the store could be read.
    fn refresh(&mut self) -> bool {
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

    /// Reads changes, and publishes this coordinator's address if that is still to do.
    fn catch_up(&mut self) -> Result<(), InvitationStoreError> {
        self.read()?;
        if let Some(place) = &self.place {
            self.store.note_place(place)?;
            self.place = None;
        }
        Ok(())
    }

    /// Reads all invitations and names, if another process may have changed them.
    fn read(&mut self) -> Result<(), InvitationStoreError> {
        let version = self.store.version()?;
        if self.version == Some(version) {
            return Ok(());
        }
        let (all, names) = (self.store.invitations()?, self.store.names()?);
        let campaigns = self.store.campaigns()?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let gone = known.replace(all, names, campaigns);
        drop(known);
        self.version = Some(version);
        self.end_expired();
        self.note_gone(gone);
        Ok(())
    }

    /// Records invitations that have disappeared from the store, if there are any.
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
            "invitations are gone: they were removed by hand, or put back to an earlier state; their users are disconnected"
        );
        let what = format!("{told}: gone, removed by hand or put back to an earlier state");
        let noted = AuditEntry {
            outcome: "their users are disconnected".to_owned(),
            ..entry("the coordinator".to_owned(), "", None, &what)
        };
        self.note(vec![(false, noted)]);
    }

    fn end_expired(&self) {
        let now_ms = unix_ms();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let ended = known.all().filter(|principal| principal.invitation.has_ended(now_ms));
        ended.for_each(|principal| principal.ended.cancel());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queens_store::postgres::StoreLocation;

    #[test]
    fn decisions_and_refusals_are_recorded_in_the_order_in_which_they_came() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let open = || InvitationStore::open(&StoreLocation::Directory(dir.path().to_owned())).expect("opens");
        let (commands, queue) = mpsc::channel(QUEUE);
        for (what, is_refusal) in [("a", true), ("b", false), ("c", true), ("d", false)] {
            let audit_entry = entry(String::new(), "", None, what);
            commands.try_send(Command::Audit { audit_entry, is_refusal, reply: None }).expect("room");
        }
        drop(commands);
        CacheThread::new(open(), None, SharedPrincipals::default()).run(queue);
        let recorded = open().audit_entries(None, true).expect("readable");
        assert_eq!(recorded.iter().map(|it| it.what.as_str()).collect::<Vec<_>>(), ["d", "c", "b", "a"]);
    }
}
