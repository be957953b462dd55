//! Leader election among the coordinators of a database: only the leader may write.
//!
//! The table `lease` has one row. A new leader increases its epoch, the fencing token, and holds the lease for [`TERM`]
//! by the server's clock, the only one that counts. A thread of its own renews it.
//! Every writing transaction locks the row in share mode and compares the epoch (the function `hold`). So a takeover
//! waits for a running transaction of the former leader, and no later one commits. This holds after any suspension, and
//! with any local clock.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::sql::database::{Database, first};
use crate::sql::fault::Fault;
use rusqlite::types::Value;
use tracing::{error, warn};

use super::leader_lease::LeaderLease;
use super::pg_connection::PgConnection;
use super::server::Server;

/// The duration of the lease.
pub(super) const TERM: Duration = Duration::from_secs(6);

/// A lease that ends later than this from now was dated by another clock, before the server's was set back, or before a
/// failover. It counts as expired.
const LONGEST_TERM: Duration = Duration::from_secs(2 * TERM.as_secs());

/// How often the lease is renewed.
const RENEWED: Duration = Duration::from_secs(1);

/// Timeout of a takeover; near it, there is just time for the first renewal. With a shorter one, a candidate could give
/// up although the server commits. Then nobody leads until the term ends.
const TAKING: Duration = Duration::from_secs(5);

/// How long the leader considers contacts of workers with a standby.
const HEEDED: Duration = Duration::from_secs(3);

/// The addresses of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The URL for workers and operators.
    pub url: String,
    /// The URL of the pages, without a trailing slash, if there are any.
    pub pages: Option<String>,
}

/// The leader's lease, until it is dropped or another coordinator takes over.
#[derive(Debug)]
pub(super) struct Leadership {
    pub(super) epoch: i64,
    pub(super) lease: LeaderLease,
    /// Dropped first, which ends the thread.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Leadership {
    /// Takes the lease, if it is free.
    pub(super) fn take(
        connection: &PgConnection,
        server: &Server,
        contact: &Contact,
    ) -> Result<Option<Self>, Fault> {
        // After a restore to an earlier state, no epoch is reused: the elapsed time exceeds it.
        let take = "UPDATE lease SET epoch = greatest(epoch + 1, \
                    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), holder = ?1, pages = ?2, \
                    expires = clock_timestamp() + ?3::bigint * interval '1 millisecond' \
                    WHERE expires NOT BETWEEN clock_timestamp() \
                    AND clock_timestamp() + ?4::bigint * interval '1 millisecond' RETURNING epoch";
        let pages = contact.pages.clone().map_or(Value::Null, Value::from);
        let asked = Instant::now();
        let values = [contact.url.clone().into(), pages, millis(TERM), millis(LONGEST_TERM)];
        let taken = || first(connection, take, &values, |row| row.get::<i64>("epoch", &"lease"));
        let epoch = connection.with_patience(TAKING, taken)?;
        let Some(epoch) = epoch else { return Ok(None) };
        let lease = LeaderLease::until(asked + TERM);
        let (stop, stopped) = sync_channel(1);
        let (server, kept) = (server.clone(), lease.clone());
        let thread = Builder::new().name("lead".to_owned()).spawn(move || {
            let mut connection = None;
            while stopped.recv_timeout(RENEWED) == Err(RecvTimeoutError::Timeout) && !kept.has_ended() {
                let asked = Instant::now();
                match renew(&mut connection, &server, epoch) {
                    Ok(Some(has_standby_contact)) => kept.renew(asked + TERM, has_standby_contact),
                    Ok(None) => kept.end(),
                    Err(fault) => {
                        connection = None;
                        warn!(reason = fault.reason(), "the lead could not be renewed");
                    }
                }
            }
            let release = |connection: PgConnection| give_up(&connection, epoch);
            _ = connection.map_or_else(|| PgConnection::open_for_lead(&server), Ok).and_then(release);
        });
        let thread = thread.map_err(|error| Fault::Lost(error.to_string()))?;
        Ok(Some(Self { epoch, lease, stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.lease.end();
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            error!("the thread that renews the lead has panicked");
        }
    }
}

/// Returns the present leader, if there is one.
pub(super) fn leader(connection: &PgConnection) -> Result<Option<Contact>, Fault> {
    let sql = "SELECT holder, pages, (expires BETWEEN clock_timestamp() \
               AND clock_timestamp() + ?1::bigint * interval '1 millisecond')::int AS leads FROM lease";
    let found = first(connection, sql, &[millis(LONGEST_TERM)], |row| {
        let contact = Contact { url: row.get("holder", &"lease")?, pages: row.get("pages", &"lease")? };
        Ok((contact, row.get::<bool>("leads", &"lease")?))
    })?;
    let (contact, leads) = found.ok_or_else(|| Fault::Damaged("its table 'lease' is empty".to_owned()))?;
    Ok(leads.then_some(contact))
}

/// Informs the leader that workers have asked a standby.
pub(super) fn note_standby_contact(connection: &PgConnection) -> Result<(), Fault> {
    connection.change("UPDATE standby_contact SET at = clock_timestamp()", &[])?;
    connection.send_changes()
}

fn millis(duration: Duration) -> Value {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).into()
}

/// Renews the lease if it is still valid; returns whether workers have recently asked a standby.
fn renew(connection: &mut Option<PgConnection>, server: &Server, epoch: i64) -> Result<Option<bool>, Fault> {
    let connection = match connection {
        Some(connection) => connection,
        None => {
            let opened = PgConnection::open_for_lead(server)?;
            // A failover or a crash may lose a renewal, so that the lease ends sooner. The epoch is safe: only a
            // takeover changes it.
            opened.wait_for_no_disk()?;
            connection.insert(opened)
        }
    };
    let renew = "UPDATE lease SET expires = clock_timestamp() + ?1::bigint * interval '1 millisecond' \
                 WHERE epoch = ?2 RETURNING (SELECT count(*) FROM standby_contact \
                 WHERE at BETWEEN clock_timestamp() - ?3::bigint * interval '1 millisecond' \
                 AND clock_timestamp()) AS contacted";
    let values = [millis(TERM), epoch.into(), millis(HEEDED)];
    first(connection, renew, &values, |row| Ok(row.get::<i64>("contacted", &"standby_contact")? > 0))
}

/// Releases the lease, so that another coordinator can lead at once.
fn give_up(connection: &PgConnection, epoch: i64) -> Result<(), Fault> {
    connection.change("UPDATE lease SET expires = '-infinity' WHERE epoch = ?1", &[epoch.into()])?;
    connection.send_changes()
}
