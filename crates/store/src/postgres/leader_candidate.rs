//! A standby coordinator's part in leader election.

use std::path::{Path, PathBuf};

use crate::sql::fault::Fault;
use queens_ledger::store::{StoreError, StoreName};

use super::leader_election::{self, Contact, Leadership};
use super::pg_connection::PgConnection;
use super::schema;
use super::server::Server;
use super::store::PostgresStore;

/// A coordinator that stands by until it leads.
#[derive(Debug)]
pub struct LeaderCandidate {
    server: Server,
    contact: Contact,
    key: PathBuf,
    /// The connection, until an error occurs.
    connection: Option<PgConnection>,
    /// Whether the server has ever accepted this coordinator.
    is_let_in: bool,
}

impl LeaderCandidate {
    /// Creates a candidate with its published address; `key` is the directory with the signing key.
    #[must_use]
    pub fn new(server: Server, contact: Contact, key: &Path) -> Self {
        Self { server, contact, key: key.to_owned(), connection: None, is_let_in: false }
    }

    /// Takes the lease and opens the store, or returns the present leader. Creates missing tables.
    ///
    /// # Errors
    /// If the server can't be reached, or the database is not usable by this program.
    pub fn try_to_lead(&mut self) -> Result<Result<PostgresStore, Option<Contact>>, StoreError> {
        let (server, contact) = (self.server.clone(), self.contact.clone());
        let taken =
            self.with_connection(|connection| match Leadership::take(connection, &server, &contact)? {
                Some(lead) => Ok(Ok(lead)),
                None => Ok(Err(leader_election::leader(connection)?)),
            });
        Ok(match (taken?, self.connection.take()) {
            (Ok(lead), Some(connection)) => {
                Ok(PostgresStore::with_lead(server, connection.patient(), lead, &self.key))
            }
            (Ok(_), None) => Err(None),
            (Err(leader), connection) => {
                self.connection = connection;
                Err(leader)
            }
        })
    }

    /// Takes the lease and opens the store, or fails.
    ///
    /// # Errors
    /// Those of [`LeaderCandidate::try_to_lead`], and if another coordinator leads.
    pub fn lead(mut self) -> Result<PostgresStore, StoreError> {
        let leader =
            |leader: Option<Contact>| leader.map_or_else(|| "somebody".to_owned(), |leader| leader.url);
        let place = StoreName::Database(self.server.name());
        self.try_to_lead()?.map_err(|led| StoreError::Led { place, leader: leader(led) })
    }

    /// Returns the present leader, if there is one, without taking the lease.
    ///
    /// # Errors
    /// Those of [`LeaderCandidate::try_to_lead`].
    pub fn current_leader(&mut self) -> Result<Option<Contact>, StoreError> {
        self.with_connection(leader_election::leader)
    }

    /// Informs the leader that workers have asked this coordinator.
    ///
    /// # Errors
    /// Those of [`LeaderCandidate::try_to_lead`].
    pub fn note_standby_contact(&mut self) -> Result<(), StoreError> {
        self.with_connection(leader_election::note_standby_contact)
    }

    /// Runs an operation on the connection, which is opened if needed, and dropped after an error.
    fn with_connection<T>(
        &mut self,
        work: impl FnOnce(&PgConnection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let open = || {
            let connection = PgConnection::open_for_lead(&self.server)?;
            schema::make(&connection).and_then(|()| schema::check(&connection))?;
            Ok(connection)
        };
        let done = self.connection.take().map_or_else(open, Ok).and_then(|connection| {
            self.is_let_in = true;
            let done = work(&connection)?;
            self.connection = Some(connection);
            Ok(done)
        });
        // Temporary faults are reported as such, so that the candidate can wait.
        done.map_err(|fault: Fault| {
            let fault = if self.is_let_in { fault.of_one_let_in() } else { fault };
            fault.of(StoreName::Database(self.server.name()))
        })
    }
}
