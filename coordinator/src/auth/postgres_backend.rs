//! A book on a server, beside the tables of the jobs.
//!
//! Nobody has to lead to write in it. A lead keeps two coordinators from adding up counts apart, and each goes by what
//! it has in memory; of people, each coordinator and each command goes by the tables alone. Whoever writes holds the row
//! of the table `book` until the transaction ends, so that a name is bound once and a key is one person's, whoever else
//! writes. A coordinator that has lost the lead binds no name that it could not have bound a moment before, and what it
//! has refused or carried out has happened and has to be recorded.

use std::time::{Duration, Instant};

use queens_store::sql::database::{Database, first};
use queens_store::sql::fault::Fault;

use super::invitation_store_error::{NOBODY_THERE, TransactionError};
use crate::store::postgres::Server;
use crate::store::postgres::schema::{make_once, version_in};
use crate::store::postgres::session::Session;

/// The version of the tables that this program works on, which is not that of the jobs' tables.
const VERSION: i64 = 1;

/// How long a server that could not be reached is left alone: whoever waits meanwhile is told at once.
const PAUSE: Duration = Duration::from_secs(1);

/// A book on a server. It is connected to when it is used, and again when the connection was lost; each answer is
/// waited for as long as a session waits, and not for ever.
#[derive(Debug)]
pub(super) struct PostgresBackend {
    server: Server,
    session: Option<Session>,
    /// Whether tables are made that are not there.
    makes: bool,
    /// When it could not be reached last, and why.
    failed: Option<(Instant, String)>,
    /// The mark of the state that was asked about last, with what was changed here since.
    seen: Option<i64>,
    /// How often another was found.
    n_versions: i64,
}

impl PostgresBackend {
    pub(super) const fn of(server: Server) -> Self {
        Self { server, session: None, makes: true, failed: None, seen: None, n_versions: 0 }
    }

    /// One whose tables have to be there.
    pub(super) fn of_existing(server: Server) -> Self {
        Self { makes: false, ..Self::of(server) }
    }

    /// What people call it.
    pub(super) fn name(&self) -> String {
        self.server.name()
    }

    pub(super) fn read<T>(
        &mut self,
        work: impl FnOnce(&dyn Database) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.with_session(|session| work(session))
    }

    /// Does something in a transaction that has the row of the table `book`. If it was not certain that it was
    /// carried out, what was changed counts as others' change, and is read again.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&dyn Database) -> Result<T, TransactionError>,
    ) -> Result<T, TransactionError> {
        let (done, before, after) = self.with_session(|session| {
            session.change("BEGIN", &[])?;
            let before = mark(session, "FOR UPDATE")?;
            let done = work(session)?;
            let after = mark(session, "")?;
            session.carry_out("COMMIT")?;
            Ok::<_, TransactionError>((done, before, after))
        })?;
        if self.seen == Some(before) {
            self.seen = Some(after);
        }
        Ok(done)
    }

    /// A number that changes whenever others have changed invitations or names, or have put back the database.
    pub(super) fn version(&mut self) -> Result<i64, Fault> {
        let mark = self.with_session(|session| mark(session, ""))?;
        if self.seen.replace(mark) != Some(mark) {
            self.n_versions += 1;
        }
        Ok(self.n_versions)
    }

    /// Does something with the connection, which is given up if that fails, and a transaction with it.
    fn with_session<T, E: From<Fault>>(
        &mut self,
        work: impl FnOnce(&Session) -> Result<T, E>,
    ) -> Result<T, E> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.connect()?,
        };
        let done = work(&session)?;
        self.session = Some(session);
        Ok(done)
    }

    fn connect(&mut self) -> Result<Session, Fault> {
        if let Some((at, reason)) = &self.failed
            && at.elapsed() < PAUSE
        {
            return Err(Fault::Lost(reason.clone()));
        }
        let opened = Session::open(&self.server).and_then(|session| {
            make(&session, self.makes)?;
            Ok(session)
        });
        let failed = opened.as_ref().err().filter(|fault| fault.may_heal());
        self.failed = failed.map(|fault| (Instant::now(), fault.reason()));
        opened
    }
}

/// Has the numbers of new invitations be higher than those that were written with theirs.
pub(super) fn number_on(database: &dyn Database) -> Result<(), Fault> {
    let sql =
        "SELECT setval(pg_get_serial_sequence('queens.invitation', 'number'), max(number)) FROM invitation";
    database.change(sql, &[])
}

/// Looks whether the tables are those that this program works on. They are made, if `makes` says so and they are not
/// there.
fn make(session: &Session, makes: bool) -> Result<(), Fault> {
    if version_in(session, "book")?.is_none() {
        if !makes {
            return Err(Fault::Unfit(NOBODY_THERE.to_owned()));
        }
        make_once(session, "book", |session| session.carry_out(include_str!("shared.sql")))?;
    }
    match version_in(session, "book")? {
        Some(VERSION) => Ok(()),
        Some(other) => Err(Fault::Version(format!(
            "its invitations are of version {other}, and this program knows {VERSION}"
        ))),
        None => Err(Fault::Unfit("it has no tables of invitations".to_owned())),
    }
}

/// The number that was drawn when invitations or names were changed last.
fn mark(session: &Session, lock: &str) -> Result<i64, Fault> {
    let sql = format!("SELECT mark FROM book WHERE one = 1 {lock}");
    let found = first(session, &sql, &[], |row| row.get("mark", &"book"))?;
    found.ok_or_else(|| Fault::Damaged("its table 'book' is empty".to_owned()))
}
