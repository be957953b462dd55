//! Stores history in tables beside those of the jobs.

use std::thread;
use std::time::Duration;

use crate::history::{Change, History, NotKept, Past};
use crate::sql::fault::Fault;
use crate::sql::history::{REMOVE_OLD_TABLES, read_past, write_change};
use crate::sqlite::history::HISTORY_TABLES;
use tracing::warn;

use super::pg_connection::PgConnection;
use super::schema::postgres_tables;
use super::server::Server;

/// Maximal retries of reading from an unreachable server, and the pause between them.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(500);

/// The history of a database.
#[derive(Debug)]
pub(super) struct PostgresHistory {
    server: Server,
    connection: Option<PgConnection>,
    /// Whether damaged history is replaced at the next write.
    begins_anew: bool,
}

impl PostgresHistory {
    pub(super) const fn of(server: Server) -> Self {
        Self { server, connection: None, begins_anew: false }
    }

    fn with_connection<T>(
        &mut self,
        work: impl FnOnce(&PgConnection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let connection = PgConnection::open(&self.server)?;
                // No count depends on history, so writes need not wait for a standby.
                connection.wait_for_no_standby()?;
                // Earlier versions have other tables.
                connection.execute(&format!("{REMOVE_OLD_TABLES}; {}", postgres_tables(HISTORY_TABLES)))?;
                connection
            }
        };
        let done = work(&connection)?;
        self.connection = Some(connection);
        Ok(done)
    }
}

impl History for PostgresHistory {
    fn load(&mut self) -> Past {
        let mut n_tries = 0;
        let (mut past, fault) = loop {
            let mut past = Past { is_stored: true, ..Past::default() };
            match self.with_connection(|connection| read_past(connection, &mut past)) {
                Ok(()) => return past,
                Err(fault) if fault.may_heal() && n_tries < TRIES => thread::sleep(PAUSE),
                Err(fault) => break (past, fault),
            }
            n_tries += 1;
        };
        let (curves, events) = (past.curves.len(), past.events.len());
        let reason = fault.reason();
        if fault.may_heal() {
            // The stored history is kept, and is read at the next start.
            warn!(reason, "history can't be read. No count depends on it");
            return past;
        }
        warn!(
            reason,
            curves, events, "history is damaged: what could be read is kept. No count depends on it"
        );
        self.begins_anew = true;
        past.is_stored = false;
        past
    }

    fn store(&mut self, change: &Change) -> Result<(), NotKept> {
        let begins_anew = self.begins_anew;
        let stored = self.with_connection(|connection| {
            connection.execute("BEGIN")?;
            write_change(connection, change, begins_anew)?;
            connection.execute("COMMIT")
        });
        stored.map_err(|fault| NotKept::Failed(fault.reason()))?;
        self.begins_anew = false;
        Ok(())
    }
}
