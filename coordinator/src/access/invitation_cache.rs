//! Keeps the invitations in memory. Its thread rereads the store, binds worker names and writes audit entries.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::http::StatusCode;
use parking_lot::{RwLock, RwLockReadGuard};
use queens_auth::Invitation;
use queens_model::{AuditEntry, Name, Party};
use queens_store::unix_ms;
use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};

use super::audit_log::entry;
use super::invitation_store::{InvitationStore, PublishedAddress};
use super::invitation_store_error::InvitationStoreError;
use super::join::{Application, JoinRefusal, Joined};
use super::known_invitations::KnownInvitations;
use crate::refusal::RequestRefusal;

/// Commands that may be queued for the thread.
const QUEUE: usize = 1024;

/// Audit entries that are kept in memory while they can't be written; the latest ones are kept.
const MOST_UNRECORDED: usize = 1000;

/// How long an answer waits until its audit entry is durable.
const PATIENCE: Duration = Duration::from_secs(2);

/// The reason why there is no answer after the thread has ended.
const STOPPING: &str = "the coordinator is stopping";

/// A handle to the thread; cheap to clone. The thread ends with the last handle.
#[derive(Clone, Debug)]
pub(super) struct InvitationCache {
    commands: mpsc::Sender<Command>,
    known: Arc<RwLock<KnownInvitations>>,
}

/// Work for the thread.
enum Command {
    /// Binds a name to an invitation. All queued names are bound in one write.
    Bind { party: Party, name: Name, reply: oneshot::Sender<Result<(), RequestRefusal>> },
    /// Records an audited action or a refused request. All queued entries are recorded in one write.
    Audit { audit_entry: AuditEntry, is_refusal: bool, reply: Option<oneshot::Sender<()>> },
    /// Anything else, after the names and entries that are queued.
    Run(Box<dyn FnOnce(&mut CacheThread) + Send>),
}

impl InvitationCache {
    /// Starts the thread, which publishes this coordinator's address if one is given. If a server is unreachable, it is
    /// read and written once it is back; no invitation is known before.
    pub(super) fn start(
        store: InvitationStore,
        place: Option<PublishedAddress>,
    ) -> Result<Self, StartFailure> {
        let mut thread = CacheThread::new(store, place);
        match thread.catch_up() {
            Err(error @ InvitationStoreError::Away { .. }) => thread.in_trouble(&error),
            caught_up => caught_up?,
        }
        let known = thread.known.clone();
        let (commands, queue) = mpsc::channel(QUEUE);
        thread::Builder::new().name("access".to_owned()).spawn(move || thread.run(queue))?;
        Ok(Self { commands, known })
    }

    /// Runs work on the thread, and returns its result; `None` if the thread has ended.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut CacheThread) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        let run = Command::Run(Box::new(move |thread| _ = reply.send(work(thread))));
        self.commands.send(run).await.ok()?;
        answer.await.ok()
    }

    /// Joins a campaign: creates an invitation, and records that.
    pub(super) async fn join(&self, application: Application) -> Result<Joined, JoinRefusal> {
        self.run(move |thread| thread.join(&application)).await.unwrap_or(Err(JoinRefusal::Unavailable))
    }

    /// Returns the published addresses of coordinators; none if they can't be read.
    pub(super) async fn places(&self) -> Vec<PublishedAddress> {
        self.run(|thread| thread.store.places().unwrap_or_default()).await.unwrap_or_default()
    }

    pub(super) fn known(&self) -> RwLockReadGuard<'_, KnownInvitations> {
        self.known.read()
    }

    /// Reads changes by other processes from the store; returns whether it could be read.
    pub(super) async fn refresh(&self) -> bool {
        self.run(CacheThread::refresh).await.unwrap_or_default()
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
    ) -> Result<Vec<AuditEntry>, RequestRefusal> {
        let read = self.run(move |thread| thread.store.audit_entries(before, refusals)).await;
        let read = read.ok_or_else(|| RequestRefusal::unavailable(STOPPING))?;
        read.map_err(RequestRefusal::unavailable)
    }

    /// Binds a worker name to a party for good. The time does not depend on the number of names.
    pub(super) async fn bind(&self, party: Party, name: &Name) -> Result<(), RequestRefusal> {
        if self.known().owner(name) == Some(party) {
            return Ok(());
        }
        let gone = || RequestRefusal::unavailable(STOPPING);
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
    known: Arc<RwLock<KnownInvitations>>,
    /// Whether the store could be read for the present commands, if one of them asked for it. They share one read.
    is_read: Option<bool>,
    /// Whether the last read failed; logged only once.
    troubled: bool,
    /// Audit entries whose write failed; they are written with the next command.
    unrecorded: Vec<AuditEntry>,
}

impl CacheThread {
    fn new(store: InvitationStore, place: Option<PublishedAddress>) -> Self {
        let known = Arc::default();
        Self { version: None, store, place, known, is_read: None, troubled: false, unrecorded: Vec::new() }
    }

    /// Runs commands until the last handle is dropped. All queued names and audit entries are written together, for one
    /// disk flush instead of one each.
    fn run(mut self, mut queue: mpsc::Receiver<Command>) {
        let mut commands = Vec::with_capacity(QUEUE);
        while queue.blocking_recv_many(&mut commands, QUEUE) > 0 {
            self.is_read = None;
            let (mut names, mut entries, mut recorded, mut others) = (vec![], vec![], vec![], vec![]);
            for command in commands.drain(..) {
                match command {
                    Command::Bind { party, name, reply } => names.push(((party, name), reply)),
                    Command::Audit { audit_entry, is_refusal, reply } => {
                        entries.push((is_refusal, audit_entry));
                        recorded.extend(reply);
                    }
                    Command::Run(work) => others.push(work),
                }
            }
            let (wanted, replies) = names.into_iter().unzip();
            self.bind(wanted, replies);
            self.note(entries);
            recorded.into_iter().for_each(|reply| _ = reply.send(()));
            others.into_iter().for_each(|work| work(&mut self));
        }
    }

    fn bind(
        &mut self,
        wanted: Vec<(Party, Name)>,
        replies: Vec<oneshot::Sender<Result<(), RequestRefusal>>>,
    ) {
        if wanted.is_empty() {
            return;
        }
        let bound: Vec<Result<(), RequestRefusal>> = match self.store.bind(&wanted) {
            Ok(bound) => {
                let refused = |error| RequestRefusal::new(StatusCode::FORBIDDEN, error);
                bound.into_iter().map(|one| one.map_err(refused)).collect()
            }
            Err(error) => vec![Err(RequestRefusal::unavailable(error)); wanted.len()],
        };
        let mut known = self.known.write();
        let of_each = wanted.into_iter().zip(&bound).filter(|(_, bound)| bound.is_ok());
        known.names.extend(of_each.map(|((party, name), _)| (name, party)));
        drop(known);
        for (reply, bound) in replies.into_iter().zip(bound) {
            _ = reply.send(bound);
        }
    }

    /// Creates the invitation of a person who joins a campaign. It is known at once, since the store does not report
    /// own changes.
    fn join(&mut self, application: &Application) -> Result<Joined, JoinRefusal> {
        let (joined, invitation) = self.store.join(application)?;
        let mut known = self.known.write();
        known.names.extend([(joined.name.clone(), invitation.party)]);
        known.add(invitation);
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

    /// Reads changes, once for all present commands; returns whether the store could be read.
    fn refresh(&mut self) -> bool {
        if let Some(is_read) = self.is_read {
            return is_read;
        }
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
        *self.is_read.insert(caught_up.is_ok())
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
        let mut known = self.known.write();
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
        let known = self.known.read();
        let ended = known.all().filter(|it| it.invitation.has_ended(now_ms));
        ended.for_each(|it| it.ended.cancel());
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
        CacheThread::new(open(), None).run(queue);
        let recorded = open().audit_entries(None, true).expect("readable");
        assert_eq!(recorded.iter().map(|it| it.what.as_str()).collect::<Vec<_>>(), ["d", "c", "b", "a"]);
    }
}
