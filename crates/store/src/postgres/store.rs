//! The leader's PostgreSQL store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::archive::{Archive, Records, StoreCopy};
use crate::history::History;
use crate::seed;
use crate::sql::database::{Database, Views, first};
use crate::sql::fault::Fault;
use crate::sql::records::SqlRecords;
use crate::sql::tables::Tables;
use queens_ledger::store::draw::{Draw, Drawn, Recorded};
use queens_ledger::store::lineage::Lineage;
use queens_ledger::store::{Store, StoreError, StoreName, Stored, Write};
use queens_model::JobId;
use queens_solver::Span;

use super::history::PostgresHistory;
use super::leader_election::Leadership;
use super::leader_lease::LeaderLease;
use super::pg_connection::{Backend, Hold, PgConnection};
use super::schema;
use super::server::Server;

/// Stores jobs in a database on a server. The server determines the durability of a [`commit`](Store::commit): with
/// `synchronous_standby_names`, commits survive its loss.
#[derive(Debug)]
pub struct PostgresStore {
    server: Server,
    /// The connection, until an error occurs.
    connection: Option<PgConnection>,
    /// The server process of the former connection, until it is known to have ended.
    former: Option<Backend>,
    lead: Leadership,
    lineage: Lineage,
    tables: Tables,
    /// The directory of the signing key.
    key: PathBuf,
}

impl PostgresStore {
    /// Creates the store of a new leader.
    pub(super) fn with_lead(server: Server, connection: PgConnection, lead: Leadership, key: &Path) -> Self {
        Self {
            server,
            connection: Some(connection),
            former: None,
            lead,
            lineage: Lineage::default(),
            tables: Tables::default(),
            key: key.to_owned(),
        }
    }

    /// Returns the lease, which limits how long this store may write.
    #[must_use]
    pub fn lease(&self) -> LeaderLease {
        self.lead.lease.clone()
    }

    fn place(&self) -> StoreName {
        StoreName::Database(self.server.name())
    }

    /// Runs an operation on the connection, which is opened if needed, and dropped after an error.
    fn with_connection<T>(
        &mut self,
        work: impl FnOnce(&PgConnection, &mut Tables, &mut Lineage) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let done = self.connection().and_then(|connection| {
            self.former = Some(connection.backend);
            if self.lineage.known().is_none() {
                // No transaction is in progress: the former connection has ended.
                self.lineage.settle(state(&connection)?).map_err(|_| Fault::of_other_state())?;
            }
            let done = work(&connection, &mut self.tables, &mut self.lineage)?;
            self.connection = Some(connection);
            Ok(done)
        });
        done.map_err(|fault| {
            self.tables = Tables::default();
            if matches!(fault, Fault::Fenced(_)) {
                self.lead.lease.end();
            }
            fault.of_one_let_in().of(self.place())
        })
    }

    /// Returns the connection, or a new one after the former has ended.
    fn connection(&mut self) -> Result<PgConnection, Fault> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let connection = PgConnection::open(&self.server)?;
        self.former.map_or(Ok(()), |former| connection.outlive(former))?;
        Ok(connection)
    }

    /// Writes in one transaction, which is durable on return, or has no effect. Fails if another coordinator leads, or
    /// the database is not in the state that the previous transaction left.
    fn transact<T>(
        &mut self,
        work: impl FnOnce(&PgConnection, &mut Tables) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let (epoch, after) = (self.lead.epoch, new_state());
        self.with_connection(|connection, tables, lineage| {
            let before = lineage.known().ok_or_else(Fault::of_other_state)?;
            lineage.attempt(after);
            let done =
                connection.transact(Hold { epoch, before, after }, |connection| work(connection, tables))?;
            lineage.succeed();
            Ok(done)
        })
    }
}

impl Store for PostgresStore {
    fn load(&mut self) -> Result<Stored, StoreError> {
        self.with_connection(|connection, _, lineage| {
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
            lineage.begin(state(connection)?);
            let stored = Tables::load(connection)?;
            connection.execute("COMMIT")?;
            Ok(stored)
        })
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        self.transact(|connection, tables| tables.write(connection, writes))
    }

    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError> {
        self.with_connection(|connection, tables, _| tables.find(connection, job, span))
    }

    fn confirm(&mut self) -> Result<(), StoreError> {
        let epoch = self.lead.epoch;
        self.with_connection(|connection, _, lineage| {
            let state = lineage.known().ok_or_else(Fault::of_other_state)?;
            connection.transact(Hold { epoch, before: state, after: state }, |_| Ok(()))
        })
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, StoreError> {
        self.with_connection(|connection, tables, _| tables.draw(connection, draw))
    }
}

impl StoreCopy for PostgresStore {
    fn view(&self) -> Result<Box<dyn Database>, StoreError> {
        let views = PostgresViews { server: self.server.clone() };
        views.view().map_err(|fault| fault.of(self.place()))
    }

    fn fill(&mut self, work: &mut dyn FnMut(&dyn Database) -> Result<(), Fault>) -> Result<(), StoreError> {
        self.transact(|connection, _| work(connection))
    }

    fn place(&self) -> StoreName {
        self.place()
    }
}

impl Archive for PostgresStore {
    fn kind(&self) -> &'static str {
        "postgres"
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        let views = PostgresViews { server: self.server.clone() };
        Some(Arc::new(SqlRecords { views, key: self.key.clone() }))
    }

    fn history(&self) -> Option<Box<dyn History>> {
        Some(Box::new(PostgresHistory::of(self.server.clone())))
    }
}

/// Read-only access to a database, even while a coordinator uses it.
#[derive(Debug)]
pub(super) struct PostgresViews {
    pub(super) server: Server,
}

impl Views for PostgresViews {
    fn view(&self) -> Result<Box<dyn Database>, Fault> {
        let connection = PgConnection::open(&self.server)?;
        schema::check(&connection)?;
        // Reading may take long, and blocks nobody.
        connection.execute("SET idle_in_transaction_session_timeout TO 0")?;
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        Ok(Box::new(connection))
    }

    fn place(&self) -> StoreName {
        StoreName::Database(self.server.name())
    }
}

/// Returns the number of the tables' present state.
fn state(connection: &PgConnection) -> Result<i64, Fault> {
    let number = first(connection, "SELECT number FROM state", &[], |row| row.get("number", &"state"))?;
    number.ok_or_else(|| Fault::Damaged("its table 'state' is empty".to_owned()))
}

/// Draws a number that no state has had.
fn new_state() -> i64 {
    i64::try_from(seed::draw() >> 65).unwrap_or_default()
}
