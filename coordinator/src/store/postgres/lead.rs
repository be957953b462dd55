//! Who leads: of all coordinators of a database, the one that may write.
//!
//! There is one row, `lease`. Whoever takes it makes its epoch higher, and holds it for [`TERM`] by the server's clock,
//! which is the only one that counts; a thread of its own renews it. Every transaction that writes takes a share of the
//! row and compares the epoch ([`hold`]). So a takeover waits until a transaction of the leader before has ended, and
//! no later one of it commits: however long it was stopped, and whatever its own clock says.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use queens_process::complain;
use tracing::warn;

use super::server::Server;
use super::session::Session;
use crate::store::sql::database::{Database, first};
use crate::store::sql::fault::Fault;
use crate::store::sql::read::cell;

/// For how long the lead is taken, and how often it is renewed.
const TERM: Duration = Duration::from_secs(6);
const RENEWED: Duration = Duration::from_secs(2);

/// The lead of a database, as long as this lives and nobody else has taken it.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) epoch: i64,
    /// Dropped first, which ends the thread.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Who leads at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    pub(super) holder: String,
}

impl Lead {
    /// Takes the lead, if nobody has it.
    pub(super) fn take(
        session: &Session,
        server: &Server,
        holder: &str,
    ) -> Result<Result<Self, Leader>, Fault> {
        let take = "UPDATE lease SET epoch = epoch + 1, holder = ?1, \
                    expires = clock_timestamp() + ?2::bigint * interval '1 millisecond' \
                    WHERE expires < clock_timestamp() RETURNING epoch";
        let values = [holder.to_owned().into(), term().into()];
        let epoch = first(session, take, &values, |row| cell::<i64>(row, "epoch", &"lease"))?;
        let Some(epoch) = epoch else {
            let found = first(session, "SELECT holder FROM lease", &[], |row| cell(row, "holder", &"lease"))?;
            return Ok(Err(Leader { holder: found.unwrap_or_default() }));
        };
        let (stop, stopped) = sync_channel(1);
        let server = server.clone();
        let thread = Builder::new().name("lead".to_owned()).spawn(move || {
            let mut session = None;
            while stopped.recv_timeout(RENEWED) == Err(RecvTimeoutError::Timeout) {
                let renewed = renew(&mut session, &server, epoch);
                if let Err(fault) = renewed {
                    session = None;
                    warn!(reason = fault.reason(), "the lead could not be renewed");
                }
            }
            let release = |session: Session| give_up(&session, epoch);
            _ = session.map_or_else(|| Session::open(&server), Ok).and_then(release);
        });
        let thread = thread.map_err(|error| Fault::Lost(error.to_string()))?;
        Ok(Ok(Self { epoch, stop: Some(stop), thread: Some(thread) }))
    }

    /// Makes sure that the transaction that is open commits only while this is the lead. It is a change among others, so
    /// that nothing waits for its answer: it fails, and the transaction with it, if somebody else leads.
    pub(super) fn hold(&self, session: &Session) -> Result<(), Fault> {
        session.change("SELECT queens.hold(?1)", &[self.epoch.into()])
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            complain("the thread that renews the lead has panicked");
        }
    }
}

fn term() -> i64 {
    i64::try_from(TERM.as_millis()).unwrap_or(i64::MAX)
}

/// Renews the lead, if it is still there to be renewed.
fn renew(session: &mut Option<Session>, server: &Server, epoch: i64) -> Result<(), Fault> {
    let session = match session {
        Some(session) => session,
        None => {
            let opened = Session::open(server)?;
            // It need not be there after a failover: whoever leads renews it then.
            opened.wait_for_no_standby()?;
            session.insert(opened)
        }
    };
    let renew = "UPDATE lease SET expires = clock_timestamp() + ?1::bigint * interval '1 millisecond' WHERE epoch = ?2";
    session.change(renew, &[term().into(), epoch.into()])?;
    session.send_changes()
}

/// Lets somebody else lead at once.
fn give_up(session: &Session, epoch: i64) -> Result<(), Fault> {
    session.change("UPDATE lease SET expires = '-infinity' WHERE epoch = ?1", &[epoch.into()])?;
    session.send_changes()
}
