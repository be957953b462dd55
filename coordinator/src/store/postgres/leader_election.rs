//! Who leads: of all coordinators of a database, the one that may write.
//!
//! There is one row, `lease`. Whoever takes it makes its epoch higher, and holds it for [`TERM`] by the server's clock,
//! which is the only one that counts; a thread of its own renews it. Every transaction that writes takes a share of the
//! row and compares the epoch (the function `hold`). So a takeover waits until a transaction of the leader before has ended,
//! and no later one of it commits: however long it was stopped, and whatever its own clock says.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use queens_runtime::complain;
use queens_store::sql::database::{Database, first};
use queens_store::sql::fault::Fault;
use queens_store::sql::read::cell;
use rusqlite::types::Value;
use tracing::warn;

use super::leader_lease::LeaderLease;
use super::server::Server;
use super::session::Session;

/// For how long the lead is taken.
pub(super) const TERM: Duration = Duration::from_secs(6);

/// A term that ends later than in so long was begun by another clock: that of the server before it was set back, or of
/// one that this server has taken the place of. It has ended.
const LONGEST_TERM: Duration = Duration::from_secs(2 * TERM.as_secs());

/// How often it is renewed.
const RENEWED: Duration = Duration::from_secs(1);

/// How long a takeover may take. It is known late then, and can just be renewed. If it is given up sooner than the server
/// does it, nobody knows that he leads, and nobody does until the term has run out.
const TAKING: Duration = Duration::from_secs(5);

/// For how long the leader takes heed of workers that asked another coordinator.
const HEEDED: Duration = Duration::from_secs(3);

/// Where a coordinator is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// Its URL for workers and operators.
    pub url: String,
    /// That of its pages, without a slash at the end, if it has any.
    pub pages: Option<String>,
}

/// The lead of a database, as long as this lives and nobody else has taken it.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) epoch: i64,
    pub(super) lease: LeaderLease,
    /// Dropped first, which ends the thread.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lead {
    /// Takes the lead, if nobody has it.
    pub(super) fn take(session: &Session, server: &Server, contact: &Contact) -> Result<Option<Self>, Fault> {
        // Where an earlier state was put back, no epoch is given out again: the time since is longer than an epoch.
        let take = "UPDATE lease SET epoch = greatest(epoch + 1, \
                    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), holder = ?1, pages = ?2, \
                    expires = clock_timestamp() + ?3::bigint * interval '1 millisecond' \
                    WHERE expires NOT BETWEEN clock_timestamp() \
                    AND clock_timestamp() + ?4::bigint * interval '1 millisecond' RETURNING epoch";
        let pages = contact.pages.clone().map_or(Value::Null, Value::from);
        let asked = Instant::now();
        let values = [contact.url.clone().into(), pages, millis(TERM), millis(LONGEST_TERM)];
        let taken = || first(session, take, &values, |row| cell::<i64>(row, "epoch", &"lease"));
        let epoch = session.with_patience(TAKING, taken)?;
        let Some(epoch) = epoch else { return Ok(None) };
        let lease = LeaderLease::until(asked + TERM);
        let (stop, stopped) = sync_channel(1);
        let (server, kept) = (server.clone(), lease.clone());
        let thread = Builder::new().name("lead".to_owned()).spawn(move || {
            let mut session = None;
            while stopped.recv_timeout(RENEWED) == Err(RecvTimeoutError::Timeout) && !kept.has_ended() {
                let asked = Instant::now();
                match renew(&mut session, &server, epoch) {
                    Ok(Some(has_standby_contact)) => kept.renew(asked + TERM, has_standby_contact),
                    Ok(None) => kept.end(),
                    Err(fault) => {
                        session = None;
                        warn!(reason = fault.reason(), "the lead could not be renewed");
                    }
                }
            }
            let release = |session: Session| give_up(&session, epoch);
            _ = session.map_or_else(|| Session::open_for_lead(&server), Ok).and_then(release);
        });
        let thread = thread.map_err(|error| Fault::Lost(error.to_string()))?;
        Ok(Some(Self { epoch, lease, stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.lease.end();
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            complain("the thread that renews the lead has panicked");
        }
    }
}

/// Who leads at the moment, if somebody does.
pub(super) fn leader(session: &Session) -> Result<Option<Contact>, Fault> {
    let sql = "SELECT holder, pages, (expires BETWEEN clock_timestamp() \
               AND clock_timestamp() + ?1::bigint * interval '1 millisecond')::int AS leads FROM lease";
    let found = first(session, sql, &[millis(LONGEST_TERM)], |row| {
        let contact = Contact { url: cell(row, "holder", &"lease")?, pages: cell(row, "pages", &"lease")? };
        Ok((contact, cell::<bool>(row, "leads", &"lease")?))
    })?;
    let (contact, leads) = found.ok_or_else(|| Fault::Damaged("its table 'lease' is empty".to_owned()))?;
    Ok(leads.then_some(contact))
}

/// Tells the leader that workers have asked a coordinator that stands by.
pub(super) fn note_standby_contact(session: &Session) -> Result<(), Fault> {
    session.change("UPDATE standby_contact SET at = clock_timestamp()", &[])?;
    session.send_changes()
}

fn millis(duration: Duration) -> Value {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).into()
}

/// Renews the lead, if it is still there to be renewed; whether workers have asked a coordinator that stands by lately.
fn renew(session: &mut Option<Session>, server: &Server, epoch: i64) -> Result<Option<bool>, Fault> {
    let session = match session {
        Some(session) => session,
        None => {
            let opened = Session::open_for_lead(server)?;
            // If it is lost, by a failover or a crash, the lead ends sooner. Its epoch is not: only a takeover changes that.
            opened.wait_for_no_disk()?;
            session.insert(opened)
        }
    };
    let renew = "UPDATE lease SET expires = clock_timestamp() + ?1::bigint * interval '1 millisecond' \
                 WHERE epoch = ?2 RETURNING (SELECT count(*) FROM standby_contact \
                 WHERE at BETWEEN clock_timestamp() - ?3::bigint * interval '1 millisecond' \
                 AND clock_timestamp()) AS contacted";
    let values = [millis(TERM), epoch.into(), millis(HEEDED)];
    first(session, renew, &values, |row| Ok(cell::<i64>(row, "contacted", &"standby_contact")? > 0))
}

/// Lets somebody else lead at once.
fn give_up(session: &Session, epoch: i64) -> Result<(), Fault> {
    session.change("UPDATE lease SET expires = '-infinity' WHERE epoch = ?1", &[epoch.into()])?;
    session.send_changes()
}
