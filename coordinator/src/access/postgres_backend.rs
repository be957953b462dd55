//! The invitation store on a PostgreSQL server, beside the tables of the jobs.
//!
//! Writing to it needs no leader lease. For jobs, the lease keeps two coordinators from counting separately, since each
//! relies on its memory. For invitations, each coordinator and each command relies on the tables alone. A writer locks
//! the row of the table `invitation_store` until its transaction ends. So a name is bound once, and a key belongs to
//! one invitation, with any number of writers. A coordinator that has lost the lease binds no name that it could not
//! have bound a moment before. Its audit entries describe actions that have happened, and must be recorded.

use std::time::{Duration, Instant};

use queens_store::postgres::Server;
use queens_store::postgres::pg_connection::PgConnection;
use queens_store::postgres::schema::{make_once, postgres_tables, version_in};
use queens_store::sql::database::{Database, first};
use queens_store::sql::fault::Fault;

use super::invitation_store_error::{NOBODY_THERE, TransactionError};

/// The version of these tables that this program works on. The jobs' tables have a version of their own.
const VERSION: i64 = 1;

/// How long an unreachable server is not tried again. Operations fail at once meanwhile.
const PAUSE: Duration = Duration::from_secs(1);

/// The invitation store on a server. It connects at its first use, and again after a connection loss. Each answer has
/// the timeout of a `PgConnection`.
#[derive(Debug)]
pub(super) struct PostgresBackend {
    server: Server,
    connection: Option<PgConnection>,
    /// Whether missing tables are created.
    makes: bool,
    /// When the last connection attempt failed, and why.
    failed: Option<(Instant, String)>,
    /// The mark of the last state seen, including changes by this program.
    seen: Option<i64>,
    /// How often the mark was another one.
    n_versions: i64,
}

impl PostgresBackend {
    pub(super) const fn of(server: Server) -> Self {
        Self { server, connection: None, makes: true, failed: None, seen: None, n_versions: 0 }
    }

    /// Returns a backend whose tables must exist.
    pub(super) fn of_existing(server: Server) -> Self {
        Self { makes: false, ..Self::of(server) }
    }

    pub(super) fn name(&self) -> String {
        self.server.name()
    }

    pub(super) fn read<T>(
        &mut self,
        work: impl FnOnce(&dyn Database) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.with_connection(|connection| work(connection))
    }

    /// Runs a transaction that locks the row of the table `invitation_store`. If the outcome of the commit is unknown,
    /// its changes count as those of others, and are read again.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&dyn Database) -> Result<T, TransactionError>,
    ) -> Result<T, TransactionError> {
        let (done, before, after) = self.with_connection(|connection| {
            connection.change("BEGIN", &[])?;
            let before = mark(connection, "FOR UPDATE")?;
            let done = work(connection)?;
            let after = mark(connection, "")?;
            connection.execute("COMMIT")?;
            Ok::<_, TransactionError>((done, before, after))
        })?;
        if self.seen == Some(before) {
            self.seen = Some(after);
        }
        Ok(done)
    }

    /// Returns a number that changes whenever others have changed invitations or names, or restored the database.
    pub(super) fn version(&mut self) -> Result<i64, Fault> {
        let mark = self.with_connection(|connection| mark(connection, ""))?;
        if self.seen.replace(mark) != Some(mark) {
            self.n_versions += 1;
        }
        Ok(self.n_versions)
    }

    /// Runs an operation on the connection. A failure drops the connection and rolls back its transaction.
    fn with_connection<T, E: From<Fault>>(
        &mut self,
        work: impl FnOnce(&PgConnection) -> Result<T, E>,
    ) -> Result<T, E> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let done = work(&connection)?;
        self.connection = Some(connection);
        Ok(done)
    }

    fn connect(&mut self) -> Result<PgConnection, Fault> {
        if let Some((at, reason)) = &self.failed
            && at.elapsed() < PAUSE
        {
            return Err(Fault::Lost(reason.clone()));
        }
        let opened = PgConnection::open(&self.server).and_then(|connection| {
            make(&connection, self.makes)?;
            Ok(connection)
        });
        let failed = opened.as_ref().err().filter(|fault| fault.may_heal());
        self.failed = failed.map(|fault| (Instant::now(), fault.reason()));
        opened
    }
}

/// Moves the sequences of numbers past the numbers that were copied.
pub(super) fn number_on(database: &dyn Database) -> Result<(), Fault> {
    for table in ["campaign", "invitation"] {
        let sql = format!(
            "SELECT setval(pg_get_serial_sequence('queens.{table}', 'number'), max(number)) FROM {table}"
        );
        database.change(&sql, &[])?;
    }
    Ok(())
}

/// Checks the version of the tables. Missing tables are created if `makes` is set.
fn make(connection: &PgConnection, makes: bool) -> Result<(), Fault> {
    if version_in(connection, "invitation_store")?.is_none() {
        if !makes {
            return Err(Fault::Unfit(NOBODY_THERE.to_owned()));
        }
        make_once(connection, "invitation_store", |connection| {
            connection.execute(&postgres_tables(include_str!("schema.sql")))?;
            connection.execute(include_str!("postgres_schema.sql"))
        })?;
    }
    match version_in(connection, "invitation_store")? {
        Some(VERSION) => Ok(()),
        Some(other) => Err(Fault::Version(format!(
            "its invitations are of version {other}, and this program knows {VERSION}"
        ))),
        None => Err(Fault::Unfit("it has no tables of invitations".to_owned())),
    }
}

/// Returns the random number of the last change of invitations or names.
fn mark(connection: &PgConnection, lock: &str) -> Result<i64, Fault> {
    let sql = format!("SELECT mark FROM invitation_store WHERE one = 1 {lock}");
    let found = first(connection, &sql, &[], |row| row.get("mark", &"invitation_store"))?;
    found.ok_or_else(|| Fault::Damaged("its table 'invitation_store' is empty".to_owned()))
}
